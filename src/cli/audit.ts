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
import { DataFolderUnusable, toDataFolderFault } from '../platform/data-folder.ts';
import { ConfigError, loadConfig } from '../platform/settings/config.ts';
import { auditListAction } from './audit-list.ts';
import { isProven, isWholeSink, sinkText, verificationText } from './audit-report.ts';
import { type ClientCommand, family } from './client/action.ts';
import { processPorts } from './client/ports.ts';
import { EXIT_FAULT, EXIT_OK, EXIT_USAGE, type Surroundings } from './command.ts';

const USAGE = `Usage: svc audit verify [--data FOLDER] [--sink FILE]... [--json]
       svc audit list [flags]

  list    Show who did what in a project, newest first: "svc help audit list" has its flags.

  verify  Prove that the recorded history is what was committed: every project's chain of commits
          from the first to the last, the bodies that the log still holds, what audit shows of
          them, each step decided again by its machine, and every row of an instance. Exit code 1
          when something does not hold, with the first commit that does not, and when the log is
          elsewhere, so that no more than the chain could be proven.

  --sink  Compare the files of an audit sink (SVC_AUDIT_SINK), rotated ones too, with control.db
          instead: each line is the commit of its place, and between the first and the last none is
          missing. Exit code 1 when that does not hold.
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
  /** Files of an audit sink; none: the log is verified. */
  readonly sinks: readonly string[];
}

function parseArguments(
  [what, ...rest]: readonly string[],
  { environment }: Surroundings,
): Asked | { readonly problem: string } {
  if (what !== 'verify') {
    const seen = what === undefined ? 'nothing is asked for' : `${JSON.stringify(what)} is unknown`;
    return { problem: `${seen}: say list or verify` };
  }
  const { sinks, others } = takeSinks(rest);
  if (sinks.includes('')) return { problem: '--sink has no value: give a file' };
  const flags = others.filter((argument) => argument !== '--json');
  const isData = flags.length === 0 || /^--data(=|$)/.test(flags[0] ?? '');
  if (!isData || flags.length > 2) {
    return { problem: `${JSON.stringify(flags.find((flag) => !/^--data/.test(flag)))} is unknown` };
  }
  try {
    const { settings } = loadConfig(flags, environment);
    return { folder: settings.data, json: flags.length < others.length, sinks };
  } catch (error) {
    if (error instanceof ConfigError) return { problem: error.problems.join('\n') };
    throw error;
  }
}

/** `--sink FILE` and `--sink=FILE`, and what remains without them. */
function takeSinks(given: readonly string[]): { sinks: string[]; others: string[] } {
  const sinks: string[] = [];
  const others: string[] = [];
  for (let i = 0; i < given.length; i++) {
    const argument = given[i] ?? '';
    if (argument === '--sink') sinks.push(given[++i] ?? '');
    else if (argument.startsWith('--sink=')) sinks.push(argument.slice('--sink='.length));
    else others.push(argument);
  }
  return { sinks, others };
}

/** Read where it lies, whether or not a service runs: nothing is changed. */
async function verifySink(
  { folder, json, sinks }: Asked,
  { stdout }: Surroundings,
): Promise<number> {
  const control = controlIn(folder);
  const { compareOnDisk } = await import('../admin/audit-on-disk.ts');
  try {
    const result = await compareOnDisk(sinks, control);
    stdout(json ? `${JSON.stringify(result, null, 2)}\n` : sinkText(result));
    return isWholeSink(result) ? EXIT_OK : EXIT_FAULT;
  } catch (error) {
    throw toDataFolderFault(error, control);
  }
}

/** Path of the projection. Throws `DataFolderUnusable` when it is not there. */
function controlIn(folder: string): string {
  const control = join(folder, 'control.db');
  if (existsSync(control)) return control;
  throw new DataFolderUnusable(
    `There is no ${control}: give the data folder of the service with --data or SVC_DATA`,
  );
}

async function verify(asked: Asked, surroundings: Surroundings): Promise<number> {
  if (asked.sinks.length > 0) return verifySink(asked, surroundings);
  const { folder, json } = asked;
  const progress = new ProgressLine(surroundings);
  const result = await askOrRead(folder, surroundings, (line) => progress.show(line));
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
    const onLine = (line: unknown) => onProgress(line as VerifyProgress);
    return (await askService(folder, AUDIT_VERIFY_PATH, onLine)) as LogVerification;
  } catch (error) {
    if (!(error instanceof NoService)) throw error;
  }
  const paths = { control: controlIn(folder), events: join(folder, 'events.db') };
  stderr(`No service runs on ${folder}: reading control.db and events.db themselves\n`);
  if (!existsSync(paths.events)) stderr('There is no events.db: only the chain itself is proven\n');
  const { verifyOnDisk } = await import('../admin/audit-on-disk.ts');
  try {
    return await verifyOnDisk(paths, { clock: client.clock, onProgress });
  } catch (error) {
    throw toDataFolderFault(error, paths.control);
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
