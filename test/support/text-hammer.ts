/**
 * A thread that reads VMs of a head without a pause; the texts of each VM name it. Started with
 * `{share, control}`, it counts its reads in `control[1]`, and answers once `control[0]` is 1.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { HeadReader } from '../../sqlite/telemetry/history/head/head-reader.ts';
import type { HeadShare } from '../../sqlite/telemetry/history/head/memory.ts';
import { HeadColumns } from '../../sqlite/telemetry/history/head/shared-head.ts';

export interface TextReport {
  readonly reads: number;
  readonly texts: number;
  readonly faults: readonly string[];
}

const { share, control } = workerData as { share: HeadShare; control: Int32Array };
const reader = new HeadReader(share);
const columns = new HeadColumns(share);
const faults: string[] = [];
let [reads, texts] = [0, 0];

function check(vm: string, text: string): void {
  texts++;
  if (text !== '' && !text.includes(vm)) faults.push(`${vm} has ${JSON.stringify(text)}`);
}

while (Atomics.load(control, 0) === 0 && faults.length < 5) {
  columns.catchUp({ onVm: (_, vm) => check('vm ', vm), onGone: () => {} });
  for (let n = 0; n < 7; n++) {
    const vm = `vm ${n}`;
    const place = reader.find('demo', vm);
    if (place === undefined) continue;
    const { strings, series } = reader.read(place).rows;
    for (const text of strings) check(vm, text);
    for (const key of series.keys()) check(vm, key);
    const { layout } = columns.cut(place, undefined, () => []);
    for (const key of layout.cells.keys()) check(vm, key);
    reads++;
  }
  Atomics.store(control, 1, reads);
}
parentPort?.postMessage({ reads, texts, faults } satisfies TextReport);
