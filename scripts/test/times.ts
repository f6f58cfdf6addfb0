/**
 * Costs of the test files: wall and CPU time of each, measured in a run, and the record in
 * `test/times.json`. The record orders the files of a run (`turns.ts`) and is printed beside its
 * figures, so that growth is visible in review. `npm test -- --record test` updates it.
 */
import { readFileSync, writeFileSync } from 'node:fs';

/** Times of one file, ms. */
export interface FileTimes {
  readonly wallMs: number;
  /** CPU time of its process, threads and ended children. */
  readonly cpuMs: number;
}

/** Times by path of the test file. */
export type Times = ReadonlyMap<string, FileTimes>;

/** Times of the files as measured in a run, and the sum of each room. */
export interface Recorded {
  readonly files: Times;
  /** CPU time by room, ms. It includes the files that are too cheap to be recorded themselves. */
  readonly rooms: ReadonlyMap<string, number>;
}

/** The file as JSON. Times are in ms, rounded, because smaller differences are noise. */
interface RecordFile {
  readonly rooms: Readonly<Record<string, number>>;
  readonly files: Readonly<Record<string, FileTimes>>;
}

/** A file below this in wall and in CPU time is not recorded, ms. */
const RECORDED_MS_MIN = 500;
const ROUND_MS = 100;

/** Reads the record. Without one, the times of all files are unknown. */
export function readRecord(path: string): Recorded {
  try {
    const { files, rooms } = JSON.parse(readFileSync(path, 'utf8')) as RecordFile;
    return { files: new Map(Object.entries(files)), rooms: new Map(Object.entries(rooms)) };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    return { files: new Map(), rooms: new Map() };
  }
}

/** Writes the record of a run of all files. */
export function writeRecord(path: string, times: Times): void {
  const rooms = [...sumsByRoom(times)].map(([room, { cpuMs }]) => [room, rounded(cpuMs)]);
  const files = [...times]
    .filter(([, { wallMs, cpuMs }]) => Math.max(wallMs, cpuMs) >= RECORDED_MS_MIN)
    .map(([file, { wallMs, cpuMs }]) => {
      return [file, { wallMs: rounded(wallMs), cpuMs: rounded(cpuMs) }] as const;
    })
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const record = { rooms: Object.fromEntries(rooms), files: Object.fromEntries(files) };
  writeFileSync(path, `${JSON.stringify(record, null, 2)}\n`);
}

/** The room of a test file: `alerting`, or `long/alerting` of the long tests. */
export function roomOfTest(file: string): string {
  const [, first = '', second = ''] = file.split('/');
  return first === 'long' ? `long/${second}` : first;
}

/** Sum and number of files of each room, most expensive first. */
export function sumsByRoom(times: Times): Map<string, FileTimes & { readonly files: number }> {
  const sums = new Map<string, FileTimes & { readonly files: number }>();
  for (const [file, { wallMs, cpuMs }] of times) {
    const room = roomOfTest(file);
    const sum = sums.get(room) ?? { files: 0, wallMs: 0, cpuMs: 0 };
    sums.set(room, {
      files: sum.files + 1,
      wallMs: sum.wallMs + wallMs,
      cpuMs: sum.cpuMs + cpuMs,
    });
  }
  return new Map([...sums].sort(([, a], [, b]) => b.cpuMs - a.cpuMs));
}

/** Figures of a run, and the record beside them. */
export interface TimesTableOptions {
  readonly recorded: Recorded;
  /** Maximum files to list, most expensive first; absent: all. */
  readonly top?: number | undefined;
  /** CPU time of the whole run, including the starts of its processes, ms. */
  readonly runCpuMs: number;
  readonly runWallMs: number;
}

/**
 * The tables of `--times`: rooms and files with CPU seconds, recorded CPU seconds, and wall
 * seconds.
 */
export function timesTable(times: Times, options: TimesTableOptions): string {
  const { recorded, top = times.size, runCpuMs, runWallMs } = options;
  const sums = [...sumsByRoom(times)];
  const rooms = sums.map(([room, sum]) =>
    row(`${room} (${sum.files})`, sum, recorded.rooms.get(room)),
  );
  const recordedMs = sums.reduce((ms, [room]) => ms + (recorded.rooms.get(room) ?? 0), 0);
  const files = [...times]
    .sort(([, a], [, b]) => b.cpuMs - a.cpuMs)
    .slice(0, top)
    .map(([file, cost]) => row(file, cost, recorded.files.get(file)?.cpuMs));
  return [
    ` CPU s  recorded   wall s  room (files)`,
    ...rooms,
    row(
      'the run, with the starts of its processes',
      { cpuMs: runCpuMs, wallMs: runWallMs },
      recordedMs,
    ),
    '',
    ` CPU s  recorded   wall s  file`,
    ...files,
    '',
  ].join('\n');
}

function row(name: string, { cpuMs, wallMs }: FileTimes, recordedMs: number | undefined): string {
  const recorded = recordedMs === undefined ? '-' : seconds(recordedMs);
  return `${seconds(cpuMs).padStart(6)}  ${recorded.padStart(8)}  ${seconds(wallMs).padStart(7)}  ${name}`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

function rounded(ms: number): number {
  return Math.round(ms / ROUND_MS) * ROUND_MS;
}
