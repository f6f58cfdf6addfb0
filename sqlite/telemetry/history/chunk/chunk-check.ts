/**
 * Checks all chunks and reports the damaged ones. It works in steps, so that a check of gigabytes
 * lets queries through, reports its progress, and can be cancelled.
 */
import { DamagedBytes } from '../../../../streams/telemetry/samples/byte-reader.ts';
import type { SqliteDatabase } from '../../../platform/database.ts';
import { HistoryError } from '../history-error.ts';
import { DAY_MS } from '../history-file.ts';
import { SeriesNames } from '../series-names.ts';
import { Chunk } from './chunk-codec.ts';
import { statisticsOf } from './statistics.ts';

/** A chunk that differs from the written one. Times are Unix ms, both ends inclusive. */
export interface DamagedChunk {
  /** Id of the chunk. */
  readonly chunk: number;
  readonly project: string;
  readonly vm: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly detail: string;
}

/** Result of a check so far; `damaged` is empty if every chunk is intact. */
export interface CheckReport {
  readonly chunks: number;
  readonly rows: number;
  /** Number of values in the intact chunks. */
  readonly samples: number;
  readonly bytes: number;
  readonly damaged: readonly DamagedChunk[];
}

/** Result for some of the chunks, in the order of their ids. */
export interface CheckStep extends CheckReport {
  /** Id of the last one, where the next step continues. Absent: there are no more. */
  readonly last?: number;
}

/** Chunks per step: about 100 ms. */
const STEP = 128;

interface ChunkPlace extends Omit<DamagedChunk, 'detail'> {
  readonly day: number;
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Checks the chunks with ids above `after`: checksum, columns, times, names and statistics of each.
 * Throws `SqliteError` if not even the table of chunks can be read.
 */
export function checkSomeChunks(database: SqliteDatabase, after: number): CheckStep {
  const places = database
    .prepare<[number, number], ChunkPlace>(
      `SELECT chunks.id AS chunk, coalesce(project, '') AS project, coalesce(vms.vm, '') AS vm,
         day, start_ms AS startMs, end_ms AS endMs, rows, length(data) AS bytes
       FROM chunks LEFT JOIN vms ON vms.id = chunks.vm WHERE chunks.id > ?
       ORDER BY chunks.id LIMIT ?`,
    )
    .all(after, STEP);
  const read = database.prepare<[number], { data: Buffer }>('SELECT data FROM chunks WHERE id = ?');
  const names = new SeriesNames(database);
  const damaged: DamagedChunk[] = [];
  let [chunks, rows, samples, bytes] = [0, 0, 0, 0];
  for (const place of places) {
    const found = inspect(place, () => read.get(place.chunk)?.data, names);
    // It was merged into another chunk or dropped. The merged one has a higher id and is checked
    // later.
    if (found === undefined) continue;
    chunks++;
    rows += place.rows;
    bytes += place.bytes;
    if (typeof found === 'number') samples += found;
    else damaged.push(damagedChunk(place, found));
  }
  const last = places.length < STEP ? undefined : places.at(-1)?.chunk;
  return { chunks, rows, samples, bytes, damaged, ...(last !== undefined && { last }) };
}

/** The combined report. */
export function addReports(a: CheckReport, b: CheckReport): CheckReport {
  return {
    chunks: a.chunks + b.chunks,
    rows: a.rows + b.rows,
    samples: a.samples + b.samples,
    bytes: a.bytes + b.bytes,
    damaged: [...a.damaged, ...b.damaged],
  };
}

/** The report before the first chunk. */
export const NOTHING_CHECKED: CheckReport = {
  chunks: 0,
  rows: 0,
  samples: 0,
  bytes: 0,
  damaged: [],
};

function damagedChunk(place: ChunkPlace, detail: string): DamagedChunk {
  const { chunk, project, vm, startMs, endMs } = place;
  return { chunk, project, vm, startMs, endMs, detail };
}

/** Number of its samples, or a description of the damage; undefined if it no longer exists. */
function inspect(
  place: ChunkPlace,
  read: () => Buffer | undefined,
  names: SeriesNames,
): number | string | undefined {
  try {
    const data = read();
    if (data === undefined) return undefined;
    const chunk = new Chunk(data);
    return placeFault(place, chunk) ?? columnsFault(chunk, names) ?? samplesOf(chunk);
  } catch (error) {
    const isDamage = error instanceof DamagedBytes || error instanceof HistoryError;
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (isDamage || code.startsWith('SQLITE_CORRUPT')) return (error as Error).message;
    throw error;
  }
}

function placeFault(place: ChunkPlace, chunk: Chunk): string | undefined {
  if (place.vm === '') return 'its VM is unknown';
  const timesMs = chunk.timesMs();
  if (timesMs.length !== place.rows) return `${timesMs.length} rows instead of ${place.rows}`;
  if (timesMs.some((time, i) => i > 0 && !(time > (timesMs[i - 1] as number)))) {
    return 'its times do not increase';
  }
  const isInPlace = timesMs[0] === place.startMs && timesMs.at(-1) === place.endMs;
  if (!isInPlace || Math.floor(place.startMs / DAY_MS) !== place.day) {
    return 'its times do not match its table entry';
  }
  return undefined;
}

function columnsFault(chunk: Chunk, names: SeriesNames): string | undefined {
  // Decodes the columns that are not series: states, boots, reasons.
  chunk.rows(() => undefined);
  for (const id of chunk.seriesIds()) {
    names.keyOf(id);
    const stored = chunk.statistics(id);
    const values = chunk.values(id);
    if (stored === undefined || values === undefined) return 'a column is missing';
    const fresh = statisticsOf(values);
    const fields = ['count', 'min', 'max', 'sum', 'first', 'last', 'resets'] as const;
    if (fields.some((field) => !Object.is(stored[field], fresh[field]))) {
      return 'its statistics do not match its values';
    }
  }
  return undefined;
}

function samplesOf(chunk: Chunk): number {
  return chunk.seriesIds().reduce((sum, id) => sum + (chunk.statistics(id)?.count ?? 0), 0);
}
