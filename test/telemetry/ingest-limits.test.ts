/**
 * Limits of ingest: input that exceeds a limit is rejected by name and counted, and known VMs and
 * series continue.
 */
import { test } from 'tap';
import { createIngest } from '../../actors/telemetry/ingest/ingest.ts';
import { IngestLimits, type RowMemory } from '../../actors/telemetry/ingest/ingest-limits.ts';
import { PartitionWriter } from '../../actors/telemetry/sample-log.ts';
import type { IngestRow } from '../../actors/vms/sent-row.ts';
import { VmRegistry } from '../../actors/vms/vm-registry.ts';
import {
  type AlertingWorld,
  cpuRow,
  openAlertingWorld,
  PROJECT,
  START_MS,
} from '../support/alerting-on-host.ts';

const write = (world: AlertingWorld, rows: readonly IngestRow[]) =>
  world.ingest.write({ project: PROJECT, batchId: '', rows });

test('a project at its VM limit gets no new VM, and its VMs are still stored', async (t) => {
  const world = await openAlertingWorld(t);
  const reported: number[] = [];
  const limited = () =>
    createIngest({
      clock: world.clock,
      writer: new PartitionWriter(world),
      registry: new VmRegistry({
        ...world,
        datacenter: 'DC-1',
        limits: { of: () => ({ vms: 2 }) },
      }),
      onRows: () => {},
      onSamples: (_, rejected) => void reported.push(rejected.length),
    });
  const ingest = limited();
  const rows = (...vms: string[]) => ({
    project: PROJECT,
    batchId: '',
    rows: vms.map((vm) => cpuRow(vm, START_MS, 1)),
  });
  const late = { ...cpuRow('vm-1', START_MS + 3_600_000, 1) };
  await ingest.write(rows('vm-1'));
  const both = { ...rows(), rows: [late, ...rows('vm-2', 'vm-3', 'vm-1').rows] };
  t.match(await ingest.write(both), {
    accepted: 2,
    rejected: [
      { row: 0, series: '', reason: 'CLOCK_AHEAD' },
      { row: 2, series: '', reason: 'LIMIT_EXCEEDED' },
    ],
  });
  t.same(reported, [0, 2], 'and counted');
  t.match(await limited().write(rows('vm-4', 'vm-2')), { accepted: 1, rejected: [{ row: 0 }] });
  t.equal(world.host.view(PROJECT).record('vm', 'vm-3'), undefined);
  const elsewhere = { ...rows('vm-3'), project: 'other' };
  t.match(await ingest.write(elsewhere), { accepted: 1 }, 'another project has its own limit');
});

test('a VM has at most 512 series within retention, and existing ones are still stored', async (t) => {
  const world = await openAlertingWorld(t);
  const disk = (i: number) => `svc_vm_disk_read_bytes_total{device="d${i}"}`;
  const disks = (first: number, count: number): IngestRow => {
    const series = Array.from({ length: count }, (_, i) => disk(first + i));
    return { ...cpuRow('vm-1', world.clock.now(), 1), series, values: series.map((_, i) => i) };
  };
  t.match(await write(world, [disks(0, 500)]), { accepted: 500, rejected: [] });
  const more = await write(world, [disks(490, 24), disks(0, 500), disks(600, 1)]);
  t.equal(more.accepted, 10 + 12 + 500);
  t.same(more.rejected, [
    { row: 0, series: disk(512), reason: 'LIMIT_EXCEEDED' },
    { row: 0, series: disk(513), reason: 'LIMIT_EXCEEDED' },
    { row: 2, series: disk(600), reason: 'LIMIT_EXCEEDED' },
  ]);
  const fresh = { ...disks(0, 600), vm: 'vm-2' };
  t.match(await write(world, [fresh]), { accepted: 512 }, 'even in a single row');
  t.match(await write(world, [fresh]), { accepted: 512 });
  await world.clock.advance(8 * 86_400_000);
  t.match(
    await write(world, [disks(600, 12)]),
    { accepted: 12 },
    'a series that ended long ago no longer counts',
  );
});

/** An ingest whose projects have these limits. */
function bounded(world: AlertingWorld, series: number, memory?: RowMemory) {
  const limits = { of: () => ({ vms: 100, series }) };
  const registry = new VmRegistry({ ...world, datacenter: 'DC-1', limits });
  const ingest = createIngest({
    clock: world.clock,
    writer: new PartitionWriter(world),
    registry,
    limits: new IngestLimits(registry, { limits, ...(memory && { memory }) }),
    onRows: () => {},
    onSamples: () => {},
  });
  return (project: string, ...rows: IngestRow[]) => ingest.write({ project, batchId: '', rows });
}

test('a project at its series limit gets no new series; known series and other projects are still stored', async (t) => {
  const world = await openAlertingWorld(t);
  const write = bounded(world, 3);
  const row = (vm: string, ...series: string[]): IngestRow => ({
    ...cpuRow(vm, world.clock.now(), 1),
    series,
    values: series.map(() => 1),
  });
  t.match(await write(PROJECT, row('vm-1', 'a', 'b'), row('vm-2', 'a', 'b')), {
    accepted: 3,
    rejected: [{ row: 1, series: 'b', reason: 'LIMIT_EXCEEDED' }],
  });
  t.match(await write(PROJECT, row('vm-1', 'a', 'b'), row('vm-3', 'a')), { accepted: 2 });
  t.match(await write('other', row('vm-3', 'a', 'b', 'c')), { accepted: 3, rejected: [] });
  await world.clock.advance(8 * 86_400_000);
  await write(PROJECT, row('vm-4'));
  await world.clock.advance(60_000);
  await write(PROJECT, row('vm-4'));
  t.match(
    await write(PROJECT, row('vm-5', 'a', 'b', 'c')),
    { accepted: 3 },
    'series that have expired no longer count',
  );
});

test('a VM with ever new boot ids or reasons is rejected by row, and accepted later', async (t) => {
  const world = await openAlertingWorld(t);
  const write = bounded(world, 1000);
  for (const field of ['boot', 'stateReason'] as const) {
    const row = (i: number, vm = field): IngestRow => ({
      ...cpuRow(vm, world.clock.now() + i, 1),
      [field]: `text ${i}`,
    });
    const many = await write(PROJECT, ...Array.from({ length: 262 }, (_, i) => row(i)));
    const named = field === 'boot' ? 'bootId' : 'stateReason';
    t.equal(many.accepted, 256);
    t.match(many.rejected, Array(6).fill({ series: named, reason: 'LIMIT_EXCEEDED' }));
    t.match(await write(PROJECT, row(63), row(7), row(200, 'neighbour' as never)), {
      accepted: 3,
    });
    await world.clock.advance(2 * 3_600_000 + 1000);
    t.match(await write(PROJECT, row(300)), { accepted: 1 }, 'two hours later it is accepted');
  }
});

test('a project with little memory left accepts nothing new; with none left, it accepts no row', async (t) => {
  const world = await openAlertingWorld(t);
  const used = new Map<string, number>();
  const quota = (project: string) => ({ used: used.get(project) ?? 0, bound: 100, own: 100 });
  const write = bounded(world, 1000, { quota });
  const row = (vm: string, ...series: string[]): IngestRow => ({
    ...cpuRow(vm, world.clock.now(), 1),
    series,
    values: series.map(() => 1),
  });
  t.match(await write(PROJECT, row('vm-1', 'a')), { accepted: 1 });
  used.set(PROJECT, 80);
  t.match(await write(PROJECT, row('vm-1', 'a', 'b'), row('vm-2', 'a')), {
    accepted: 1,
    rejected: [
      { row: 0, series: 'b', reason: 'LIMIT_EXCEEDED' },
      { row: 1, series: '', reason: 'LIMIT_EXCEEDED' },
    ],
  });
  used.set(PROJECT, 90);
  t.match(await write(PROJECT, row('vm-1', 'a')), { accepted: 0, rejected: [{ row: 0 }] });
  t.match(
    await write('other', row('vm-2', 'a')),
    { accepted: 1 },
    'a neighbour has its own memory',
  );
  used.set(PROJECT, 10);
  t.match(await write(PROJECT, row('vm-1', 'a', 'b')), { accepted: 2, rejected: [] });
});

test('a write is refused as a whole if others leave too little memory, and can be resent', async (t) => {
  const world = await openAlertingWorld(t);
  const memory = { used: 80, bound: 100, own: 400 };
  const write = bounded(world, 1000, { quota: () => memory });
  const row = cpuRow('vm-1', world.clock.now(), 1);
  t.match(await write(PROJECT, row), { accepted: 1, rejected: [] }, 'new VMs are accepted');
  memory.used = 95;
  const refusal = await write(PROJECT, row).catch((error: unknown) => error);
  t.match(refusal, {
    reason: 'TOO_MANY_REQUESTS',
    metadata: { limit: 'headBytes', retryAfterSeconds: '15' },
  });
  memory.bound = 400;
  t.match(await write(PROJECT, row), { accepted: 1, rejected: [] }, 'nothing of it is lost');
});
