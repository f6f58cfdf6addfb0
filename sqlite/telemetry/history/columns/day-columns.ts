/**
 * The stored columns of a VM's UTC day, each decoded on first use and then cached: one run for all
 * chunks of the day. A chunk after the others is appended. A chunk that overlaps them rebuilds the
 * run, and the lower id takes precedence (`rows.ts`).
 */

import {
  type ChunkColumns,
  type ColumnLayout,
  type DecodedChunk,
  type PickColumns,
  ROW_COLUMNS,
} from './chunk-columns.ts';
import type { ChunkPlace } from './chunk-directory.ts';
import type { Cached, ColumnCache } from './column-cache.ts';
import { type ColumnRun, mergeRuns, runOf } from './column-run.ts';
import type { Segment, TakeBytes } from './segment.ts';

/** Size of a cached column besides its values, bytes: objects and map entries. */
const ENTRY_BYTES = 200;
const NUMBER_BYTES = 8;

/** Counts the versions of all days of the thread, so that no two are equal. */
let versions = 0;

interface StoredColumn extends Cached {
  /** Number of chunks it was made from, starting with the first. */
  readonly chunks: number;
  /** Version of its other inputs; 0 = none. */
  readonly inputs: number;
  readonly run: ColumnRun | undefined;
}

/** Dependencies shared by the days of one thread. */
export interface DayDeps {
  readonly chunks: ChunkColumns;
  readonly cache: ColumnCache;
}

/** One VM's day. Its version changes with every chunk that is added or replaced. */
export class DayColumns implements Segment {
  readonly day: number;
  readonly #deps: DayDeps;
  readonly #columns = new Map<string, StoredColumn>();
  #chunks: readonly ChunkPlace[] = [];
  #layouts: (ColumnLayout | undefined)[] = [];
  #isDisjoint = true;
  /** Chunks before it are not decoded: no read of the day has reached back that far. */
  #first = Number.POSITIVE_INFINITY;
  /** Times of the chunks from `#first` to before `#timesChunks`, shared by full columns. */
  #timesMs: Float64Array | undefined;
  #timesChunks = 0;
  /** Chunks decoded when their layout was read, for the subsequent load. */
  readonly #readAhead = new Map<number, DecodedChunk>();
  version = 0;
  startMs = 0;
  endMs = 0;

  constructor(day: number, deps: DayDeps) {
    this.day = day;
    this.#deps = deps;
  }

  /** Applies the directory's chunks. Chunks after the known ones keep their columns. */
  replace(chunks: readonly ChunkPlace[]): void {
    const before = this.#chunks;
    if (before.length === chunks.length && before.every(({ id }, i) => id === chunks[i]?.id))
      return;
    this.version = ++versions;
    this.#chunks = chunks;
    this.startMs = Math.min(...chunks.map((chunk) => chunk.startMs));
    this.endMs = Math.max(...chunks.map((chunk) => chunk.endMs));
    this.#isDisjoint = chunks.every(
      (chunk, i) => i === 0 || chunk.startMs > (chunks[i - 1] as ChunkPlace).endMs,
    );
    const isLonger = before.every(({ id }, i) => id === chunks[i]?.id);
    if (!isLonger) this.#layouts = [];
    if (!isLonger || !this.#isDisjoint) {
      this.clear();
      this.#first = Number.POSITIVE_INFINITY;
    }
    for (const { id } of before) {
      if (!chunks.some((chunk) => chunk.id === id)) this.#deps.chunks.forget(id);
    }
  }

  /** Extends its columns back to `fromMs`; the version changes if they did not reach it. */
  reach(fromMs: number): void {
    const touching = this.#chunks.findIndex(({ endMs }) => endMs >= fromMs);
    const first = this.#isDisjoint ? touching : 0;
    if (first < 0 || first >= this.#first) return;
    // Also the first time: a reader may have looked back at this day and found nothing.
    this.clear();
    // Twice as far as requested, except the first time: a day is rebuilt at most a few times.
    const isAgain = this.#first !== Number.POSITIVE_INFINITY;
    const count = this.#chunks.length;
    this.#first = isAgain ? Math.max(0, count - 2 * (count - first)) : first;
    this.version = ++versions;
  }

  /** Called when its chunks no longer exist: drops all cached data. */
  end(): void {
    this.clear();
    for (const { id } of this.#chunks) this.#deps.chunks.forget(id);
  }

  /** Drops all columns. */
  clear(): void {
    this.#readAhead.clear();
    for (const column of [...this.#columns.values()]) this.#deps.cache.remove(column);
    this.#forgetTimes();
  }

  layouts(pick: PickColumns): readonly ColumnLayout[] {
    const layouts: ColumnLayout[] = [];
    for (let i = this.#first; i < this.#chunks.length; i++) {
      const layout = this.#layouts[i] ?? this.#read(i, pick);
      if (!layouts.includes(layout)) layouts.push(layout);
    }
    return layouts;
  }

  load(columns: readonly string[], take: TakeBytes): void {
    const missing = columns.filter((column) => !this.#isFresh(column));
    if (missing.length === 0) return;
    const wanted = missing.map((column) => {
      const known = this.#columns.get(column);
      const runs: ColumnRun[] = known?.run ? [known.run] : [];
      return { column, from: known?.chunks ?? this.#first, runs };
    });
    const decoded = missing.filter((column) => column !== ROW_COLUMNS.observed);
    const times = this.#timesMs ? [observed(this.#timesMs)] : [];
    const timesFrom = this.#timesMs ? this.#timesChunks : this.#first;
    const from = Math.min(timesFrom, ...wanted.map((one) => one.from));
    for (let i = from, row = this.#rowsBefore(from); i < this.#chunks.length; i++) {
      const { rows } = this.#chunks[i] as ChunkPlace;
      take((wanted.length + 1) * rows * NUMBER_BYTES);
      const chunk = this.#takeRead(i, decoded) ?? this.#decode(i, () => decoded, row);
      row += rows;
      if (i >= timesFrom) times.push(observed(chunk.timesMs));
      for (const one of wanted) if (i >= one.from) addRun(one.runs, chunk, one.column);
    }
    this.#readAhead.clear();
    this.#setTimes(mergeRuns(times));
    for (const { column, runs } of wanted) this.#keep(column, this.#finished(column, runs), 0);
  }

  touch(columns: readonly string[]): void {
    for (const column of columns) this.#used(column);
  }

  run(column: string): ColumnRun | undefined {
    return this.#used(column)?.run;
  }

  computed(name: string, inputs: number, make: () => ColumnRun | undefined): ColumnRun | undefined {
    const known = this.#used(name);
    if (known !== undefined && known.inputs === inputs && this.#isFresh(name)) return known.run;
    const run = make();
    this.#keep(name, run, inputs);
    return run;
  }

  #used(column: string): StoredColumn | undefined {
    const known = this.#columns.get(column);
    if (known !== undefined) known.usedAt = this.#deps.cache.now;
    return known;
  }

  #isFresh(column: string): boolean {
    return this.#columns.get(column)?.chunks === this.#chunks.length;
  }

  /** @param row index of the chunk's first row in `#timesMs` */
  #decode(i: number, pick: PickColumns, row: number): DecodedChunk {
    const { id, rows } = this.#chunks[i] as ChunkPlace;
    const chunk = this.#deps.chunks.decode(id, pick, this.#timesAt(i, row, rows));
    this.#layouts[i] = chunk.layout;
    return chunk;
  }

  /** Reads the layout of a chunk and keeps the columns that are needed next. */
  #read(i: number, pick: PickColumns): ColumnLayout {
    const chunk = this.#decode(i, pick, this.#rowsBefore(i));
    if (chunk.columns.size > 0) this.#readAhead.set(i, chunk);
    return chunk.layout;
  }

  /** The data read ahead from a chunk, if it contains everything requested. */
  #takeRead(i: number, columns: readonly string[]): DecodedChunk | undefined {
    const chunk = this.#readAhead.get(i);
    this.#readAhead.delete(i);
    const isWhole = columns.every((column) => {
      // A boot is not a key of a layout.
      const isThere = column === ROW_COLUMNS.boot || chunk?.layout.keys.has(column);
      return chunk?.columns.has(column) || !isThere;
    });
    return isWhole ? chunk : undefined;
  }

  #rowsBefore(chunk: number): number {
    const before = this.#chunks.slice(this.#first, chunk);
    return before.reduce((sum, { rows }) => sum + rows, 0);
  }

  /** A chunk's times, if they are already known. */
  #timesAt(chunk: number, row: number, rows: number): Float64Array | undefined {
    if (chunk >= this.#timesChunks || !this.#isDisjoint) return undefined;
    return this.#timesMs?.subarray(row, row + rows);
  }

  #setTimes(run: ColumnRun | undefined): void {
    if (run === undefined || run.timesMs === this.#timesMs) return;
    const timesMs = this.#deps.cache.shareTimes(run.timesMs);
    this.#forgetTimes();
    this.#timesMs = timesMs;
    this.#timesChunks = this.#chunks.length;
  }

  #forgetTimes(): void {
    if (this.#timesMs) this.#deps.cache.releaseTimes(this.#timesMs);
    this.#timesMs = undefined;
    this.#timesChunks = 0;
  }

  #finished(column: string, runs: readonly ColumnRun[]): ColumnRun | undefined {
    const timesMs = this.#timesMs;
    if (column === ROW_COLUMNS.observed) return timesMs && observedSeconds(timesMs);
    const run = mergeRuns(runs);
    // Its times are a subset of the day's, so an equal number means equal times.
    const isFull = run !== undefined && run.timesMs.length === timesMs?.length;
    return isFull ? { timesMs, values: run.values, stale: null } : run;
  }

  #keep(column: string, run: ColumnRun | undefined, inputs: number): void {
    const { cache } = this.#deps;
    const before = this.#columns.get(column);
    const numbers = run === undefined ? 0 : run.values.length;
    const ownTimes = run === undefined || run.timesMs === this.#timesMs ? 0 : numbers;
    const columns = this.#columns;
    const kept: StoredColumn = {
      run,
      inputs,
      chunks: this.#chunks.length,
      usedAt: cache.now,
      alive: true,
      bytes: ENTRY_BYTES + (numbers + ownTimes) * NUMBER_BYTES,
      drop: () => {
        if (columns.get(column) === kept) columns.delete(column);
        if (columns.size === 0) this.#forgetTimes();
      },
    };
    // Stored first: a day without columns drops its times.
    columns.set(column, kept);
    if (before !== undefined) cache.remove(before);
    cache.add(kept);
  }
}

function addRun(runs: ColumnRun[], chunk: DecodedChunk, column: string): void {
  const values = chunk.columns.get(column);
  const run = values && runOf(chunk.timesMs, values);
  if (run !== undefined) runs.push(run);
}

/** Times as a run whose values are the times, so that they are merged by the same rule. */
function observed(timesMs: Float64Array): ColumnRun {
  return { timesMs, values: timesMs, stale: null };
}

function observedSeconds(timesMs: Float64Array): ColumnRun {
  return { timesMs, values: timesMs.map((timeMs) => timeMs / 1000), stale: null };
}
