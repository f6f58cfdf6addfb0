/**
 * The head's memory under load: a thread that reads while rows are appended, inserted, dropped and
 * moved sees only whole rows, and a read that a flush overtakes misses nothing.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { test } from 'tap';
import { Head, targetOf } from '../../../sqlite/telemetry/history/head/head.ts';
import { HeadReader } from '../../../sqlite/telemetry/history/head/head-reader.ts';
import { openHistoryFile } from '../../../sqlite/telemetry/history/history-file.ts';
import { ChunkWriter } from '../../../sqlite/telemetry/history/store/chunk-writer.ts';
import { HistoryView } from '../../../sqlite/telemetry/history/store/history-view.ts';
import { BatchBuilder } from '../../../streams/telemetry/samples/batch.ts';
import type { HammerReport } from '../../support/head-hammer.ts';

/** Long enough for the reader to be overtaken many times. A busy machine needs longer. */
const HAMMER_MS = 1500;
const HAMMER_MS_MAX = 10_000;
const READS_MIN = 200;
const PARTITION = 1;

/** A row in which every value is its number. Its series change every few thousand rows. */
function rowOf(number: number) {
  const kind = Math.floor(number / 3000) % 20;
  const series = Array.from({ length: 6 }, (_, n) => (n < 3 ? `s${n}` : `s${n}{kind="${kind}"}`));
  return {
    project: 'demo',
    vm: 'vm',
    observedMs: number,
    sequence: number,
    vcpus: number,
    boot: `boot ${number % 7}`,
    state: 1,
    stateReason: '',
    series,
    values: series.map(() => number),
  };
}

function appendRow(head: Head, builder: BatchBuilder, number: number, sequence: number): void {
  builder.add(rowOf(number));
  head.append(builder.build(0), { partition: PARTITION, sequence });
}

test('a reader of the head never sees half a row while rows are written at full speed', async (t) => {
  const head = new Head({ flushedSequenceOf: () => 0 });
  const control = new Int32Array(new SharedArrayBuffer(8));
  const entry = new URL('../../support/head-hammer.ts', import.meta.url);
  const worker = new Worker(entry, { workerData: { share: head.share, control } });
  const answer = once(worker, 'message');
  await once(worker, 'online');
  const builder = new BatchBuilder();
  let number = 2;
  let sequence = 0;
  const start = performance.now();
  const isOver = () => {
    const elapsedMs = performance.now() - start;
    return elapsedMs > (Atomics.load(control, 1) < READS_MIN ? HAMMER_MS_MAX : HAMMER_MS);
  };
  for (; !isOver(); number += 2) {
    // Two rows in the wrong order: the second is inserted before the first.
    appendRow(head, builder, number + 1, ++sequence);
    appendRow(head, builder, number, ++sequence);
    const [vm] = head.vms;
    if (number % 300 !== 0 || vm === undefined) continue;
    head.beginFlush([vm]);
    head.endFlush(vm, sequence - 60);
  }
  Atomics.store(control, 0, 1);
  const [report] = (await answer) as [HammerReport];
  t.same(report.faults, []);
  t.ok(
    report.reads >= READS_MIN,
    `${report.reads} reads of ${report.rows} rows during ${number} writes`,
  );
  t.ok(head.bytes.used < 200_000, `memory stays bounded: ${head.bytes.used} bytes`);
  await worker.terminate();
});

test('rows that are flushed and dropped during a read are still part of it', async (t) => {
  const head = new Head({ flushedSequenceOf: () => 0 });
  const path = join(t.testdir(), 'history.db');
  const database = openHistoryFile(path);
  const writer = new ChunkWriter(database, new HeadReader(head.share));
  const view = new HistoryView({ path, head: head.share });
  const builder = new BatchBuilder();
  const flush = () => {
    const vms = head.pending();
    head.beginFlush(vms);
    const targets = vms.map(targetOf);
    for (const { slot, sequence } of writer.flush(targets).flushed) {
      const vm = head.vmAt(slot);
      if (vm !== undefined) head.endFlush(vm, sequence);
      vm?.slab.dropFlushed();
    }
  };
  for (let i = 1; i <= 100; i++) appendRow(head, builder, i, i);
  flush();
  for (let i = 101; i <= 400; i++) appendRow(head, builder, i, i);
  let flushes = 0;
  // Called between two chunks of the read: the moment at which a flush in another thread may
  // commit.
  const overtake = () => {
    if (flushes++ === 0) flush();
    return false;
  };
  const request = { project: 'demo', vm: 'vm', fromMs: 0, toMs: 1e9 };
  const { timesMs } = view.read(request, overtake);
  t.equal(flushes, 1);
  const reader = new HeadReader(head.share);
  const place = reader.find('demo', 'vm');
  t.ok(
    place !== undefined && reader.read(place).rows.timesMs.length < 100,
    'the head has dropped most rows',
  );
  t.same(
    [...timesMs],
    Array.from({ length: 400 }, (_, i) => i + 1),
  );
  view.close();
  database.close();
});
