/** A part of a batch: the rows that are not known from another source. */
import type { SampleBatch } from './batch.ts';

/** The rows observed after a time. The batch itself if all are; undefined if none is. */
export function rowsAfter(batch: SampleBatch, timeMs: number): SampleBatch | undefined {
  if (batch.observedMs.every((observedMs) => observedMs > timeMs)) return batch;
  const kept = [...batch.observedMs.keys()].filter((i) => (batch.observedMs[i] ?? 0) > timeMs);
  if (kept.length === 0) return undefined;
  const valueOffset = new Uint32Array(kept.length + 1);
  const values: number[] = [];
  for (const [row, i] of kept.entries()) {
    values.push(...batch.values.subarray(batch.valueOffset[i], batch.valueOffset[i + 1]));
    valueOffset[row + 1] = values.length;
  }
  return {
    ...batch,
    count: kept.length,
    vm: Uint32Array.from(kept, (i) => batch.vm[i] ?? 0),
    layout: Uint32Array.from(kept, (i) => batch.layout[i] ?? 0),
    observedMs: Float64Array.from(kept, (i) => batch.observedMs[i] ?? 0),
    sequence: Float64Array.from(kept, (i) => batch.sequence[i] ?? 0),
    boot: Uint32Array.from(kept, (i) => batch.boot[i] ?? 0),
    vcpus: Float64Array.from(kept, (i) => batch.vcpus[i] ?? Number.NaN),
    state: Uint8Array.from(kept, (i) => batch.state[i] ?? 0),
    stateReason: Uint32Array.from(kept, (i) => batch.stateReason[i] ?? 0),
    valueOffset,
    values: Float64Array.from(values),
  };
}
