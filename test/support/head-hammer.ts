/**
 * A thread that reads one VM of a head without a pause and compares each row with its number.
 * Started with `{share, control}`, it counts its reads in `control[1]`, and answers with its
 * findings once `control[0]` is 1.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { HeadReader } from '../../sqlite/telemetry/history/head/head-reader.ts';
import type { HeadShare } from '../../sqlite/telemetry/history/head/memory.ts';
import type { HeadPlace } from '../../sqlite/telemetry/history/head/shared-head.ts';

export interface HammerReport {
  readonly reads: number;
  readonly rows: number;
  readonly faults: readonly string[];
}

const { share, control } = workerData as { share: HeadShare; control: Int32Array };
const reader = new HeadReader(share);
const faults: string[] = [];
let [reads, rows, newest] = [0, 0, 0];

/** Rows are numbered by their time. Every value of a row is its number, in every column. */
function look(place: HeadPlace): void {
  const { timesMs, series, vcpus, boot, strings } = reader.read(place).rows;
  for (const [i, number] of timesMs.entries()) {
    const before = timesMs[i - 1] ?? -1;
    if (number <= before) faults.push(`row ${number} after ${before}`);
    if (vcpus[i] !== number) faults.push(`row ${number} has ${vcpus[i]} vCPUs`);
    if (strings[boot[i] ?? -1] !== `boot ${number % 7}`) faults.push(`row ${number}: boot`);
    let present = 0;
    for (const [key, column] of series) {
      const value = column[i] ?? Number.NaN;
      if (!Number.isNaN(value)) present++;
      if (!Number.isNaN(value) && value !== number) faults.push(`row ${number}: ${key} ${value}`);
    }
    if (present !== 6) faults.push(`row ${number} has ${present} of 6 values`);
  }
  const last = timesMs.at(-1) ?? 0;
  if (last < newest) faults.push(`row ${newest} was stored and has disappeared`);
  newest = last;
  reads++;
  Atomics.store(control, 1, reads);
  rows += timesMs.length;
}

while (Atomics.load(control, 0) === 0 && faults.length < 5) {
  const place = reader.find('demo', 'vm');
  if (place !== undefined) look(place);
}
parentPort?.postMessage({ reads, rows, faults } satisfies HammerReport);
