/**
 * `svc audit`: `list` asks the API who did what (`audit-list.ts`); `verify` proves that the recorded
 * history is what was committed. It asks the service that runs on the data folder; where none runs,
 * it reads control.db and events.db itself and says so. Results go to standard output, everything
 * else to standard error.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LogVerification, VerifyProgress } from '../../actors/audit/log-verifier.ts';
import { AdminFault, askService, NoService } from '../admin/admin-client.ts';
import { AUDIT_VERIFY_PATH } from '../admin/audit-routes.ts';
import { ConfigError, loadConfig } from '../config.ts';
import { asDataFolderFault, DataFolderUnusable } from '../data-folder.ts';
import { auditListAction } from './audit-list.ts';
import { isProven, verificationText } from './audit-report.ts';
import { type ClientCommand, family } from './client/action.ts';
import { processPorts } from './client/ports.ts';
import { EXIT_FAULT, EXIT_OK, EXIT_USAGE, type Surroundings } from './command.ts';

const USAGE = `Usage: svc audit verify [--data FOLDER] [--json]
       svc audit list [flags]

  list    Show who did what in a project, newest first: "svc help audit list" has its flags.

  verify  Prove that the recorded history is what was committed: every project's chain of commits
          from the first to the last, the bodies that the log still holds, what audit shows of
          them, each step decided again by its machine, and every row of an instance. Exit code 1
          when something does not hold, with the first commit that does not, and when the log is
          elsewhere, so that no more than the chain could be proven.

  --data  Folder of the databases, as of "svc serve". Default: SVC_DATA, or ./data.
  --json  The result as one JSON document, for programs.

While a service runs on the folder it answers; otherwise the databases are read as they lie there.
`;

const client = family('audit', 'Show who did what, and prove that the record is whole', [
  auditListAction,
]);

export const auditCommand: ClientCommand = {
  ...client,
  help: () => USAGE,
  run: async (args, surroundings) => {
    if (args[0] === auditListAction.name) return client.run(args, surroundings);
    const asked = parseArguments(args, surroundings);
    if ('problem' in asked) {
      surroundings.stderr(`svc audit: ${asked.problem}\n\n${USAGE}`);
      return EXIT_USAGE;
    }
    try {
      return await verify(asked, surroundings);
    } catch (error) {
      const isKnown = error instanceof AdminFault || error instanceof DataFolderUnusable;
      if (!isKnown) throw error;
      surroundings.stderr(`svc audit verify: ${error.message}\n`);
      return EXIT_FAULT;
    }
  },
};

interface Asked {
  readonly folder: string;
  readonly json: boolean;
}

function parseArguments(
  [what, ...rest]: readonly string[],
  { environment }: Surroundings,
): Asked | { readonly problem: string } {
  if (what !== 'verify') {
    const seen = what === undefined ? 'nothing is asked for' : `${JSON.stringify(what)} is unknown`;
    return { problem: `${seen}: say list or verify` };
  }
  const flags = rest.filter((argument) => argument !== '--json');
  const isData = flags.length === 0 || /^--data(=|$)/.test(flags[0] ?? '');
  if (!isData || flags.length > 2) {
    return { problem: `${JSON.stringify(flags.find((flag) => !/^--data/.test(flag)))} is unknown` };
  }
  try {
    const { settings } = loadConfig(flags, environment);
    return { folder: settings.data, json: flags.length < rest.length };
  } catch (error) {
    if (error instanceof ConfigError) return { problem: error.problems.join('\n') };
    throw error;
  }
}

async function verify({ folder, json }: Asked, surroundings: Surroundings): Promise<number> {
  const progress = new ProgressLine(surroundings);
  const result = await askOrRead(folder, surroundings, (told) => progress.show(told));
  progress.end();
  const text = json ? `${JSON.stringify(result, null, 2)}\n` : verificationText(result);
  surroundings.stdout(text);
  return isProven(result) ? EXIT_OK : EXIT_FAULT;
}

async function askOrRead(
  folder: string,
  { stderr, client = processPorts() }: Surroundings,
  onProgress: (progress: VerifyProgress) => void,
): Promise<LogVerification> {
  try {
    // Both sides are one program.
    const onTold = (told: unknown) => onProgress(told as VerifyProgress);
    return (await askService(folder, AUDIT_VERIFY_PATH, onTold)) as LogVerification;
  } catch (error) {
    if (!(error instanceof NoService)) throw error;
  }
  const paths = { control: join(folder, 'control.db'), events: join(folder, 'events.db') };
  if (!existsSync(paths.control)) {
    throw new DataFolderUnusable(
      `There is no ${paths.control}: give the data folder of the service with --data or SVC_DATA`,
    );
  }
  stderr(`No service runs on ${folder}: reading control.db and events.db themselves\n`);
  if (!existsSync(paths.events)) stderr('There is no events.db: only the chain itself is proven\n');
  const { verifyOnDisk } = await import('../admin/audit-on-disk.ts');
  try {
    return await verifyOnDisk(paths, { clock: client.clock, onProgress });
  } catch (error) {
    throw asDataFolderFault(error, paths.control);
  }
}

/** How far it is: a line that changes on a terminal, a line for each quarter otherwise. */
class ProgressLine {
  readonly #surroundings: Surroundings;
  #shown = 0;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  show({ verified, commits }: VerifyProgress): void {
    const { isTerminal, stderr } = this.#surroundings;
    const percent = commits === 0 ? 100 : Math.floor((100 * verified) / commits);
    const isLast = verified === commits;
    if (percent < this.#shown + (isTerminal ? 1 : 25) && !isLast) return;
    this.#shown = percent;
    const text = `verified ${verified} of ${commits} commits (${percent} %)`;
    stderr(isTerminal ? `\r${text}` : `${text}\n`);
  }

  end(): void {
    if (this.#surroundings.isTerminal && this.#shown > 0) this.#surroundings.stderr('\n');
  }
}
