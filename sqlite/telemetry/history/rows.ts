/**
 * A VM's rows as columns, and the single rule for merging rows of several sources: the head,
 * overlapping chunks, redelivered batches. Pure, because readers, flushes and compaction must not
 * differ in it.
 */
import type { SeriesKey } from '../../../streams/telemetry/samples/batch.ts';
import type { VmColumns } from '../../../streams/telemetry/samples/columns.ts';

/** Rows as readers see them: history keeps nothing else. */
export type VmRows = VmColumns;

/** No rows; a new object each time, because a thread transfers the rows that it returns. */
export function noRows(): VmRows {
  return {
    timesMs: new Float64Array(0),
    series: new Map(),
    vcpus: new Float64Array(0),
    state: new Uint8Array(0),
    boot: new Uint32Array(0),
    stateReason: new Uint32Array(0),
    strings: [''],
    ...conflictsOf(new Uint8Array(0)),
  };
}

/**
 * Merges several parts, sorted by time with one row per time. If two have a row of the same time,
 * the earlier part in the list takes precedence: its values stay, missing ones are filled in from
 * the later part (a second source of the same VM), and the row is marked as conflicted if a value
 * differs.
 */
export function mergeRows(parts: readonly VmRows[]): VmRows {
  const filled = parts.filter((part) => part.timesMs.length > 0);
  const [only = noRows()] = filled;
  return filled.length <= 1 ? only : new Merge(filled).rows();
}

/**
 * Rows observed in [fromMs, toMs], both inclusive; columns without a value in that range are left
 * out.
 */
export function cutRows(rows: VmRows, fromMs: number, toMs: number): VmRows {
  const from = firstAtOrAfter(rows.timesMs, fromMs);
  return sliceRows(rows, from, firstAtOrAfter(rows.timesMs, toMs, false));
}

/** Rows of index `from` (inclusive) to `to` (exclusive); columns without a value are left out. */
export function sliceRows(rows: VmRows, from: number, to: number): VmRows {
  if (from === 0 && to === rows.timesMs.length) return rows;
  const series = new Map<SeriesKey, Float64Array>();
  for (const [key, column] of rows.series) {
    const cut = column.slice(from, to);
    if (cut.some((value) => !Number.isNaN(value))) series.set(key, cut);
  }
  return {
    timesMs: rows.timesMs.slice(from, to),
    series,
    vcpus: rows.vcpus.slice(from, to),
    state: rows.state.slice(from, to),
    boot: rows.boot.slice(from, to),
    stateReason: rows.stateReason.slice(from, to),
    strings: rows.strings,
    ...conflictsOf(rows.conflicted.slice(from, to)),
  };
}

/** Conflicts in reported form: for each row, and their number. */
export function conflictsOf(conflicted: Uint8Array): Pick<VmRows, 'conflicted' | 'conflicts'> {
  return { conflicted, conflicts: conflicted.reduce((sum, bit) => sum + bit, 0) };
}

/** Index of the first time at or after `timeMs` (after it if `inclusive` is false). */
export function firstAtOrAfter(timesMs: Float64Array, timeMs: number, inclusive = true): number {
  let low = 0;
  let high = timesMs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const time = timesMs[middle] as number;
    if (inclusive ? time < timeMs : time <= timeMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A merge in progress: target rows first, then each part is copied to its positions. */
class Merge {
  readonly #timesMs: Float64Array;
  readonly #parts: readonly VmRows[];
  readonly #strings: string[] = [''];
  readonly #stringIndex = new Map<string, number>([['', 0]]);
  /** 1 where the rows of one time contradict each other. */
  readonly #conflicted: Uint8Array;

  constructor(parts: readonly VmRows[]) {
    this.#parts = parts;
    this.#timesMs = distinctTimes(parts);
    this.#conflicted = new Uint8Array(this.#timesMs.length);
  }

  rows(): VmRows {
    const count = this.#timesMs.length;
    const series = new Map<SeriesKey, Float64Array>();
    const vcpus = new Float64Array(count).fill(Number.NaN);
    const state = new Uint8Array(count);
    const boot = new Uint32Array(count);
    const stateReason = new Uint32Array(count);
    for (const part of this.#parts) {
      const places = this.#placesOf(part.timesMs);
      const strings = Uint32Array.from(part.strings, (text) => this.#stringOf(text));
      for (const [key, column] of part.series) {
        let target = series.get(key);
        if (target === undefined) {
          target = new Float64Array(count).fill(Number.NaN);
          series.set(key, target);
        }
        this.#pour(target, column, places);
      }
      this.#pour(vcpus, part.vcpus, places);
      this.#pourCodes(state, part.state, places);
      this.#pourCodes(boot, translated(part.boot, strings), places);
      this.#pourCodes(stateReason, translated(part.stateReason, strings), places);
      for (const [i, bit] of part.conflicted.entries()) {
        if (bit === 1) this.#conflicted[places[i] as number] = 1;
      }
    }
    return {
      timesMs: this.#timesMs,
      series,
      vcpus,
      state,
      boot,
      stateReason,
      strings: this.#strings,
      ...conflictsOf(this.#conflicted),
    };
  }

  #placesOf(timesMs: Float64Array): Uint32Array {
    const places = new Uint32Array(timesMs.length);
    for (let i = 0, place = 0; i < timesMs.length; i++, place++) {
      while (this.#timesMs[place] !== timesMs[i]) place++;
      places[i] = place;
    }
    return places;
  }

  /** NaN is "not observed": it neither overwrites nor contradicts. */
  #pour(target: Float64Array, column: Float64Array, places: Uint32Array): void {
    for (let i = 0; i < places.length; i++) {
      const value = column[i] as number;
      const place = places[i] as number;
      if (Number.isNaN(value)) continue;
      const kept = target[place] as number;
      if (Number.isNaN(kept)) target[place] = value;
      else if (!Object.is(kept, value)) this.#conflicted[place] = 1;
    }
  }

  /** Code 0 is "not reported": it neither overwrites nor contradicts. */
  #pourCodes(target: Uint8Array | Uint32Array, codes: ArrayLike<number>, places: Uint32Array) {
    for (let i = 0; i < places.length; i++) {
      const code = codes[i] as number;
      const place = places[i] as number;
      if (code === 0) continue;
      const kept = target[place] as number;
      if (kept === 0) target[place] = code;
      else if (kept !== code) this.#conflicted[place] = 1;
    }
  }

  #stringOf(text: string): number {
    const known = this.#stringIndex.get(text);
    if (known !== undefined) return known;
    this.#stringIndex.set(text, this.#strings.length);
    return this.#strings.push(text) - 1;
  }
}

function translated(codes: Uint32Array, table: Uint32Array): Uint32Array {
  return codes.map((code) => table[code] as number);
}

function distinctTimes(parts: readonly VmRows[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, part) => sum + part.timesMs.length, 0));
  let length = 0;
  for (const part of parts) {
    all.set(part.timesMs, length);
    length += part.timesMs.length;
  }
  all.sort();
  let distinct = 0;
  for (let i = 0; i < all.length; i++) {
    if (i === 0 || all[i] !== all[distinct - 1]) all[distinct++] = all[i] as number;
  }
  return all.slice(0, distinct);
}
