/**
 * The order in which a batch's rows are taken: as they are when each VM has one (the usual case),
 * else each VM's sorted. Rows of one boot go by the source's own counter, which a clock that goes
 * back does not disturb; boots go by their first observation.
 */
import type { SampleBatch } from '../../telemetry/samples/batch.ts';

const ONE = Uint32Array.of(0);

/** Row indexes of `batch` in the order to fold them; not to be changed. */
export function inArrivalOrder(batch: SampleBatch): Uint32Array {
  if (batch.count === 1) return ONE;
  const order = Uint32Array.from({ length: batch.count }, (_, i) => i);
  return hasOneRowEach(batch) ? order : sorted(batch, order);
}

function hasOneRowEach({ count, vm, vms }: SampleBatch): boolean {
  const seen = new Uint8Array(vms.length);
  for (let i = 0; i < count; i++) {
    const index = vm[i] ?? 0;
    if (seen[index]) return false;
    seen[index] = 1;
  }
  return true;
}

function sorted(batch: SampleBatch, order: Uint32Array): Uint32Array {
  const { vm, boot, sequence, observedMs, vms, strings } = batch;
  const groupOf = (i: number): number => (vm[i] ?? 0) * strings.length + (boot[i] ?? 0);
  const first = new Float64Array(vms.length * strings.length).fill(Number.POSITIVE_INFINITY);
  for (const i of order) {
    const group = groupOf(i);
    first[group] = Math.min(first[group] ?? 0, observedMs[i] ?? 0);
  }
  return order.sort(
    (a, b) =>
      (vm[a] ?? 0) - (vm[b] ?? 0) ||
      (first[groupOf(a)] ?? 0) - (first[groupOf(b)] ?? 0) ||
      groupOf(a) - groupOf(b) ||
      (sequence[a] ?? 0) - (sequence[b] ?? 0) ||
      (observedMs[a] ?? 0) - (observedMs[b] ?? 0) ||
      a - b,
  );
}
