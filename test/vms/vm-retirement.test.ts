/**
 * Retired VMs: one decision retires a VM, everything else follows from it, and none of it is a
 * recovery. A VM that returns is a new VM.
 */
import { test } from 'tap';
import { recheck } from '../../actors/delivery/audience.ts';
import type { ObservedRow, Reading, Source } from '../../actors/telemetry/collectors/collector.ts';
import { Absences, startCollector } from '../../actors/telemetry/collectors/loop.ts';
import { createIngest } from '../../actors/telemetry/ingest/ingest.ts';
import { PartitionWriter, pastEntries } from '../../actors/telemetry/sample-log.ts';
import type { SenderReach } from '../../actors/vms/sent-row.ts';
import type { VmBody } from '../../actors/vms/vm-directory.ts';
import { VmRegistry } from '../../actors/vms/vm-registry.ts';
import { retireVms } from '../../actors/vms/vm-retirement.ts';
import type { DeliveryContext } from '../../machines/delivery/delivery.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import {
  type AlertingWorld,
  by,
  cpuRow,
  openAlertingWorld,
  PROJECT,
  START_MS,
} from '../support/alerting-on-host.ts';

const retire = (world: Pick<AlertingWorld, 'host'>, vm: string, datacenter?: string) =>
  retireVms(world.host, { project: PROJECT, by, vms: [vm], ...(datacenter && { datacenter }) });

const recordOf = (world: Pick<AlertingWorld, 'host'>, vm: string) =>
  world.host.view(PROJECT).record('vm', vm)?.body as VmBody | undefined;

/** A rule that fires at once on two VMs, saved and evaluated. */
async function firing(t: Parameters<typeof openAlertingWorld>[0]) {
  const world = await openAlertingWorld(t);
  world.startRules();
  const running = await world.startEvaluator();
  const hook = await world.addDestination();
  await world.saveRule({ sustainedSeconds: 0, destinationNames: [hook] });
  await world.until('it is applied', () => world.rule().value === 'active');
  await world.cpu(95, ['vm-1', 'vm-2']);
  await world.until('both fire', () => world.incidents().length === 2);
  return { ...world, ...running };
}

const statesOf = (world: AlertingWorld) =>
  Object.fromEntries(world.incidents().map(({ vm, state }) => [vm, state]));

test('ERR-07: a retired VM ends its alerts as VM_DELETED without a recovery', async (t) => {
  const world = await firing(t);
  await world.pass(30_000);
  await retire(world, 'vm-1');
  const incident = world.incidents().find(({ vm }) => vm === 'vm-1');
  const before = world.deliveries().find((delivery) => delivery.incident === incident?.id);
  const rechecked = () =>
    recheck(world.host.view(PROJECT), before as DeliveryContext, () => true).reason;
  t.equal(rechecked(), 'VM_DELETED');
  await world.until('it is retired', () => statesOf(world)['vm-1'] === 'RETIRED');
  t.same(statesOf(world), { 'vm-1': 'RETIRED', 'vm-2': 'FIRING' });
  t.match(
    world.incidents().find(({ vm }) => vm === 'vm-1'),
    { retireReason: 'VM_DELETED', recoveredMs: null },
  );
  t.equal(rechecked(), 'VM_DELETED');
  t.same(
    world.deliveries().map(({ event }) => event),
    ['FIRING', 'FIRING'],
    'no notification of an end is sent',
  );
  await world.until(
    'the evaluator has the retirement',
    () => world.evaluator.instances(PROJECT).length === 1,
  );
  await world.pass(600_000, 30_000);
  t.equal(world.incidents().length, 2);
  t.equal(statesOf(world)['vm-1'], 'RETIRED');

  const { answer, sequence } = await retire(world, 'vm-1');
  t.same(answer, { retired: [], refused: [] }, 'a second time changes nothing');
  t.equal(recordOf(world, 'vm-1')?.generation, 1);
  t.ok(sequence > 0);
});

test('a later row of the VM registers it again, with new instances', async (t) => {
  const world = await firing(t);
  await world.pass(30_000);
  await retire(world, 'vm-1');
  await world.until('it is retired', () => statesOf(world)['vm-1'] === 'RETIRED');
  const retiredMs = world.clock.now();
  const buffered = cpuRow('vm-1', retiredMs - 10_000, 95);
  await world.ingest.write({ project: PROJECT, batchId: '', rows: [buffered] });
  t.equal(recordOf(world, 'vm-1')?.retiredMs, retiredMs, 'earlier observations are history');
  await world.settle();
  t.equal(world.incidents().length, 2);

  await world.pass(30_000);
  await world.cpu(95, ['vm-1']);
  t.match(recordOf(world, 'vm-1'), { generation: 1, registeredMs: world.clock.now() });
  t.notOk(recordOf(world, 'vm-1')?.retiredMs);
  await world.until('it fires again', () => world.incidents().length === 3);
  const ofVm = world.incidents().filter(({ vm }) => vm === 'vm-1');
  t.same(ofVm.map(({ state }) => state).sort(), ['FIRING', 'RETIRED']);
  const shard = recordOf(world, 'vm-1')?.exportShard;
  t.equal(shard, 0, 'a VM never changes shard');

  const seen = world.incidents();
  await world.stop();
  Object.assign(world, await world.startEvaluator());
  await world.settle(200);
  t.same(world.incidents(), seen, 'a restart changes nothing');
  await world.pass(30_000);
  await world.cpu(10, ['vm-1']);
  await world.until('it recovers', () => world.incidents().some((i) => i.state === 'RECOVERED'));
  t.same(
    world.incidents().filter(({ vm, state }) => vm === 'vm-1' && state === 'RETIRED').length,
    1,
  );

  await world.pass(30_000);
  await retire(world, 'vm-1');
  t.equal(recordOf(world, 'vm-1')?.generation, 2);
});

test('work that a crash interrupted is finished at the next start', async (t) => {
  const world = await openAlertingWorld(t);
  const stopRules = world.startRules();
  const { evaluator } = await world.startEvaluator();
  await world.saveRule({ sustainedSeconds: 0 });
  await world.until('it is applied', () => world.rule().value === 'active');
  await world.cpu(95, ['vm-1', 'vm-2']);
  await world.until('both fire', () => world.incidents().length === 2);
  await stopRules();
  await world.pass(30_000);
  await retire(world, 'vm-1');
  await world.cpu(20, ['vm-1']).catch(() => {});
  await world.settle();
  t.equal(statesOf(world)['vm-1'], 'FIRING', 'it is not done yet, and nothing recovers');
  world.startRules();
  await world.until('it is retired', () => statesOf(world)['vm-1'] === 'RETIRED');
  await world.until('the log reports it', () => evaluator.instances(PROJECT).length === 1);
  const marked: number[] = [];
  for await (const { entry } of pastEntries(world.stream, { sequence: 1 }, { kind: 'rules' })) {
    if (entry.kind === 'rules') for (const one of entry.retired ?? []) marked.push(one.generation);
  }
  t.same(marked, [1]);
});

test('a collector retires only known VMs of its data center', async (t) => {
  const world = await openAlertingWorld(t);
  await world.cpu(10, ['vm-1']);
  t.same((await retire(world, 'vm-1', 'DC-2')).answer, {
    retired: [],
    refused: [{ vm: 'vm-1', reason: 'OTHER_DATACENTER' }],
  });
  t.same((await retire(world, 'vm-7', 'DC-1')).answer, {
    retired: [],
    refused: [{ vm: 'vm-7', reason: 'UNKNOWN_VM' }],
  });
  t.same((await retire(world, 'vm-1', 'DC-1')).answer, { retired: ['vm-1'], refused: [] });
});

test('a retired VM frees its part of the project’s quota', async (t) => {
  const { host, clock, stream } = await openAlertingWorld(t);
  const registry = new VmRegistry({
    host,
    clock,
    datacenter: 'DC-1',
    limits: { of: () => ({ vms: 1 }) },
  });
  const writer = new PartitionWriter({ stream, clock });
  const ingest = createIngest({ clock, writer, registry, onRows() {}, onSamples() {} });
  const write = async (vm: string) => {
    const rows = [cpuRow(vm, clock.now(), 1)];
    return (await ingest.write({ project: PROJECT, batchId: '', rows })).rejected.length;
  };
  t.same([await write('vm-1'), await write('vm-2')], [0, 1]);
  await retire({ host }, 'vm-1');
  await clock.advance(30_000);
  t.same([await write('vm-2'), await write('vm-1')], [0, 1]);
});

test('a rule cannot be created for a retired VM, but one that named it may be edited', async (t) => {
  const world = await openAlertingWorld(t);
  await world.cpu(10, ['vm-1', 'vm-2']);
  const named = { allVms: false, vmNames: [`projects/${PROJECT}/vms/vm-1`] };
  await world.saveRule(named);
  await retire(world, 'vm-1');
  await world.saveRule({ ...named, threshold: 1 });
  const id = '7b0c5a0e-6d2a-4a55-9a53-5a2d6d2f0009';
  await t.rejects(world.saveRule(named, { id }), { name: 'Refusal', reason: 'INVALID_FIELD' });
});

/** Listings of a source that has reported `known`. Other sources may also report each VM. */
function listings(known: readonly string[]) {
  const clock = new VirtualClock(START_MS);
  const absences = new Absences(clock);
  const reported = new Map(known.map((vm) => [vm, Number.NEGATIVE_INFINITY]));
  return {
    clock,
    reported,
    take: (...vms: string[]) => absences.take(new Set(vms), reported),
    gone: (...vms: string[]) => absences.take(new Set(vms), reported).gone,
  };
}

test('a VM is retired after two complete listings without it, a minute apart', async (t) => {
  const { clock, reported, gone } = listings(['a', 'b', 'of-before']);
  t.same(gone('a', 'b', 'of-before'), []);
  await clock.advance(3_600_000);
  t.same(gone('a'), [], 'one listing proves nothing, however old the last one is');
  await clock.advance(30_000);
  t.same(gone('a', 'b'), [], 'one returned');
  await clock.advance(29_999);
  t.same(gone('a'), [], 'less than a minute so far');
  await clock.advance(1);
  t.same(gone('a'), ['of-before'], 'it had been reported before the start');
  t.same(gone('a'), ['of-before'], 'until that is recorded');
  reported.delete('of-before');
  await clock.advance(60_000);
  t.same(gone('a'), ['b']);
  t.same(gone('a', 'b'), []);
});

test('a listing without any known VM retires none, and is doubted', async (t) => {
  const { clock, take } = listings(['a', 'b']);
  t.same(listings([]).take(), { gone: [] }, 'nothing was known');
  for (let minute = 0; minute < 10; minute++) {
    const listed = minute % 2 ? [] : ['new'];
    t.same(take(...listed), { gone: [], doubt: { missing: 2, known: 2 } }, 'empty, or others');
    await clock.advance(60_000);
  }
  t.same(take('a'), { gone: [] }, 'and the minute has not begun');
  await clock.advance(60_000);
  t.same(take(), { gone: [], doubt: { missing: 2, known: 2 } });
  t.same(take('a'), { gone: ['b'] });
});

test('no VM is retired if more than 30 % of the VMs, and at least 5, are missing', async (t) => {
  for (const [known, missing, isDoubted] of [
    [20, 7, true],
    [20, 6, false],
    [16, 5, true],
    [17, 5, false],
    [10, 4, false],
    [100, 30, false],
    [100, 31, true],
  ] as const) {
    const vms = Array.from({ length: known }, (_, i) => `vm-${i}`);
    const { clock, reported, take, gone } = listings(vms);
    const left = vms.slice(missing);
    for (let round = 0; round < 4; round++) {
      const taken = take(...left);
      t.equal(taken.doubt !== undefined, isDoubted, `${missing} of ${known}`);
      t.equal(taken.gone.length, !isDoubted && round >= 2 ? missing : 0);
      await clock.advance(30_000);
    }
    if (!isDoubted) continue;
    for (const vm of vms.slice(1, missing)) reported.delete(vm);
    t.same(gone(...left), [], 'the others are retired manually');
    await clock.advance(60_000);
    t.same(gone(...left), ['vm-0']);
  }
});

test('a VM that another source has reported since it was first missing is not retired', async (t) => {
  const { clock, reported, take, gone } = listings(['a', 'b', 'c']);
  t.same(gone('c'), []);
  await clock.advance(45_000);
  reported.set('a', clock.elapsed());
  await clock.advance(60_000);
  t.same(gone('c'), ['b']);
  reported.delete('b');
  await clock.advance(3_600_000);
  t.same(gone('c'), [], 'a silent VM is not missing');
  reported.set('c', clock.elapsed());
  t.same(take('new'), { gone: [] }, 'all were reported elsewhere: nothing to doubt');
});

/** A source whose listings and faults the test sets. */
class ListedSource implements Source {
  readonly name = 'libvirt';
  reading: Reading = { rows: [], faults: [] };
  read = async () => this.reading;
  close = async () => {};
}

test('the collector retires VMs that its source no longer lists; a fault retires nothing', async (t) => {
  const clock = new VirtualClock(START_MS);
  const source = new ListedSource();
  const retired: string[][] = [];
  const known = new Map(['vm-1', 'vm-2'].map((vm) => [vm, Number.NEGATIVE_INFINITY]));
  let isAvailable = false;
  const collector = startCollector({
    project: PROJECT,
    source,
    clock,
    intervalMs: 30_000,
    onFault: () => {},
    knownVms: () => known,
    sink: {
      observe: async () => {},
      retire: async (_, vms) => {
        if (!isAvailable) throw new Error('no answer');
        retired.push([...vms]);
        for (const vm of vms) known.delete(vm);
      },
    },
  });
  t.teardown(() => collector.stop());
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 30_000) {
      await clock.advance(30_000);
      for (let i = 0; i < 20; i++) await new Promise<void>((resolve) => setImmediate(resolve));
    }
  };
  source.reading = { rows: [], faults: [{ reason: 'SOURCE_FAILED', message: 'down' }] };
  await pass(600_000);
  const rows: ObservedRow[] = [];
  source.reading = { rows, faults: [] };
  await pass(600_000);
  t.same([retired, collector.status().faults], [[], []], 'a missing listing proves nothing');
  source.reading = { rows, faults: [], listed: new Set() };
  await pass(120_000);
  t.match(collector.status(), {
    faultCount: 23,
    faults: [
      { reason: 'LISTING_DOUBTED', times: 4, message: /^2 of 2 known .* vms retire demo VM/ },
    ],
  });
  source.reading = { rows, faults: [], listed: new Set(['vm-2']) };
  await pass(120_000);
  t.same(retired, []);
  t.match(collector.status().faults, [
    { reason: 'SINK_FAILED', message: /not retired: .*no answer/ },
  ]);
  isAvailable = true;
  await pass(30_000);
  t.same(retired, [['vm-1']]);
  await pass(300_000);
  t.same(retired, [['vm-1']], 'once');
});

test('records name the VMs that a source of this node reports', async (t) => {
  const { host, clock, ingest } = await openAlertingWorld(t);
  const rows = [cpuRow('vm-1', clock.now(), 1)];
  const others = [cpuRow('vm-2', clock.now(), 1)];
  await ingest.write({ project: PROJECT, batchId: '', rows: others });
  const reported = () =>
    [...new VmRegistry({ host, clock, datacenter: 'DC-1' }).vmsOf(PROJECT, 'libvirt')].map(
      ([vm]) => vm,
    );
  t.same(reported(), []);
  await ingest.write({ project: PROJECT, batchId: '', source: 'libvirt', rows });
  t.same(reported(), ['vm-1']);
  const sequence = host.appliedSequence();
  await ingest.write({ project: PROJECT, batchId: '', source: 'libvirt', rows });
  t.equal(host.appliedSequence(), sequence, 'reported once');
  await retire({ host }, 'vm-1');
  t.same(reported(), []);
});

test('a node does not retire a VM that another collector reports', async (t) => {
  const { host, clock, stream } = await openAlertingWorld(t);
  const registry = new VmRegistry({ host, clock, datacenter: 'DC-1' });
  const ingest = createIngest({
    clock,
    registry,
    writer: new PartitionWriter({ stream, clock }),
    onRows: () => {},
    onSamples: () => {},
  });
  const report = (source?: 'libvirt', reach?: SenderReach) => {
    const own = cpuRow('vm-1', clock.now(), 1);
    const load = { series: ['svc_vm_load1'], state: 0 };
    const rows = [reach?.vm ? { ...own, ...load } : own];
    const from = { ...(source && { source }), ...(reach && { reach }) };
    return ingest.write({ project: PROJECT, batchId: '', rows, ...from });
  };
  const other: SenderReach = { name: 'host-b', datacenter: 'DC-1', vm: null };
  const heard = () => [...registry.vmsOf(PROJECT, 'libvirt').values()];
  const retireAs = async (source: string) => {
    const sender = { name: source, sources: registry.sources };
    const request = { project: PROJECT, by, vms: ['vm-1'], source, sender };
    return (await retireVms(host, request)).answer;
  };
  await report('libvirt');
  await report(undefined, { ...other, vm: 'vm-1' });
  t.same(heard(), [clock.elapsed()], 'an agent reports');
  const sequence = host.appliedSequence();
  for (let round = 0; round < 10; round++) {
    await clock.advance(30_000);
    await report('libvirt');
    await report(undefined, other);
  }
  t.equal(host.appliedSequence(), sequence, 'both report it: neither takes it from the other');
  await report(undefined, other);
  t.same(heard(), [clock.elapsed()], 'the other one reports');
  t.same((await retireAs('libvirt')).refused, [{ vm: 'vm-1', reason: 'OTHER_SOURCE' }]);
  await clock.advance(30_000);
  await report(undefined, other);
  t.same(heard(), [], 'it has moved to the other one');
  t.same((await retireAs('libvirt')).refused, [{ vm: 'vm-1', reason: 'OTHER_SOURCE' }]);
  t.notOk(recordOf({ host }, 'vm-1')?.retiredMs);
});

test('a late row of a retired VM uses no quota of the project', async (t) => {
  const world = await openAlertingWorld(t);
  const { host, clock } = world;
  const registry = new VmRegistry({
    host,
    clock,
    datacenter: 'DC-1',
    limits: { of: () => ({ vms: 1 }) },
  });
  await world.cpu(20, ['vm-1']);
  const late = cpuRow('vm-1', clock.now(), 20);
  await world.pass(1_000);
  await retire(world, 'vm-1');
  await world.pass(1_000);
  t.equal(registry.overVmLimit(PROJECT, [late]), undefined);
  t.equal(registry.countOf(PROJECT), 0);
  const other = cpuRow('vm-2', clock.now(), 20);
  t.equal(registry.overVmLimit(PROJECT, [other]), undefined, 'another VM uses it');
  t.same(registry.overVmLimit(PROJECT, [cpuRow('vm-3', clock.now(), 20)]), new Set(['vm-3']));
});

test('DUR-28: a VM retired while the clock was ahead is registered when it returns', async (t) => {
  const HOUR_MS = 3_600_000;
  const world = await firing(t);
  world.clock.jump(HOUR_MS);
  await retire(world, 'vm-1');
  await world.until('it is retired', () => statesOf(world)['vm-1'] === 'RETIRED');
  world.clock.jump(-HOUR_MS);
  await world.pass(5_000);
  await world.cpu(95, ['vm-1']);
  t.match(recordOf(world, 'vm-1'), { generation: 1, registeredMs: world.clock.now() });
  t.notOk(recordOf(world, 'vm-1')?.retiredMs);
  await world.until('it fires again', () =>
    world.incidents().some(({ vm, state }) => vm === 'vm-1' && state === 'FIRING'),
  );
});
