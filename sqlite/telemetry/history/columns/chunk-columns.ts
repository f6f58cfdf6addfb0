/**
 * Chunks as columns. A chunk's bytes are read if one of its columns is needed and not in memory,
 * and only that column is decoded. The checksum is compared on the first read.
 */

import { hash } from 'node:crypto';
import type { Statement } from 'better-sqlite3';
import type { SeriesKey } from '../../../../streams/telemetry/samples/batch.ts';
import { originOf } from '../../../../streams/telemetry/samples/boot.ts';
import { DamagedBytes } from '../../../../streams/telemetry/samples/byte-reader.ts';
import type { SqliteDatabase } from '../../../platform/database.ts';
import { Chunk } from '../chunk/chunk-codec.ts';
import { HistoryError } from '../history-error.ts';
import { SeriesNames } from '../series-names.ts';
import { WeakValues } from '../weak-values.ts';

/** A row's fields besides its series, as columns of their own; no series key looks like these. */
export const ROW_COLUMNS = {
  /** Time of the observation, Unix seconds. */
  observed: '\nobserved',
  vcpus: '\nvcpus',
  /** Index into `VM_STATES`, if the source reported it. */
  state: '\nstate',
  /** See `bootNumber`. */
  boot: '\nboot',
} as const;

/** Existing columns, including row columns. One object for all chunks with the same columns. */
export interface ColumnLayout {
  readonly keys: ReadonlySet<SeriesKey>;
}

/** Returns the columns requested of rows with this layout; the same list for the same layout. */
export type PickColumns = (layout: ColumnLayout) => readonly string[];

const NO_TIMES = new Float64Array(0);

interface ChunkLayout extends ColumnLayout {
  /** Numbers of the series in the dictionary. */
  readonly ids: ReadonlyMap<SeriesKey, number>;
}

/** A chunk that no longer exists: merged into another, or dropped. */
export class ChunkGone extends Error {}

/** A chunk's times and its requested columns; NaN = not observed. */
export interface DecodedChunk {
  readonly layout: ColumnLayout;
  readonly timesMs: Float64Array;
  readonly columns: ReadonlyMap<string, Float64Array>;
}

/**
 * Columns of chunks by id, for one connection. Decoded columns are cached by the caller, not here.
 */
export class ChunkColumns {
  readonly #data: Statement<[number], Buffer>;
  readonly #names: SeriesNames;
  /**
   * Reads a chunk and the names of its series as of one moment: the names are removed soon after
   * the chunk.
   */
  readonly #atOnce: (read: () => DecodedChunk) => DecodedChunk;
  /** Each kept as long as a day or a plan uses it. */
  readonly #layouts = new WeakValues<string, ChunkLayout>();
  readonly #verified = new Set<number>();

  constructor(database: SqliteDatabase) {
    const data: Statement<[number], Buffer> = database.prepare(
      'SELECT data FROM chunks WHERE id = ?',
    );
    this.#data = data.pluck();
    this.#atOnce = database.transaction((read: () => DecodedChunk) => read());
    this.#names = new SeriesNames(database);
  }

  /**
   * Throws `ChunkGone`, and `HistoryError` DAMAGED.
   * @param pick names the requested columns; without any, the times are left out too
   * @param timesMs the chunk's times, if already known
   */
  decode(id: number, pick: PickColumns, timesMs?: Float64Array): DecodedChunk {
    return this.#atOnce(() => this.#decode(id, pick, timesMs));
  }

  #decode(id: number, pick: PickColumns, timesMs: Float64Array | undefined): DecodedChunk {
    const bytes = this.#data.get(id);
    if (bytes === undefined) throw new ChunkGone(`Chunk ${id} is gone`);
    try {
      const chunk = new Chunk(bytes, this.#verified.has(id));
      this.#verified.add(id);
      const layout = this.#layoutOf(chunk);
      const columns = new Map<string, Float64Array>();
      const wanted = pick(layout);
      for (const column of wanted) {
        const values = this.#column(chunk, layout, column);
        if (values !== undefined) columns.set(column, values);
      }
      const times = timesMs ?? (wanted.length > 0 ? chunk.timesMs() : NO_TIMES);
      return { layout, timesMs: times, columns };
    } catch (cause) {
      if (!(cause instanceof DamagedBytes)) throw cause;
      throw new HistoryError('DAMAGED', `Chunk ${id}: ${cause.message}`, { cause });
    }
  }

  /** Drops the cached data of a chunk that no longer exists. */
  forget(id: number): void {
    this.#verified.delete(id);
  }

  #column(chunk: Chunk, layout: ChunkLayout, column: string): Float64Array | undefined {
    switch (column) {
      case ROW_COLUMNS.vcpus:
        return chunk.vcpus();
      case ROW_COLUMNS.state:
        return Float64Array.from(chunk.states(), (state) => state || Number.NaN);
      case ROW_COLUMNS.boot: {
        const numbers: number[] = [];
        return Float64Array.from(chunk.boots(), (code) => {
          numbers[code] ??= bootNumber(chunk.strings[code] as string);
          return numbers[code];
        });
      }
      default: {
        const id = layout.ids.get(column);
        return id === undefined ? undefined : chunk.values(id);
      }
    }
  }

  #layoutOf(chunk: Chunk): ChunkLayout {
    const ids = chunk.seriesIds();
    const key = `${chunk.hasVcpus}${chunk.hasStates}${ids.join()}`;
    let layout = this.#layouts.get(key);
    if (layout === undefined) {
      const byKey = new Map(ids.map((id) => [this.#names.keyOf(id), id]));
      const keys = new Set<SeriesKey>([...byKey.keys(), ROW_COLUMNS.observed]);
      if (chunk.hasVcpus) keys.add(ROW_COLUMNS.vcpus);
      if (chunk.hasStates) keys.add(ROW_COLUMNS.state);
      layout = { ids: byKey, keys };
      this.#layouts.set(key, layout);
    }
    return layout;
  }
}

/**
 * 52 bits: the precision of a double. With 44 of them, two boots of a VM practically never collide.
 */
const HEX_DIGITS = 13;

/**
 * NaN for '': the source reported none. The last byte is the origin's (`originOf`); 0: no origin.
 */
export function bootNumber(text: string): number {
  if (text === '') return Number.NaN;
  const number = Number.parseInt(hash('sha256', text, 'hex').slice(0, HEX_DIGITS), 16);
  const origin = originOf(text);
  const last =
    origin === '' ? 0 : 1 + (Number.parseInt(hash('md5', origin, 'hex').slice(0, 4), 16) % 255);
  return number - (number % BOOT_ORIGINS) + last;
}

/** Number of possible origins: a boot number modulo this is its origin. */
export const BOOT_ORIGINS = 256;
