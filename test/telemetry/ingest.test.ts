/**
 * Ingest on a real stream: rejected rows are named and the rest is stored. An answer means that
 * rows are on disk; without an answer the same batch can be resent.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { pastEntries, SampleLogReader } from '../../actors/telemetry/sample-log.ts';
import type { IngestRow } from '../../actors/vms/sent-row.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import type { SampleBatch } from '../../streams/telemetry/samples/batch.ts';
import {
  type AlertingWorld,
  CPU,
  cpuRow,
  openAlertingWorld,
  PROJECT,
  START_MS,
} from '../support/alerting-on-host.ts';

async function batches(stream: Stream): Promise<SampleBatch[]> {
  const found: SampleBatch[] = [];
  for await (const { entry } of pastEntries(stream, { sequence: 1 })) {
    if (entry.kind === 'batch') found.push(entry.batch);
  }
  return found;
}

/** Stored samples as `vm @ seconds = value`. */
async function stored(stream: Stream): Promise<string[]> {
  return (await batches(stream)).flatMap((batch) =>
    Array.from({ length: batch.count }, (_, i) => {
      const { project, vm } = batch.vms[batch.vm[i] ?? 0] ?? {};
      const at = ((batch.observedMs[i] ?? 0) - START_MS) / 1000;
      const values = batch.values.slice(batch.valueOffset[i], batch.valueOffset[i + 1]);
      return `${project}/${vm} @ ${at} = ${[...values].join()}`;
    }),
  );
}

const write = (world: AlertingWorld, rows: readonly IngestRow[], batchId = '') =>
  world.ingest.write({ project: PROJECT, batchId, rows });

test('API-20: a bad sample is named by row and series, and the rest of the batch is stored', async (t) => {
  const world = await openAlertingWorld(t);
  const free = 'svc_vm_memory_free_bytes';
  const two = (values: number[]) => ({
    ...cpuRow('vm-1', START_MS, 0),
    series: [CPU, free],
    values,
  });
  const week = 7 * 86_400_000;
  const answer = await write(world, [
    cpuRow('vm-1', START_MS - 30_000, 1),
    two([Number.NaN, 2]),
    two([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]),
    cpuRow('vm-1', START_MS + 60_001, 3),
    cpuRow('vm-1', START_MS + 60_000, 4),
    cpuRow('vm-1', START_MS - week - 1, 5),
    cpuRow('vm-1', START_MS - week, 6),
    cpuRow('vm-1', Number.NaN, 7),
  ]);
  t.same(answer.rejected, [
    { row: 1, series: CPU, reason: 'NOT_FINITE' },
    { row: 2, series: CPU, reason: 'NOT_FINITE' },
    { row: 2, series: free, reason: 'NOT_FINITE' },
    { row: 3, series: '', reason: 'CLOCK_AHEAD' },
    { row: 5, series: '', reason: 'OLDER_THAN_RETENTION' },
    { row: 7, series: '', reason: 'NOT_FINITE' },
  ]);
  t.match(answer, { accepted: 4, duplicates: 0 });
  t.same(await stored(world.stream), [
    'demo/vm-1 @ -30 = 1',
    'demo/vm-1 @ 0 = 2',
    'demo/vm-1 @ 0 = ',
    'demo/vm-1 @ 60 = 4',
    'demo/vm-1 @ -604800 = 6',
  ]);
});

test('API-20: a reading beyond 64 bits is rejected; other series are not bounded', async (t) => {
  const world = await openAlertingWorld(t);
  const free = 'svc_vm_memory_free_bytes';
  const series = [CPU, free, 'own_total'];
  const row = (values: number[], at = 0) => ({
    ...cpuRow('vm-1', START_MS + at, 0),
    series,
    values,
  });
  const { rejected } = await write(world, [
    row([2 ** 64, -(2 ** 64), 1e308], -30_000),
    row([2 ** 64 + 4096, 1e308, -1e308]),
  ]);
  t.same(rejected, [
    { row: 1, series: CPU, reason: 'TOO_LARGE' },
    { row: 1, series: free, reason: 'TOO_LARGE' },
  ]);
  t.same(await stored(world.stream), [
    `demo/vm-1 @ -30 = ${2 ** 64},${-(2 ** 64)},1e+308`,
    'demo/vm-1 @ 0 = -1e+308',
  ]);
});

test('a row without a VM, or with too few values, is rejected and the rest is stored', async (t) => {
  const world = await openAlertingWorld(t);
  const good = cpuRow('vm-1', START_MS, 1);
  const { rejected } = await write(world, [{ ...good, values: [1, 2] }, good, { ...good, vm: '' }]);
  t.match(rejected, [
    { row: 0, series: '', reason: 'UNREADABLE', message: /1 series and 2 values/ },
    { row: 2, series: '', reason: 'BAD_VM_NAME' },
  ]);
  t.same(await stored(world.stream), ['demo/vm-1 @ 0 = 1']);
});

test('a resent batch gets the same answer and is stored once; repeated rows are counted', async (t) => {
  const world = await openAlertingWorld(t);
  const rows = [cpuRow('vm-1', START_MS, 1), cpuRow('vm-2', START_MS, Number.NaN)];
  const both = await Promise.all([write(world, rows, 'b-1'), write(world, rows, 'b-1')]);
  t.same(both[0], both[1]);
  t.same(await write(world, rows, 'b-1'), both[0]);
  t.equal((await batches(world.stream)).length, 1);
  t.equal(both[0]?.rejected.length, 1);
  t.match(await write(world, rows, 'b-2'), { duplicates: 2 });
  t.match(await write(world, rows), { duplicates: 2 });
  const elsewhere = { project: 'other', batchId: 'b-1', rows };
  t.match(await world.ingest.write(elsewhere), { duplicates: 0 }, 'ids belong to a project');
});

test('a reused batch id covers the other rows from then on: nothing is discarded', async (t) => {
  const world = await openAlertingWorld(t);
  const row = cpuRow('vm-1', START_MS, 1);
  await write(world, [row], '1');
  const others = [
    { ...row, values: [2] },
    { ...row, observedMs: START_MS + 30_000 },
    { ...row, vm: 'vm-2' },
    { ...row, series: ['svc_vm_memory_free_bytes'] },
    { ...row, state: 0 },
  ];
  for (const [i, other] of others.entries()) {
    t.match(await write(world, [other], '1'), { accepted: 1 });
    t.equal((await stored(world.stream)).length, i + 2);
  }
  const last = others.at(-1) ?? row;
  t.match(await write(world, [{ ...last }], '1'), { accepted: 1 }, 'when resent, it is recognised');
  t.equal((await stored(world.stream)).length, others.length + 1);
});

test('requests that arrive together share an entry; a long one is split', async (t) => {
  const world = await openAlertingWorld(t);
  await write(world, [cpuRow('vm-1', START_MS - 1, 0)]);
  await Promise.all(
    Array.from({ length: 50 }, (_, i) => write(world, [cpuRow('vm-1', START_MS + i, i)])),
  );
  t.same(
    (await batches(world.stream)).map(({ count }) => count),
    [1, 50],
  );
  await world.pass(10);
  const many = Array.from({ length: 10_000 }, (_, i) => cpuRow('vm-1', START_MS + 100 + i, i));
  await write(world, many);
  const sizes = (await batches(world.stream)).map(({ count }) => count).slice(2);
  t.ok(sizes.length > 1 && Math.max(...sizes) < 5_000, String(sizes));
  t.equal((await stored(world.stream)).length, 10_051);
});

test('new VMs and new names are registered once', async (t) => {
  const world = await openAlertingWorld(t);
  const named = (displayName: string) => ({ ...cpuRow('vm-1', START_MS, 1), displayName });
  await write(world, [named('web'), cpuRow('vm-2', START_MS, 1)]);
  const vm = (id: string) => world.host.view(PROJECT).record('vm', id)?.body;
  const facts = {
    datacenter: 'DC-1',
    expandedMonitoring: false,
    registeredMs: START_MS,
    reportedBy: { source: 'this service', turn: 1, sinceMs: START_MS },
    exportShard: 0,
  };
  t.same(vm('vm-1'), { displayName: 'web', ...facts });
  t.same(vm('vm-2'), { displayName: 'vm-2', ...facts });
  const { appliedSequence } = world.host;
  const before = appliedSequence();
  await write(world, [named('web'), named(''), cpuRow('vm-1', START_MS, 1)]);
  t.equal(appliedSequence(), before, 'known VMs cost no commit');
  await world.pass(1_000);
  await write(world, [named('web-2')]);
  t.match(vm('vm-1'), { displayName: 'web-2', registeredMs: START_MS });
  await write(world, [cpuRow('vm-1', START_MS, 1)]);
  t.match(vm('vm-1'), { displayName: 'web-2' }, 'an unreported name keeps the previous one');
  const again = await openAlertingWorld(t, { folder: copyOf(t, world.folder) });
  const known = again.host.appliedSequence();
  await write(again, [named('web-2')]);
  t.equal(again.host.appliedSequence(), known, 'known even after a restart');
  await Promise.all([
    write(world, [cpuRow('vm-9', START_MS, 1)]),
    write(world, [cpuRow('vm-9', START_MS, 2)]),
  ]);
  t.equal(vm('vm-9') !== undefined, true);
});

test('rows beyond the disk queue are refused and can be resent', async (t) => {
  const world = await openAlertingWorld(t);
  const row = cpuRow('vm-1', START_MS, 1);
  await write(world, [row]);
  const many = Array.from({ length: 150_000 }, () => row);
  const results = await Promise.allSettled([write(world, many), write(world, many)]);
  t.match(results, [
    { status: 'fulfilled' },
    { status: 'rejected', reason: { name: 'Refusal', reason: 'TOO_MANY_REQUESTS' } },
  ]);
  t.match(await write(world, many), { accepted: 150_000 }, 'afterwards new rows fit');
});

test('API-20: no batch is acknowledged while the stream is unavailable', async (t) => {
  const world = await openAlertingWorld(t);
  const rows = [cpuRow('vm-1', START_MS, 1)];
  await write(world, rows);
  for (const fault of ['refused', 'unknown'] as const) {
    world.faults.append = ({ stream }) => (stream === 'SAMPLES_0' ? fault : undefined);
    const message = 'The sample log is not responding: send the same batch again';
    const refusal = { name: 'Refusal', reason: 'NOT_READY', message };
    await t.rejects(write(world, rows, fault), refusal);
    world.faults.append = () => undefined;
    await world.pass(10);
    t.match(await write(world, rows, fault), { accepted: 1 }, 'a refused id is not recorded');
  }
});

function copyOf(t: Parameters<typeof openAlertingWorld>[0], folder: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'svc-copy-'));
  cpSync(folder, copy, { recursive: true });
  t.teardown(() => rmSync(copy, { recursive: true }));
  return copy;
}

test('acknowledged rows survive a crash, and missing rows can be resent', async (t) => {
  const world = await openAlertingWorld(t);
  await write(world, [cpuRow('vm-1', START_MS, 1)], 'b-1');
  const crashed = copyOf(t, world.folder);
  await write(world, [cpuRow('vm-1', START_MS + 1_000, 2)], 'b-2');
  const again = await openAlertingWorld(t, { folder: crashed });
  t.same(await stored(again.stream), ['demo/vm-1 @ 0 = 1']);
  t.ok(again.host.view(PROJECT).record('vm', 'vm-1'));
  t.match(await write(again, [cpuRow('vm-1', START_MS + 1_000, 2)], 'b-2'), { accepted: 1 });
  t.equal((await stored(again.stream)).length, 2);
});

test('the reader of the log waits for its handlers, and a stop ends the wait', async (t) => {
  const world = await openAlertingWorld(t);
  for (let i = 0; i < 300; i++) await write(world, [cpuRow('vm-1', START_MS + i, i)]);
  const log = new SampleLogReader(world.clock);
  const ending = new AbortController();
  let read = 0;
  log.entries.subscribe(() => read++);
  const reading = log.run(world.stream, 1, ending.signal);
  await world.settle(600);
  t.equal(read, 257);
  t.equal(log.backlog(), 257);
  log.handled();
  await world.settle();
  t.equal(read, 258);
  ending.abort();
  await reading;
});
