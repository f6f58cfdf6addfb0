/**
 * `svc history stats` and `svc history check`: asks the service that runs on the data folder, which
 * alone knows what it holds in memory; where none runs, reads `history.db` itself and says so.
 * Results go to standard output, everything else to standard error.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckReport } from '../../sqlite/telemetry/history/chunk/chunk-check.ts';
import { AdminFault, askService, NoService } from '../admin/admin-client.ts';
import {
  type CheckProgress,
  HISTORY_CHECK_PATH,
  HISTORY_STATS_PATH,
  type HistoryStatsAnswer,
} from '../admin/history-routes.ts';
import { DataFolderUnusable, toDataFolderFault } from '../platform/data-folder.ts';
import { ConfigError, loadConfig } from '../platform/settings/config.ts';
import { type Command, EXIT_FAULT, EXIT_OK, EXIT_USAGE, type Surroundings } from './command.ts';
import { checkText, statsText } from './history-report.ts';

const USAGE = `Usage: svc history stats [--data FOLDER] [--json]
       svc history check [--data FOLDER] [--json]

  stats   How much history there is, how far it reaches, and what it takes on disk.
  check   Read every chunk and compare it with its checksum, its times and its statistics.
          Exit code 1 when one is damaged, with what to do.

  --data  Folder of the databases, as of "svc serve". Default: SVC_DATA, or ./data.
  --json  The result as one JSON document, for programs.

While a service runs on the folder it answers; otherwise history.db is read as it lies there.
`;

export const historyCommand: Command = {
  name: 'history',
  summary: 'Show how much history there is, or check all of it',
  help: () => USAGE,
  run: async (args, surroundings) => {
    const asked = parseArguments(args, surroundings);
    if ('problem' in asked) {
      surroundings.stderr(`svc history: ${asked.problem}\n\n${USAGE}`);
      return EXIT_USAGE;
    }
    try {
      return await (asked.what === 'stats' ? stats : check)(asked, surroundings);
    } catch (error) {
      const isKnown = error instanceof AdminFault || error instanceof DataFolderUnusable;
      if (!isKnown) throw error;
      surroundings.stderr(`svc history ${asked.what}: ${error.message}\n`);
      return EXIT_FAULT;
    }
  },
};

interface Asked {
  readonly what: 'stats' | 'check';
  readonly folder: string;
  readonly json: boolean;
}

function parseArguments(
  [what, ...rest]: readonly string[],
  { environment }: Surroundings,
): Asked | { readonly problem: string } {
  if (what !== 'stats' && what !== 'check') {
    const seen = what === undefined ? 'nothing is asked for' : `${JSON.stringify(what)} is unknown`;
    return { problem: `${seen}: say stats or check` };
  }
  const flags = rest.filter((argument) => argument !== '--json');
  const isData = flags.length === 0 || /^--data(=|$)/.test(flags[0] ?? '');
  if (!isData || flags.length > 2) {
    return { problem: `${JSON.stringify(flags.find((flag) => !/^--data/.test(flag)))} is unknown` };
  }
  try {
    const { settings } = loadConfig(flags, environment);
    return { what, folder: settings.data, json: flags.length < rest.length };
  } catch (error) {
    if (error instanceof ConfigError) return { problem: error.problems.join('\n') };
    throw error;
  }
}

async function stats({ folder, json }: Asked, surroundings: Surroundings): Promise<number> {
  // The service of this very program answers, with this.
  const ask = async () => (await askService(folder, HISTORY_STATS_PATH)) as HistoryStatsAnswer;
  const answer = await askOrRead(folder, surroundings, ask, (history) => ({
    stored: history.stored(),
  }));
  surroundings.stdout(json ? jsonText(answer) : statsText(answer));
  return EXIT_OK;
}

async function check({ folder, json }: Asked, surroundings: Surroundings): Promise<number> {
  const progress = new ProgressLine(surroundings);
  const onProgress = (line: unknown) => progress.show(line as CheckProgress);
  const ask = async () => (await askService(folder, HISTORY_CHECK_PATH, onProgress)) as CheckReport;
  const report = await askOrRead(folder, surroundings, ask, (history) =>
    history.check((line) => progress.show(line)),
  );
  progress.end();
  surroundings.stdout(json ? jsonText(report) : checkText(report));
  return report.damaged.length === 0 ? EXIT_OK : EXIT_FAULT;
}

type HistoryOnDisk = import('../admin/history-on-disk.ts').HistoryOnDisk;

/** What the service answers, or where none runs what the file says. */
async function askOrRead<T>(
  folder: string,
  { stderr }: Surroundings,
  ask: () => Promise<T>,
  read: (history: HistoryOnDisk) => T,
): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof NoService)) throw error;
  }
  const path = join(folder, 'history.db');
  if (!existsSync(path)) {
    throw new DataFolderUnusable(
      `There is no ${path}: give the data folder of the service with --data or SVC_DATA`,
    );
  }
  stderr(
    `No service runs on ${folder}: reading ${path} itself; rows that are in no chunk yet are not seen\n`,
  );
  const { openHistoryOnDisk } = await import('../admin/history-on-disk.ts');
  try {
    const history = openHistoryOnDisk(path);
    try {
      return read(history);
    } finally {
      history.close();
    }
  } catch (error) {
    throw toDataFolderFault(error, path);
  }
}

/** How far a check is: a line that changes on a terminal, a line for each quarter otherwise. */
class ProgressLine {
  readonly #surroundings: Surroundings;
  #shown = 0;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  show({ checked, chunks }: CheckProgress): void {
    const { isTerminal, stderr } = this.#surroundings;
    const percent = chunks === 0 ? 100 : Math.floor((100 * checked) / chunks);
    if (percent < this.#shown + (isTerminal ? 1 : 25)) return;
    this.#shown = percent;
    const text = `checked ${checked} of ${chunks} chunks (${percent} %)`;
    stderr(isTerminal ? `\r${text}` : `${text}\n`);
  }

  end(): void {
    if (this.#surroundings.isTerminal && this.#shown > 0) this.#surroundings.stderr('\n');
  }
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
