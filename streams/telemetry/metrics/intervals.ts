/**
 * What the interval between two observations of a counter is worth: its increase over its seconds,
 * where both can be known. Beside `derive.ts`, because these are the rules that resets, gaps,
 * resizes and devices that come and go have to themselves.
 */
import { GAP_TOLERANCE_MS } from '../entry.ts';
import type { SeriesKey } from '../samples/batch.ts';
import type { Derived, InputRow, ObservedRow } from './derive.ts';

/** A reading of the row, NaN when it has none. */
export function read(row: ObservedRow, slot: number): number {
  return slot < 0 ? Number.NaN : (row.values[slot] ?? Number.NaN);
}

/** Seconds between two observations; 0 when no rate may be computed across them. */
export function intervalSeconds(before: InputRow | undefined, after: InputRow): number {
  if (!before) return 0;
  const ms = after.row.observedMs - before.row.observedMs;
  return ms > 0 && ms <= GAP_TOLERANCE_MS ? ms / 1000 : 0;
}

/**
 * The devices' increases, summed. One that is unknown makes the sum unknown: a device that dropped
 * without a boot, that came or that went would count as 0 otherwise, and 0 is a recovery.
 */
export function rateOver(before: InputRow | undefined, after: InputRow, out: Derived): void {
  const seconds = intervalSeconds(before, after);
  if (!before || seconds === 0 || hasGone(before, after)) return;
  const boot = { before: before.row.boot, after: after.row.boot };
  const { slots, keys } = after.input;
  let sum = 0;
  let devices = 0;
  for (let i = 0; i < slots.length; i++) {
    const then = readPaired(before, after, i, keys[i]);
    const now = read(after.row, slots[i] ?? -1);
    if (Number.isNaN(then) && Number.isNaN(now)) continue;
    sum += counterIncrease(then, now, boot);
    devices++;
  }
  if (devices === 0 || Number.isNaN(sum)) return;
  out.numerator = sum;
  out.denominator = seconds;
}

/** Did the earlier row read a device that the later row's layout does not have? */
function hasGone(before: InputRow, after: InputRow): boolean {
  if (before.input === after.input) return false;
  const { keys, slots } = before.input;
  return keys.some(
    (key, i) =>
      !after.input.keys.includes(key) && Number.isFinite(read(before.row, slots[i] ?? -1)),
  );
}

/** The earlier row's reading of the same device; a row with the same layout has it in place. */
function readPaired(
  before: InputRow,
  after: InputRow,
  i: number,
  key: SeriesKey | undefined,
): number {
  if (before.input === after.input) return read(before.row, before.input.slots[i] ?? -1);
  const at = key === undefined ? -1 : before.input.keys.indexOf(key);
  return read(before.row, at < 0 ? -1 : (before.input.slots[at] ?? -1));
}

/** Do the vCPUs told with the two rows differ, with no gap between them? */
export function isResized(before: InputRow | undefined, after: InputRow): boolean {
  if (!before || intervalSeconds(before, after) === 0) return false;
  const difference = after.row.vcpus - before.row.vcpus;
  return Number.isFinite(difference) && difference !== 0;
}

/** Cpu-seconds over interval x vCPUs observed then; NaN where they were not told both times. */
export function utilizationOver(before: InputRow | undefined, after: InputRow, out: Derived): void {
  const seconds = intervalSeconds(before, after);
  if (!before || seconds === 0) return;
  const { vcpus } = after.row;
  if (vcpus !== before.row.vcpus) return;
  const boot = { before: before.row.boot, after: after.row.boot };
  const used = counterIncrease(
    read(before.row, before.input.slots[1] ?? -1),
    read(after.row, after.input.slots[1] ?? -1),
    boot,
  );
  if (Number.isNaN(used) || !(vcpus > 0)) return;
  out.numerator = 100 * used;
  out.denominator = seconds * vcpus;
}

/**
 * Increase of a counter between two observations, NaN when it cannot be known. A drop is a reset:
 * with a boot id known to have changed the counter began at 0 in between, so the increase is the
 * new value. A changed boot id without a drop is ambiguous (did it begin again?) and unknown.
 */
function counterIncrease(
  before: number,
  after: number,
  boot: { readonly before: string; readonly after: string },
): number {
  if (!Number.isFinite(before) || !Number.isFinite(after)) return Number.NaN;
  const booted = boot.before !== '' && boot.after !== '' && boot.before !== boot.after;
  if (after < before) return booted ? after : Number.NaN;
  return booted ? Number.NaN : after - before;
}
