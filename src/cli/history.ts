/**
 * `svc history stats` and `svc history check`: query the service that runs on the data folder,
 * because only the service knows its rows in memory. If none runs, `history.db` is read directly,
 * and the output says so. Results go to standard output, everything else to standard error.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DamagedChunk } from '../../sqlite/telemetry/history/chunk/chunk-check.ts';
import { HISTORY_FILE } from '../../sqlite/telemetry/history/history-file.ts';
import { AdminFault, askService, NoService } from '../admin/admin-client.ts';
import {
  type CheckProgress,
  HISTORY_CHECK_PATH,
  HISTORY_STATS_PATH,
  type HistoryCheck,
  type HistoryStatsAnswer,
} from '../admin/history-routes.ts';
import { DataFolderUnusable, toDataFolderFault } from '../platform/data-folder.ts';
import { historyFolderOnDisk } from '../platform/history-folder.ts';
import { ConfigError } from '../platform/settings/config.ts';
import { bytesText, count, tableLines } from '../platform/table.ts';
import { ProgressLine } from './client/progress-line.ts';
import { type Command, EXIT_FAULT, EXIT_OK, EXIT_USAGE, type Surroundings } from './command.ts';
import { filesLines, isDamaged } from './damage-lines.ts';
import { settingsOfService } from './service-folder.ts';

const USAGE = `Usage: svc history stats [--data FOLDER] [--json]
       svc history check [--data FOLDER] [--json]

  stats   Show how much history is stored, the time it covers, and its size on disk.
  check   Read every chunk and compare it with its checksum, its times and its statistics; check
          every page and row of history.db.
          Exit code 1 if one is damaged; the output says what to do.

  --data  Folder of the databases, as for "svc serve". Default: SVC_DATA, or ./data
          if it exists, or /var/lib/svc.
  --json  The result as one JSON document, for programs.

The service that runs on the folder is queried; if none runs, history.db is read directly.
`;

export const historyCommand: Command = {
  name: 'history',
  summary: 'Show how much history is stored, or check all of it',
  help: () => USAGE,
  run: async (args, surroundings) => {
    const requested = parseArguments(args, surroundings);
    if ('problem' in requested) {
      surroundings.stderr(`svc history: ${requested.problem}\n\n${USAGE}`);
      return EXIT_USAGE;
    }
    try {
      return await (requested.what === 'stats' ? stats : check)(requested, surroundings);
    } catch (error) {
      const isKnown = error instanceof AdminFault || error instanceof DataFolderUnusable;
      if (!isKnown) throw error;
      surroundings.stderr(`svc history ${requested.what}: ${error.message}\n`);
      return EXIT_FAULT;
    }
  },
};

interface Requested {
  readonly what: 'stats' | 'check';
  readonly folder: string;
  /** Folder of history.db, if no service runs. */
  readonly historyFolder: string;
  readonly json: boolean;
}

function parseArguments(
  [what, ...rest]: readonly string[],
  { environment }: Surroundings,
): Requested | { readonly problem: string } {
  if (what !== 'stats' && what !== 'check') {
    const seen = what === undefined ? 'no action given' : `${JSON.stringify(what)} is unknown`;
    return { problem: `${seen}. Use stats or check` };
  }
  const flags = rest.filter((argument) => argument !== '--json');
  const isData = flags.length === 0 || /^--data(=|$)/.test(flags[0] ?? '');
  if (!isData || flags.length > 2) {
    return { problem: `${JSON.stringify(flags.find((flag) => !/^--data/.test(flag)))} is unknown` };
  }
  try {
    const settings = settingsOfService(flags, environment);
    const historyFolder = historyFolderOnDisk(settings);
    return { what, folder: settings.data, historyFolder, json: flags.length < rest.length };
  } catch (error) {
    if (error instanceof ConfigError) return { problem: error.problems.join('\n') };
    throw error;
  }
}

async function stats(requested: Requested, surroundings: Surroundings): Promise<number> {
  const { folder, json } = requested;
  // The service is the same program and responds with this type.
  const ask = async () => (await askService(folder, HISTORY_STATS_PATH)) as HistoryStatsAnswer;
  const answer = await askOrRead(requested, surroundings, ask, (history) => ({
    stored: history.stored(),
  }));
  surroundings.stdout(json ? jsonText(answer) : statsText(answer));
  return EXIT_OK;
}

async function check(requested: Requested, surroundings: Surroundings): Promise<number> {
  const { folder, json } = requested;
  const progress = new ProgressLine(surroundings, 'checked', 'chunks');
  const onProgress = ({ checked, chunks }: CheckProgress) => progress.show(checked, chunks);
  const onLine = (line: unknown) => onProgress(line as CheckProgress);
  const ask = async () => (await askService(folder, HISTORY_CHECK_PATH, onLine)) as HistoryCheck;
  const report = await askOrRead(requested, surroundings, ask, (history) =>
    history.check(onProgress),
  );
  progress.end();
  surroundings.stdout(json ? jsonText(report) : checkText(report));
  return report.damaged.length === 0 && !isDamaged(report.files) ? EXIT_OK : EXIT_FAULT;
}

type HistoryOnDisk = import('../admin/history-routes.ts').HistoryOnDisk;

/** The response of the service or, if none runs, the content of the file. */
async function askOrRead<T>(
  { folder, historyFolder }: Requested,
  { stderr }: Surroundings,
  ask: () => Promise<T>,
  read: (history: HistoryOnDisk) => T | Promise<T>,
): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof NoService)) throw error;
  }
  const path = join(historyFolder, HISTORY_FILE);
  if (!existsSync(path)) {
    throw new DataFolderUnusable(
      `${path} does not exist. Specify the data folder of the service with --data or SVC_DATA`,
    );
  }
  stderr(
    `No service is running on ${folder}. Reading ${path} directly; rows that are not in a chunk yet are not included\n`,
  );
  const { openHistoryOnDisk } = await import('../admin/history-routes.ts');
  try {
    const history = openHistoryOnDisk(path);
    try {
      return await read(history);
    } finally {
      history.close();
    }
  } catch (error) {
    throw toDataFolderFault(error, path);
  }
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function statsText({ stored, running }: HistoryStatsAnswer): string {
  const { oldestMs, newestMs } = stored;
  const reach =
    oldestMs === undefined || newestMs === undefined
      ? 'none yet: rows are written to chunks after an hour'
      : `${timeText(oldestMs)} to ${timeText(newestMs)}`;
  const facts: (readonly [string, string])[] = [
    ['in chunks', reach],
    ['VMs', `${count(stored.vms)} of ${count(stored.projects)} projects`],
    ['series keys', count(stored.seriesKeys)],
    ['chunks', `${count(stored.chunks)} with ${count(stored.rows)} rows${aRow(stored)}`],
    ['file', `${bytesText(stored.fileBytes)}, ${bytesText(stored.freeBytes)} of it free`],
    ...(running ? runningFacts(running) : []),
  ];
  const width = Math.max(...facts.map(([name]) => name.length));
  const lines = facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  return `${[...lines, ...dayLines(stored)].join('\n')}\n`;
}

function runningFacts(running: NonNullable<HistoryStatsAnswer['running']>) {
  const { headBytes, pendingVms, vms, refused, flushFailures, damagedDays, threadCrashes } =
    running;
  const memory = `${bytesText(headBytes.used)} used of ${bytesText(headBytes.reserved)}`;
  const faults = [
    refused > 0 ? `${count(refused)} rows did not fit into memory` : '',
    flushFailures > 0 ? `${count(flushFailures)} writes of chunks failed` : '',
    damagedDays > 0 ? `${count(damagedDays)} VM days not merged because a chunk is damaged` : '',
    threadCrashes > 0 ? `${count(threadCrashes)} thread crashes` : '',
    running.fault ?? '',
  ].filter((fault) => fault !== '');
  return [
    [
      'in memory',
      `${memory}; ${count(pendingVms)} of ${count(vms)} VMs have rows that are not in a chunk yet`,
    ],
    ['since start', faults.length === 0 ? 'no faults' : faults.join('; ')],
  ] as const;
}

function dayLines({ days }: HistoryStatsAnswer['stored']): string[] {
  if (days.length === 0) return [];
  const columns = [
    { title: 'day (UTC)' },
    ...['VMs', 'chunks', 'rows', 'size'].map((title) => ({ title, align: 'right' as const })),
  ];
  const rows = days.map(({ startMs, vms, chunks, rows, bytes }) => {
    const day = new Date(startMs).toISOString().slice(0, 10);
    return [day, count(vms), count(chunks), count(rows), bytesText(bytes)];
  });
  return ['', ...tableLines(columns, rows)];
}

function checkText(report: HistoryCheck): string {
  return [chunksText(report), ...filesLines(report.files)].join('');
}

function chunksText(report: HistoryCheck): string {
  const { damaged, chunks, rows, samples, bytes } = report;
  const what = `${count(chunks)} chunks, ${count(rows)} rows, ${count(samples)} samples, ${bytesText(bytes)}`;
  if (damaged.length === 0) return `${what}: no damage found\n`;
  const columns = ['chunk', 'project', 'VM', 'from (UTC)', 'to', 'what is wrong'];
  return [
    what,
    `${count(damaged.length)} ${damaged.length === 1 ? 'chunk is' : 'chunks are'} damaged:`,
    '',
    ...tableLines(
      columns.map((title) => ({ title })),
      damaged.map(damagedRow),
    ),
    '',
    ...WHAT_TO_DO,
    '',
  ].join('\n');
}

const WHAT_TO_DO = [
  'Reads of these VMs in these time ranges fail, so that no wrong data is shown. All other reads work.',
  'What to do:',
  '  1. Check for a failing disk (dmesg, smartctl); if it is failing, move the data folder.',
  '  2. If you have a copy of history.db from after these times: stop the service, replace history.db',
  '     and history.db-wal with the copy and its history.db-wal, if it has one, and start it again. Data',
  '     newer than the copy is then missing, except for the last hours, which are read from samples.db.',
  '  3. Otherwise do nothing: chunks are dropped after 7 days.',
];

function damagedRow({ chunk, project, vm, startMs, endMs, detail }: DamagedChunk): string[] {
  return [String(chunk), project, vm, timeText(startMs), timeText(endMs), detail];
}

function aRow({ rows, chunkBytes }: HistoryStatsAnswer['stored']): string {
  if (rows === 0) return '';
  return `, ${bytesText(chunkBytes)} (${(chunkBytes / rows).toFixed(1)} bytes per row)`;
}

/** `2026-11-21 12:44:03`. */
function timeText(timeMs: number): string {
  const date = new Date(timeMs);
  if (Number.isNaN(date.getTime())) return '?';
  return date.toISOString().slice(0, 19).replace('T', ' ');
}
