/** What `svc history` says to people: statistics and the report of a check, as text. */
import type {
  CheckReport,
  DamagedChunk,
} from '../../sqlite/telemetry/history/chunk/chunk-check.ts';
import type { HistoryStatsAnswer } from '../admin/history-routes.ts';
import { tableLines } from '../platform/table.ts';

export function statsText({ stored, running }: HistoryStatsAnswer): string {
  const { oldestMs, newestMs } = stored;
  const reach =
    oldestMs === undefined || newestMs === undefined
      ? 'none yet: rows are put into chunks after an hour'
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
    refused > 0 ? `${count(refused)} rows found no room in memory` : '',
    flushFailures > 0 ? `${count(flushFailures)} writes of chunks failed` : '',
    damagedDays > 0 ? `${count(damagedDays)} days of a VM not merged: a chunk is damaged` : '',
    threadCrashes > 0 ? `${count(threadCrashes)} crashes of threads` : '',
    running.fault ?? '',
  ].filter((fault) => fault !== '');
  return [
    ['in memory', `${memory}; ${count(pendingVms)} of ${count(vms)} VMs have rows in no chunk`],
    ['since the start', faults.length === 0 ? 'no faults' : faults.join('; ')],
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

export function checkText(report: CheckReport): string {
  const { damaged, chunks, rows, samples, bytes } = report;
  const what = `${count(chunks)} chunks, ${count(rows)} rows, ${count(samples)} samples, ${bytesText(bytes)}`;
  if (damaged.length === 0) return `${what}: all of it is as it was written\n`;
  const columns = ['chunk', 'project', 'VM', 'from (UTC)', 'to', 'what is wrong'];
  return [
    what,
    `${count(damaged.length)} of the chunks ${damaged.length === 1 ? 'is' : 'are'} damaged:`,
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
  'Reads of these VMs over these times fail, so that nothing false is shown; all others work.',
  'What to do:',
  '  1. Look for a failing disk (dmesg, smartctl), and move the data folder if it is one.',
  '  2. If you have a copy of history.db from after these times: stop the service, put the copy and',
  '     its history.db-wal, if it has one, in place of both files, and start it again. What is newer',
  '     than the copy is missing then, but for the last hours, which are read again from samples.db.',
  '  3. Otherwise leave it: chunks are dropped when they are older than 7 days.',
];

function damagedRow({ chunk, project, vm, startMs, endMs, detail }: DamagedChunk): string[] {
  return [String(chunk), project, vm, timeText(startMs), timeText(endMs), detail];
}

function aRow({ rows, chunkBytes }: HistoryStatsAnswer['stored']): string {
  if (rows === 0) return '';
  return `, ${bytesText(chunkBytes)} (${(chunkBytes / rows).toFixed(1)} bytes a row)`;
}

/** `2026-11-21 12:44:03`. */
function timeText(timeMs: number): string {
  const date = new Date(timeMs);
  if (Number.isNaN(date.getTime())) return '?';
  return date.toISOString().slice(0, 19).replace('T', ' ');
}

/** `1,234,567`. */
function count(value: number): string {
  return value.toLocaleString('en-US');
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** `41.2 MiB`. */
function bytesText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 ? count(value) : value.toFixed(1)} ${UNITS[power]}`;
}
