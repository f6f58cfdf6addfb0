/** What is over a limit of ingest is refused by name and counted; what is known goes on. */
import t from 'tap';
import { createIngest } from '../../actors/ingest.ts';
import type { IngestRow } from '../../actors/ingest-port.ts';
import { PartitionWriter } from '../../actors/partition-writer.ts';
import { VmRegistry } from '../../actors/vm-registry.ts';
import {
  type AlertingWorld,
  cpuRow,
  openAlertingWorld,
  PROJECT,
  START_MS,
} from '../support/alerting-world.ts';

const write = (world: AlertingWorld, rows: readonly IngestRow[]) =>
  world.ingest.write({ project: PROJECT, batchId: '', rows });

t.test('a project has room for so many VMs; those it has go on being stored', async (t) => {
  const world = await openAlertingWorld(t);
  const told: number[] = [];
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
      onSamples: (_, rejected) => void told.push(rejected.length),
    });
  const ingest = limited();
  const rows = (...vms: string[]) => ({
    ...{ project: PROJECT, batchId: '' },
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
  t.same(told, [0, 2], 'and counted');
  t.match(await limited().write(rows('vm-4', 'vm-2')), { accepted: 1, rejected: [{ row: 0 }] });
  t.equal(world.host.view(PROJECT).record('vm', 'vm-3'), undefined);
  const elsewhere = { ...rows('vm-3'), project: 'other' };
  t.match(await ingest.write(elsewhere), { accepted: 1 }, 'another project has its own room');
});

t.test('a VM has room for 512 series within retention; those it has go on', async (t) => {
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
  t.match(await write(world, [fresh]), { accepted: 512 }, 'in a single row too');
  t.match(await write(world, [fresh]), { accepted: 512 });
  await world.clock.advance(8 * 86_400_000);
  t.match(await write(world, [disks(600, 12)]), { accepted: 12 }, 'what is long gone makes room');
});
