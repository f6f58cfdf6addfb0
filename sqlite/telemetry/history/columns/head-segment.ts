/**
 * Segments of rows that are in no chunk yet, and of such rows merged with a stored day. Columns are
 * cut from the head on first use and kept until the VM's rows change: most queries find them
 * unchanged.
 */
import {
  HEAD_CODES,
  HEAD_TIME,
  HEAD_VCPUS,
  type HeadColumns,
  type HeadLayout,
} from '../head/head-columns.ts';
import { unpackCodes } from '../head/memory.ts';
import type { HeadPlace } from '../head/shared-head.ts';
import { bootNumber, type ColumnLayout, type PickColumns, ROW_COLUMNS } from './chunk-columns.ts';
import { type ColumnRun, mergeRuns, runOf } from './column-run.ts';
import type { Segment, TakeBytes } from './segment.ts';

export interface HeadDeps {
  readonly head: HeadColumns;
}

/** A layout of the head as readers of columns see it, made once for each. */
const layouts = new WeakMap<HeadLayout, ColumnLayout>();

export class HeadSegment implements Segment {
  readonly #place: HeadPlace;
  readonly #deps: HeadDeps;
  readonly #runs = new Map<string, ColumnRun | undefined>();
  readonly #computed = new Map<string, { inputs: number; run: ColumnRun | undefined }>();
  #layout: HeadLayout | undefined;
  #timesMs: Float64Array = new Float64Array(0);
  /** Count of the VM's lock when the rows were cut. */
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

  /** Brings it up to date, and has the picked columns ready: all as of one moment. */
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

  /** It is whole always. */
  reach(): void {}

  layouts(): readonly ColumnLayout[] {
    return this.#layout ? [columnLayout(this.#layout)] : [];
  }

  /** Nothing is loaded here: what is wanted was named when it was brought up to date. */
  load(): void {}

  /** Nothing here is bounded by use: the head itself is. */
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

/** Of rows by their codes; a VM has few boots in its rows of an hour. */
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

/** Where a row has it. A pick names only what the layout has, row columns included. */
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

export class MergedSegment implements Segment {
  /** In the order in which they prevail. */
  readonly #parts: readonly Segment[];
  readonly #versions: readonly number[];
  readonly #runs = new Map<string, ColumnRun | undefined>();
  readonly #computed = new Map<string, { inputs: number; run: ColumnRun | undefined }>();
  readonly version: number;
  readonly startMs: number;
  readonly endMs: number;

  /** @param version differs from that of every other of the VM */
  constructor(parts: readonly Segment[], version: number) {
    this.#parts = parts;
    this.#versions = parts.map((part) => part.version);
    this.version = version;
    this.startMs = Math.min(...parts.map((part) => part.startMs));
    this.endMs = Math.max(...parts.map((part) => part.endMs));
  }

  /** Is it still made of these, as they are? */
  isOf(parts: readonly Segment[]): boolean {
    return (
      parts.length === this.#parts.length &&
      parts.every((part, i) => part === this.#parts[i] && part.version === this.#versions[i])
    );
  }

  /** It is whole from the beginning. */
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
