/**
 * A log of samples that is a function of the sequence: a reader that knows the last sequence knows
 * every row that history must have. Rows are ten minutes apart, so a day takes 144 batches. Some
 * rows are late, and some series are intermittent.
 */
import { fraction, seededRandom } from '../../streams/platform/random.ts';
import { BatchBuilder, type SampleBatch } from '../../streams/telemetry/samples/batch.ts';

export const LOG_START_MS = Date.UTC(2026, 2, 1);
export const LOG_STEP_MS = 600_000;
export const LOG_PARTITION = 11;
export const LOG_VMS = ['vm-a', 'vm-b', 'vm-c'] as const;
export type LogVm = (typeof LOG_VMS)[number];

/** Number of batches after which a VM's row is left out and arrives with a later one. */
const LATE_EVERY = 7;
const LATE_BY = 3;

/** The batch at a sequence, from 1: at most one timely row and one late row of each VM. */
export function logBatch(sequence: number): SampleBatch {
  const builder = new BatchBuilder();
  for (const [n, vm] of LOG_VMS.entries()) {
    if (!isLate(sequence, n)) builder.add(row(vm, sequence));
    if (sequence > LATE_BY && isLate(sequence - LATE_BY, n)) {
      builder.add(row(vm, sequence - LATE_BY));
    }
  }
  return builder.build(LOG_START_MS + sequence * LOG_STEP_MS);
}

/** Times of all rows of a VM in the batches up to `last`, Unix ms, ascending. */
export function logTimes(vm: LogVm, last: number): number[] {
  const n = LOG_VMS.indexOf(vm);
  const times: number[] = [];
  for (let i = 1; i <= last; i++) {
    if (!isLate(i, n) || i + LATE_BY <= last) times.push(LOG_START_MS + i * LOG_STEP_MS);
  }
  return times;
}

/** Values of a VM's row at a time, by series. */
export function logValues(vm: LogVm, timeMs: number): Record<string, number> {
  const i = Math.round((timeMs - LOG_START_MS) / LOG_STEP_MS);
  const random = seededRandom(i * 31 + LOG_VMS.indexOf(vm));
  const values: Record<string, number> = { exact: i, noise: fraction(random) };
  if (Math.floor(i / 50) % 2 === 0) values[`disk{device="vd${Math.floor(i / 100) % 3}"}`] = i * 512;
  return values;
}

function isLate(sequence: number, vm: number): boolean {
  return (sequence + vm) % LATE_EVERY === 0;
}

function row(vm: LogVm, i: number) {
  const observedMs = LOG_START_MS + i * LOG_STEP_MS;
  const values = logValues(vm, observedMs);
  const meta = { boot: `boot-${Math.floor(i / 500)}`, vcpus: 2, state: 1, stateReason: '' };
  return {
    project: 'demo',
    vm,
    observedMs,
    sequence: i,
    ...meta,
    series: Object.keys(values),
    values: Object.values(values),
  };
}
