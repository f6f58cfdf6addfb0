/**
 * Frozen readings: rows with fresh times whose values are bit-identical for hours, while the VM is
 * reported as running. Real sources do that for days. The rows are observations and are reported as
 * such, but readers need to know.
 */
import { GAP_TOLERANCE_MS } from '../entry.ts';
import { VM_STATES } from '../samples/batch.ts';
import type { VmColumns } from '../samples/columns.ts';
import { ABSENCE_SERIES } from './absence-causes.ts';

/** Time without a change after which rows are reported as frozen, ms. */
export const FROZEN_MS = 3_600_000;

const RUNNING = VM_STATES.indexOf('RUNNING');
const UNKNOWN = VM_STATES.indexOf('UNKNOWN');

/** Both inclusive, Unix ms. */
export interface Stretch {
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * Stretches of at least an hour in which the VM ran, rows kept arriving, and no value changed.
 * `columns` must hold all series of the VM; with only some of them, the result is a candidate
 * (`unchangedStretches`). Rows without a value are ignored.
 */
export function frozenStretches(columns: VmColumns): Stretch[] {
  const { timesMs, series } = columns;
  const all = [...series]
    .filter(([key]) => !key.startsWith(ABSENCE_SERIES))
    .map(([, column]) => column);
  const withValues = timesMs.filter((_, i) =>
    all.some((column) => !Number.isNaN(column[i] ?? Number.NaN)),
  );
  return unchangedStretches(columns).flatMap(({ startMs, endMs }) => {
    const rows = withValues.filter((timeMs) => timeMs >= startMs && timeMs <= endMs);
    return longEnough(rows[0] ?? 0, rows.at(-1) ?? 0);
  });
}

/**
 * The same for these series alone. A series missing in a row has not changed: several sources of
 * one VM alternate.
 */
export function unchangedStretches(columns: VmColumns): Stretch[] {
  const { timesMs } = columns;
  const state = lastStates(columns);
  const changed = changes(columns, state);
  const stretches: Stretch[] = [];
  let start = 0;
  for (let i = 1; i <= timesMs.length; i++) {
    if (i < timesMs.length && changed[i] === 0) continue;
    if (state[i - 1] === RUNNING) {
      stretches.push(...longEnough(timesMs[start] ?? 0, timesMs[i - 1] ?? 0));
    }
    start = i;
  }
  return stretches;
}

/** The last reported state at each row: a source inside the guest reports none. */
function lastStates({ state }: VmColumns): Uint8Array {
  let last = UNKNOWN;
  return state.map((code) => {
    if (code !== UNKNOWN) last = code;
    return last;
  });
}

function longEnough(startMs: number, endMs: number): Stretch[] {
  return endMs - startMs >= FROZEN_MS ? [{ startMs, endMs }] : [];
}

/** 1 for each row that differs from the one before it, as far as it has values. */
function changes({ timesMs, vcpus, series }: VmColumns, state: Uint8Array): Uint8Array {
  const changed = new Uint8Array(timesMs.length);
  for (let i = 1; i < timesMs.length; i++) {
    const gapMs = (timesMs[i] ?? 0) - (timesMs[i - 1] ?? 0);
    const before = state[i - 1] ?? UNKNOWN;
    const moved = before !== UNKNOWN && state[i] !== before;
    if (gapMs > GAP_TOLERANCE_MS || moved) changed[i] = 1;
  }
  for (const column of [vcpus, ...series.values()]) {
    let kept = Number.NaN;
    for (let i = 0; i < column.length; i++) {
      const value = column[i] ?? Number.NaN;
      if (Number.isNaN(value) || Object.is(value, kept)) continue;
      kept = value;
      changed[i] = 1;
    }
  }
  return changed;
}
