/**
 * Whether a data center is stale: only silence makes it stale, and only rows make it live again.
 */
import { type Test, test } from 'tap';
import { createIngest } from '../../actors/telemetry/ingest/ingest.ts';
import { PartitionWriter } from '../../actors/telemetry/sample-log.ts';
import { Datacenters } from '../../actors/vms/datacenters.ts';
import type { IngestRow } from '../../actors/vms/sent-row.ts';
import { VmRegistry } from '../../actors/vms/vm-registry.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { addDatacenterGauges } from '../../src/vms/open-vms.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { cpuRow, openAlertingWorld, PROJECT } from '../support/alerting-on-host.ts';

async function watching(t: Test) {
  const world = await openAlertingWorld(t);
  const lost = { count: 0 };
  const start = () => {
    const onLost = (): void => void lost.count++;
    const datacenters = new Datacenters({
      ...world,
      datacenter: 'DC-1',
      silenceMs: 90_000,
      onLost,
    });
    const stop = world.run((signal) => datacenters.run(['DC-1'], 5_000, signal));
    return { datacenters, stop };
  };
  const row = () => world.host.view('_system').instance('datacenter', 'DC-1');
  return { ...world, start, row, lost };
}

test('a data center is stale after the silence, and live again once it reports', async (t) => {
  const world = await watching(t);
  const { datacenters } = world.start();
  await world.pass(30_000, 5_000);
  datacenters.reported('DC-1');
  const reportedMs = world.clock.now();
  await world.pass(90_000, 5_000);
  t.equal(datacenters.stateOf('DC-1'), 'live');
  t.equal(world.row(), undefined, 'nothing has changed, nothing is committed');
  await world.pass(10_000, 5_000);
  t.equal(datacenters.stateOf('DC-1'), 'stale');
  t.match(world.row(), { context: { silentSinceMs: reportedMs } });
  const committed = world.host.appliedSequence();
  await world.pass(60_000, 5_000);
  t.equal(world.host.appliedSequence(), committed, 'reported once');
  datacenters.reported('DC-1');
  await world.pass(5_000);
  t.match(world.row(), { value: 'live', context: { silentSinceMs: null } });
});

test('a restart is not a report: a stale data center stays stale until rows arrive', async (t) => {
  const world = await watching(t);
  const first = world.start();
  await world.pass(100_000, 5_000);
  t.equal(first.datacenters.stateOf('DC-1'), 'stale');
  await first.stop();
  const { datacenters } = world.start();
  await world.pass(30_000, 5_000);
  t.equal(datacenters.stateOf('DC-1'), 'stale');
  datacenters.reported('DC-1');
  await world.pass(5_000);
  t.equal(datacenters.stateOf('DC-1'), 'live');
});

test('a calendar set forward is not silence, and an outage of the stream is waited out', async (t) => {
  const world = await watching(t);
  const { datacenters } = world.start();
  datacenters.reported('DC-1');
  world.clock.jump(3_600_000);
  await world.pass(10_000, 5_000);
  t.equal(datacenters.stateOf('DC-1'), 'live');
  world.faults.append = () => 'refused';
  await world.pass(200_000, 5_000);
  t.equal(datacenters.stateOf('DC-1'), 'live');
  t.ok(world.lost.count > 0, 'a failed commit is reported');
  world.faults.append = () => undefined;
  await world.pass(20_000, 1_000);
  t.equal(datacenters.stateOf('DC-1'), 'stale');
});

test('a suspended process first reads the rows that arrived in the meantime', async (t) => {
  const world = await openAlertingWorld(t);
  // Timers that fall due during the suspension fire when it ends.
  let stillMs = 0;
  const clock: Clock = {
    now: () => world.clock.now(),
    elapsed: () => world.clock.elapsed(),
    wakeAfter: (ms, wake) => world.clock.wakeAfter(ms + stillMs, wake),
  };
  const datacenters = new Datacenters({
    ...world,
    clock,
    datacenter: 'DC-1',
    silenceMs: 90_000,
    ownership: { owns: () => true },
  });
  world.run((signal) => datacenters.run(['DC-1'], 5_000, signal));
  datacenters.reported('DC-1');
  await world.pass(5_000);
  stillMs = 200_000;
  await world.pass(5_000);
  stillMs = 0;
  await world.pass(200_000);
  t.equal(datacenters.stateOf('DC-1'), 'live', 'its first check after it');
  await world.pass(60_000, 5_000);
  t.equal(datacenters.stateOf('DC-1'), 'live');
  await world.pass(40_000, 5_000);
  t.equal(datacenters.stateOf('DC-1'), 'stale', 'it has listened for a whole silence');
});

test('rows that were all rejected are not a report; a state without a value is', async (t) => {
  const world = await watching(t);
  const { datacenters } = world.start();
  const ingest = createIngest({
    clock: world.clock,
    writer: new PartitionWriter(world),
    registry: new VmRegistry({ ...world, datacenter: 'DC-1' }),
    onRows: datacenters.reported,
    onSamples: () => {},
  });
  const write = (row: IngestRow) => ingest.write({ project: PROJECT, batchId: '', rows: [row] });
  await world.pass(100_000, 5_000);
  const ahead = await write(cpuRow('vm-1', world.clock.now() + 3_600_000, 1));
  t.match(ahead, { accepted: 0, rejected: [{ reason: 'CLOCK_AHEAD' }] });
  await world.pass(5_000);
  t.equal(datacenters.stateOf('DC-1'), 'stale');
  await write({ ...cpuRow('vm-1', world.clock.now(), 1), series: [], values: [] });
  await world.pass(5_000);
  t.equal(datacenters.stateOf('DC-1'), 'live');
});

test('rows at any member keep a data center live, and only one member commits', async (t) => {
  const world = await openAlertingWorld(t);
  const there = new Map([['DC-1', 2_000]]);
  const member = { isOwner: false };
  const datacenters = new Datacenters({
    ...world,
    datacenter: 'DC-1',
    silenceMs: 90_000,
    ownership: { owns: () => member.isOwner },
    heardElsewhere: () => there,
  });
  world.run((signal) => datacenters.run(['DC-1'], 5_000, signal));
  await world.pass(200_000, 5_000);
  t.same(datacenters.ages(), { 'DC-1': 2_000 }, 'as of the last check');
  there.clear();
  await world.pass(200_000, 5_000);
  t.equal(datacenters.stateOf('DC-1'), 'live', 'it detects this and commits nothing');
  datacenters.heardInLog('DC-1', world.clock.now() - 80_000);
  member.isOwner = true;
  await world.pass(5_000);
  t.equal(
    datacenters.stateOf('DC-1'),
    'live',
    'rows in the log, from a member that reported nothing',
  );
  await world.pass(10_000, 5_000);
  t.equal(datacenters.stateOf('DC-1'), 'stale');
  there.set('DC-1', 1_000);
  await world.pass(5_000);
  t.equal(datacenters.stateOf('DC-1'), 'live');
});

test('after a start, nothing is stale until a whole silence has passed, whatever others had received', async (t) => {
  const world = await openAlertingWorld(t);
  // Last reported by a member that accepted rows afterwards, and died.
  const heardElsewhere = () => new Map([['DC-1', 80_000 + world.clock.elapsed()]]);
  const silence = { datacenter: 'DC-1', silenceMs: 90_000, heardElsewhere };
  const datacenters = new Datacenters({ ...world, ...silence, ownership: { owns: () => true } });
  world.run((signal) => datacenters.run(['DC-1'], 5_000, signal));
  await world.pass(85_000, 5_000);
  t.equal(datacenters.stateOf('DC-1'), 'live');
  await world.pass(15_000, 5_000);
  t.equal(datacenters.stateOf('DC-1'), 'stale', 'silent since the start, too');
});

test('a data center has the time of its last reading, or none, and whether it is stale', async (t) => {
  const world = await watching(t);
  const metrics = createMetrics({ clock: world.clock, version: 'test' });
  t.teardown(() => metrics.close());
  const { datacenters } = world.start();
  addDatacenterGauges({ ...world, metrics }, datacenters);
  const displayed = async () => (await metrics.text()).match(/^svc_datacenter.*$/gm);
  const stale = (name: string, is: 0 | 1) => `svc_datacenter_stale{datacenter="${name}"} ${is}`;
  const last = (name: string, ms: number) =>
    `svc_datacenter_last_reading_timestamp_seconds{datacenter="${name}"} ${ms / 1000}`;
  t.same(await displayed(), [stale('DC-1', 0)], 'a start is not a reading');
  datacenters.reported('DC-2');
  const reportedMs = world.clock.now();
  await world.pass(100_000, 5_000);
  t.same(await displayed(), [last('DC-2', reportedMs), stale('DC-1', 1), stale('DC-2', 1)]);
  datacenters.reported('DC-1');
  await world.pass(5_000);
  const againMs = world.clock.now() - 5_000;
  t.same(await displayed(), [
    last('DC-2', reportedMs),
    last('DC-1', againMs),
    stale('DC-1', 0),
    stale('DC-2', 1),
  ]);
});
