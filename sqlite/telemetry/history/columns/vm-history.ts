/**
 * One VM's history as columns: its stored days and its part of the head, as consecutive segments.
 */

import { GAP_TOLERANCE_MS } from '../../../../streams/telemetry/entry.ts';
import { unpackCodes } from '../head/memory.ts';
import {
  HEAD_CODES,
  HEAD_TIME,
  HEAD_VCPUS,
  type HeadColumns,
  type HeadLayout,
  type HeadPlace,
} from '../head/shared-head.ts';
import { bootNumber, type ColumnLayout, type PickColumns, ROW_COLUMNS } from './chunk-columns.ts';
import type { ChunkPlace } from './chunk-directory.ts';
import { type ColumnRun, mergeRuns, runOf } from './column-run.ts';
import { DayColumns, type DayDeps } from './day-columns.ts';
import type { Segment, TakeBytes } from './segment.ts';

/**
 * The segments of one VM, in the order of time. The directory adds its days; its head part appears
 * and disappears.
 */
export class VmHistory {
  readonly project: string;
  readonly vm: string;
  /** Increasing. */
  readonly #days: DayColumns[] = [];
  #head: HeadSegment | undefined;
  #merged: MergedSegment | undefined;
  #mergedCount = 0;

  constructor(project: string, vm: string) {
    this.project = project;
    this.vm = vm;
  }

  /** Number of the VM in the file, if it has one. */
  id: number | undefined;

  /** UTC days with stored rows, increasing. */
  days(): readonly number[] {
    return this.#days.map(({ day }) => day);
  }

  /** Time of the newest row, Unix ms; -Infinity without any. */
  get endMs(): number {
    const stored = this.#days.at(-1)?.endMs ?? Number.NEGATIVE_INFINITY;
    return Math.max(stored, this.#head?.endMs ?? Number.NEGATIVE_INFINITY);
  }

  /** True if it has no rows, neither stored nor in the head. */
  get isGone(): boolean {
    return this.#head === undefined && this.#days.length === 0;
  }

  setPlace(place: HeadPlace, deps: HeadDeps): void {
    this.#head = new HeadSegment(place, deps);
  }

  /** The VM has left the head. */
  leaveHead(): void {
    this.#head = undefined;
    this.#merged = undefined;
  }

  setDay(day: number, chunks: readonly ChunkPlace[], deps: DayDeps): void {
    const place = this.#days.findIndex((one) => one.day >= day);
    const known = this.#days[place];
    if (chunks.length === 0) {
      if (known?.day === day) this.#drop(place, 1);
    } else if (known?.day === day) known.replace(chunks);
    else {
      const added = new DayColumns(day, deps);
      added.replace(chunks);
      this.#days.splice(place < 0 ? this.#days.length : place, 0, added);
    }
  }

  dropDaysBefore(day: number): void {
    const first = this.#days.findIndex((one) => one.day >= day);
    const gone = first < 0 ? this.#days.length : first;
    this.#drop(0, gone);
  }

  /** Updates the head's part. Always call it before the stored part is read (`history-view.ts`). */
  refreshHead(pick: PickColumns): void {
    this.#head?.refresh(pick);
  }

  /**
   * Segments with rows in [fromMs, toMs], and the one before them; oldest first. Their columns
   * reach back to the observation before `fromMs`, not necessarily further.
   */
  segments(fromMs: number, toMs: number): readonly Segment[] {
    const all = this.#all();
    let first = all.findIndex((segment) => segment.endMs >= fromMs);
    if (first < 0) return [];
    let end = all.length;
    while (end > first && (all[end - 1] as Segment).startMs > toMs) end--;
    if (end === first) return [];
    if (first > 0) first--;
    const found = all.slice(first, end);
    for (const segment of found) segment.reach(fromMs - GAP_TOLERANCE_MS);
    return found;
  }

  #all(): readonly Segment[] {
    const head = this.#head;
    if (head === undefined || head.isEmpty) return this.#days;
    const first = this.#days.findIndex((day) => day.endMs >= head.startMs);
    if (first < 0) return [...this.#days, head];
    const parts = [...this.#days.slice(first), head];
    for (const part of parts) part.reach(Number.NEGATIVE_INFINITY);
    if (this.#merged?.isOf(parts) !== true) {
      this.#merged = new MergedSegment(parts, ++this.#mergedCount);
    }
    return [...this.#days.slice(0, first), this.#merged];
  }

  #drop(from: number, count: number): void {
    for (const day of this.#days.splice(from, count)) day.end();
    if (count > 0) this.#merged = undefined;
  }
}

// Segments of rows that are in no chunk yet, and of such rows merged with a stored day. Columns are
// copied from the head on first use and kept until the VM's rows change: most queries find them
// unchanged.

/** Dependencies shared by the head's segments. */
export interface HeadDeps {
  readonly head: HeadColumns;
}

/** A layout of the head as readers of columns see it, created once per layout. */
const layouts = new WeakMap<HeadLayout, ColumnLayout>();

/**
 * A VM's rows in the head, copied under its sequence lock. They are copied again if the lock has
 * moved.
 */
export class HeadSegment implements Segment {
  readonly #place: HeadPlace;
  readonly #deps: HeadDeps;
  readonly #runs = new Map<string, ColumnRun | undefined>();
  readonly #computed = new Map<string, { inputs: number; run: ColumnRun | undefined }>();
  #layout: HeadLayout | undefined;
  #timesMs: Float64Array = new Float64Array(0);
  /** Count of the VM's lock when the rows were copied. */
  version = -1;

  constructor(place: HeadPlace, deps: HeadDeps) {
    this.#place = place;
    this.#deps = deps;
  }

  get isEmpty(): boolean {
    return this.#timesMs.length === 0;
  }

  get startMs(): number {
    return this.#timesMs[0] ?? Number.POSITIVE_INFINITY;
  }

  get endMs(): number {
    return this.#timesMs.at(-1) ?? Number.NEGATIVE_INFINITY;
  }

  /** Updates the segment and loads the picked columns, all as of one moment. */
  refresh(pick: PickColumns): void {
    const { head } = this.#deps;
    if (this.#layout !== undefined && head.version(this.#place) === this.version) {
      const layout = columnLayout(this.#layout);
      if (pick(layout).every((column) => this.#runs.has(column))) return;
    }
    let columns: readonly string[] = [];
    const cut = head.cut(this.#place, this.#layout, (layout) => {
      columns = pick(columnLayout(layout));
      return columns.map((column) => cellOf(layout, column));
    });
    if (cut.version !== this.version) {
      this.#runs.clear();
      this.#computed.clear();
      this.#timesMs = cut.timesMs;
    }
    this.version = cut.version;
    this.#layout = cut.layout;
    for (const [i, column] of columns.entries()) {
      if (this.#runs.has(column)) continue;
      this.#runs.set(column, this.#finished(column, cut.columns[i] as Float64Array, cut.texts));
    }
  }

  /** It is always complete. */
  reach(): void {}

  layouts(): readonly ColumnLayout[] {
    return this.#layout ? [columnLayout(this.#layout)] : [];
  }

  /** Loads nothing: `refresh` has loaded the requested columns. */
  load(): void {}

  /** No use is recorded here, because the head itself is bounded. */
  touch(): void {}

  run(column: string): ColumnRun | undefined {
    return this.#runs.get(column);
  }

  computed(name: string, inputs: number, make: () => ColumnRun | undefined): ColumnRun | undefined {
    const known = this.#computed.get(name);
    if (known?.inputs === inputs) return known.run;
    const run = make();
    this.#computed.set(name, { inputs, run });
    return run;
  }

  #finished(column: string, cells: Float64Array, texts: readonly string[]): ColumnRun | undefined {
    const timesMs = this.#timesMs;
    switch (column) {
      case ROW_COLUMNS.observed:
        return runOf(
          timesMs,
          cells.map((timeMs) => timeMs / 1000),
        );
      case ROW_COLUMNS.state:
        return runOf(
          timesMs,
          cells.map((codes) => unpackCodes(codes).state || Number.NaN),
        );
      case ROW_COLUMNS.boot:
        return runOf(timesMs, bootNumbers(cells, texts));
      default:
        return runOf(timesMs, cells);
    }
  }
}

/** Boot numbers of rows by their codes; a VM has few boots in the rows of an hour. */
function bootNumbers(cells: Float64Array, texts: readonly string[]): Float64Array {
  const numbers: number[] = [];
  return cells.map((codes) => {
    const { boot } = unpackCodes(codes);
    numbers[boot] ??= bootNumber(texts[boot] ?? '');
    return numbers[boot];
  });
}

function columnLayout(layout: HeadLayout): ColumnLayout {
  let known = layouts.get(layout);
  if (known === undefined) {
    const { observed, vcpus, state } = ROW_COLUMNS;
    known = { keys: new Set([...layout.cells.keys(), observed, vcpus, state]) };
    layouts.set(layout, known);
  }
  return known;
}

/** Cell of the column in a row. A pick names only columns of the layout, including row columns. */
function cellOf(layout: HeadLayout, column: string): number {
  switch (column) {
    case ROW_COLUMNS.observed:
      return HEAD_TIME;
    case ROW_COLUMNS.vcpus:
      return HEAD_VCPUS;
    case ROW_COLUMNS.state:
    case ROW_COLUMNS.boot:
      return HEAD_CODES;
    default: {
      const cell = layout.cells.get(column);
      if (cell === undefined) throw new RangeError(`The head has no column ${column}`);
      return cell;
    }
  }
}

/**
 * Overlapping segments as one. If two have a value for the same time, the first part takes
 * precedence.
 */
export class MergedSegment implements Segment {
  /** In order of precedence. */
  readonly #parts: readonly Segment[];
  readonly #versions: readonly number[];
  readonly #runs = new Map<string, ColumnRun | undefined>();
  readonly #computed = new Map<string, { inputs: number; run: ColumnRun | undefined }>();
  readonly version: number;
  readonly startMs: number;
  readonly endMs: number;

  /** @param version differs from every other version of the VM */
  constructor(parts: readonly Segment[], version: number) {
    this.#parts = parts;
    this.#versions = parts.map((part) => part.version);
    this.version = version;
    this.startMs = Math.min(...parts.map((part) => part.startMs));
    this.endMs = Math.max(...parts.map((part) => part.endMs));
  }

  /** True if it still consists of these parts in their current versions. */
  isOf(parts: readonly Segment[]): boolean {
    return (
      parts.length === this.#parts.length &&
      parts.every((part, i) => part === this.#parts[i] && part.version === this.#versions[i])
    );
  }

  /** It is complete from the start. */
  reach(): void {}

  layouts(pick: PickColumns): readonly ColumnLayout[] {
    return this.#parts.flatMap((part) => part.layouts(pick));
  }

  load(columns: readonly string[], take: TakeBytes): void {
    const missing = columns.filter((column) => !this.#runs.has(column));
    if (missing.length === 0) return;
    for (const part of this.#parts) part.load(missing, take);
    for (const column of missing) {
      const runs = this.#parts.flatMap((part) => part.run(column) ?? []);
      const merged = mergeRuns(runs);
      if (merged !== undefined) take(merged.timesMs.byteLength + merged.values.byteLength);
      this.#runs.set(column, merged);
    }
  }

  touch(columns: readonly string[]): void {
    for (const part of this.#parts) part.touch(columns);
  }

  run(column: string): ColumnRun | undefined {
    return this.#runs.get(column);
  }

  computed(name: string, inputs: number, make: () => ColumnRun | undefined): ColumnRun | undefined {
    const known = this.#computed.get(name);
    if (known?.inputs === inputs) return known.run;
    const run = make();
    this.#computed.set(name, { inputs, run });
    return run;
  }
}
