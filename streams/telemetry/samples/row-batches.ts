/**
 * One VM's columns in their original form: a batch for each row, received at its observation time,
 * as from a live source. So stored samples can be folded by the code that evaluates live ones.
 */
import type { Layout, SampleBatch, SeriesKey, VmRef } from './batch.ts';
import type { VmColumns } from './columns.ts';

/**
 * One batch per row, oldest first, with only the series observed in it. A batch is valid until the
 * next one is requested: its arrays are reused. `range`: indexes of the rows, end exclusive;
 * default all.
 */
export function* rowBatches(
  columns: VmColumns,
  vm: VmRef,
  { first = 0, end = columns.timesMs.length }: RowRange = {},
): Generator<SampleBatch> {
  const keys = [...columns.series.keys()];
  const series = [...columns.series.values()];
  const shapes = new Map<string, RowShape>();
  let shape: RowShape | undefined;
  for (let i = first; i < end; i++) {
    if (shape === undefined || !shape.fits(series, i)) {
      const presence = series.map((column) => (Number.isNaN(column[i]) ? '0' : '1')).join('');
      shape = shapes.get(presence) ?? new RowShape({ keys, presence, vm, columns });
      shapes.set(presence, shape);
    }
    yield shape.fill(columns, series, i);
  }
}

/** Rows `first` to `end - 1` of the columns; default all. */
export interface RowRange {
  readonly first?: number;
  readonly end?: number;
}

interface ShapeOf {
  readonly keys: readonly SeriesKey[];
  /** '1' for each series that rows of this shape have, otherwise '0'. */
  readonly presence: string;
  readonly vm: VmRef;
  readonly columns: VmColumns;
}

/** Rows with the same series share a batch. */
class RowShape {
  readonly #isPresent: readonly boolean[];
  readonly #batch: { -readonly [K in keyof SampleBatch]: SampleBatch[K] };

  constructor({ keys, presence, vm, columns }: ShapeOf) {
    this.#isPresent = [...presence].map((bit) => bit === '1');
    const layout: Layout = { series: keys.filter((_, k) => this.#isPresent[k]) };
    this.#batch = {
      count: 1,
      receivedMs: 0,
      vms: [vm],
      layouts: [layout],
      strings: columns.strings,
      vm: new Uint32Array(1),
      layout: new Uint32Array(1),
      observedMs: new Float64Array(1),
      sequence: new Float64Array(1),
      boot: new Uint32Array(1),
      vcpus: new Float64Array(1),
      state: new Uint8Array(1),
      stateReason: new Uint32Array(1),
      valueOffset: Uint32Array.of(0, layout.series.length),
      values: new Float64Array(layout.series.length),
    };
  }

  /** True if row `i` has the series of this shape. */
  fits(series: readonly Float64Array[], i: number): boolean {
    return series.every((column, k) => Number.isNaN(column[i]) !== this.#isPresent[k]);
  }

  fill(columns: VmColumns, series: readonly Float64Array[], i: number): SampleBatch {
    const batch = this.#batch;
    const observedMs = columns.timesMs[i] ?? Number.NaN;
    batch.receivedMs = observedMs;
    batch.observedMs[0] = observedMs;
    // History does not keep the source's own counter; the row order is that of the times.
    batch.sequence[0] = i;
    batch.boot[0] = columns.boot[i] ?? 0;
    batch.vcpus[0] = columns.vcpus[i] ?? Number.NaN;
    batch.state[0] = columns.state[i] ?? 0;
    batch.stateReason[0] = columns.stateReason[i] ?? 0;
    let at = 0;
    for (let k = 0; k < series.length; k++) {
      if (this.#isPresent[k]) batch.values[at++] = series[k]?.[i] ?? Number.NaN;
    }
    return batch;
  }
}
