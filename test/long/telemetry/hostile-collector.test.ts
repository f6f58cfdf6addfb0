/**
 * A collector key that keeps sending new VMs, boot ids, reasons and series, beside a watched
 * project: that project's new VM is registered, read and evaluated as if the other did not exist.
 * Rows that did not fit into history's memory are read from the log later.
 */

import { test } from 'tap';
import { SamplePipeline } from '../../../actors/alerting/evaluator/sample-pipeline.ts';
import { PROJECT_LIMITS } from '../../../actors/platform/project-limits.ts';
import { createIngest } from '../../../actors/telemetry/ingest/ingest.ts';
import { IngestLimits } from '../../../actors/telemetry/ingest/ingest-limits.ts';
import { PartitionWriter } from '../../../actors/telemetry/sample-log.ts';
import type { IngestRow } from '../../../actors/vms/sent-row.ts';
import { VmRegistry } from '../../../actors/vms/vm-registry.ts';
import { openHistory } from '../../../sqlite/telemetry/history/store/store.ts';
import { soleOwner } from '../../../streams/platform/membership/sole-member.ts';
import { cpuRow, openAlertingWorld, START_MS } from '../../support/alerting-on-host.ts';

const MIB = 2 ** 20;
const ROUNDS = 12;

interface Bounds {
  readonly vms: number;
  readonly series: number;
  readonly headBytes: number;
  /** Memory of the head, for all projects. */
  readonly headBytesMax: number;
}

const SMALL: Bounds = { vms: 1000, series: 5_000, headBytes: MIB, headBytesMax: 8 * MIB };
const DEFAULTS: Bounds = {
  vms: PROJECT_LIMITS.vms.default,
  series: PROJECT_LIMITS.series.default,
  headBytes: PROJECT_LIMITS.headBytes.default,
  headBytesMax: 1024 * MIB,
};

/** Everything from a request to history and evaluator, over the world's log. */
async function openNode(t: Parameters<typeof openAlertingWorld>[0], bounds: Bounds) {
  const world = await openAlertingWorld(t);
  const { host, stream, clock } = world;
  const limits = { of: () => bounds };
  const history = openHistory({
    folder: t.testdir(),
    clock,
    logIdentity: 'log-1',
    background: false,
    headBytesMax: bounds.headBytesMax,
  });
  const room = { headBytes: bounds.headBytes };
  history.boundProjects({ of: () => room });
  const registry = new VmRegistry({ host, clock, datacenter: 'DC-1', limits });
  const ingest = createIngest({
    clock,
    registry,
    writer: new PartitionWriter({ stream, clock }),
    limits: new IngestLimits(registry, { limits, memory: history }),
    onRows: () => {},
    onSamples: () => {},
  });
  const pipeline = new SamplePipeline({
    host,
    stream,
    clock,
    history,
    recovery: history,
    ownership: soleOwner,
  });
  const ending = new AbortController();
  const running = pipeline.run(ending.signal);
  const write = (project: string, rows: readonly IngestRow[]) =>
    ingest.write({ project, batchId: '', rows });
  return {
    world,
    history,
    write,
    room,
    async stop() {
      ending.abort();
      await running;
      await history.close();
    },
  };
}

function hostileRows(round: number, count: number, nowMs: number): IngestRow[] {
  return Array.from({ length: count }, (_, i) => {
    const n = round * count + i;
    const vm = i % 2 === 0 ? `vm-${n}` : 'vm-known';
    const series = [`svc_vm_x{n="${n}"}`];
    const texts = {
      boot: `boot ${n} ${'b'.repeat(150)}`,
      stateReason: `why ${n} ${'r'.repeat(150)}`,
    };
    return { ...cpuRow(vm, nowMs + i, 1), ...texts, series, values: [n] };
  });
}

/** @param rows number in each round of the attack; 0 for no attack */
async function watched(
  t: Parameters<typeof openAlertingWorld>[0],
  { rows: hostile, bounds }: { readonly rows: number; readonly bounds: Bounds },
) {
  const { world, history, write, stop } = await openNode(t, bounds);
  world.startRules();
  await world.saveRule({}, { project: 'neighbour' });
  let rejected = 0;
  const reads: unknown[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    if (hostile > 0) {
      const sent = hostileRows(round, hostile, world.clock.now());
      rejected += (await write('hostile', sent)).rejected.length;
      await world.settle();
    }
    const vms = round < ROUNDS / 2 ? ['old'] : ['old', 'new'];
    const rows = vms.map((vm) => ({
      ...cpuRow(vm, world.clock.now(), 95 + (round % 2)),
      boot: `b ${round % 3}`,
    }));
    // Without the position in the log, which clients get encrypted.
    const { sequence: _, ...answer } = await write('neighbour', rows);
    reads.push(answer);
    await world.settle();
    for (const vm of vms) {
      const read = history.readNow({ project: 'neighbour', vm, fromMs: START_MS, toMs: 8e15 });
      reads.push([vm, [...read.timesMs], [...(read.series.values().next().value ?? [])]]);
      reads.push([...read.boot].map((code) => read.strings[code]));
      reads.push(history.newest('neighbour', vm)?.observedMs);
    }
    reads.push(
      world.host
        .view('neighbour')
        .records('vm', { limit: 10 })
        .items.map(({ id }) => id),
    );
    reads.push(world.incidents('neighbour').map(({ vm }) => vm));
    await world.pass(30_000);
  }
  const { used, bound } = history.quota('hostile');
  const outcome = {
    rejected,
    used,
    bound,
    vms: world.host.view('hostile').records('vm', { limit: 20_000 }).items.length,
    incidents: world.incidents('neighbour').map(({ vm }) => vm),
    missing: history.refused().map(({ project }) => project),
  };
  await stop();
  return { reads, outcome };
}

for (const [name, rows, bounds] of [
  ['small limits', 300, SMALL],
  ['the default limits, with 40 MiB', 8_000, DEFAULTS],
] as const) {
  test(`a hostile key is rejected without effect on its neighbour: ${name}`, async (t) => {
    const alone = await watched(t, { rows: 0, bounds });
    const beside = await watched(t, { rows, bounds });
    t.same(beside.reads, alone.reads, 'the same answers as in a world without the attack');
    const { rejected, used, bound, missing, vms, incidents } = beside.outcome;
    t.same(incidents.toSorted(), ['new', 'old'], 'its rule fires, also for its new VM');
    t.ok(rejected > ROUNDS * rows * 0.5, `${rejected} of its rows and series were rejected`);
    t.ok(vms <= bounds.vms, `${vms} of its VMs are registered`);
    t.ok(used <= bound, `${used} of ${bound} bytes`);
    t.notOk(missing.includes('neighbour'));
  });
}

test('rows that did not fit are read from the log once memory is free', async (t) => {
  const { world, history, write, room, stop } = await openNode(t, SMALL);
  await write('demo', [cpuRow('vm', START_MS, 1)]);
  await world.settle();
  // Acknowledged, but without memory on arrival.
  const written = write('demo', [cpuRow('other', START_MS + 1, 2)]);
  room.headBytes = 1;
  await written.catch(() => {});
  await world.settle();
  const read = () =>
    history.readNow({ project: 'demo', vm: 'other', fromMs: START_MS, toMs: 8e15 });
  t.throws(read, { name: 'HistoryError', reason: 'INCOMPLETE' }, 'an error, not an empty success');
  t.equal(history.stats().incompleteProjects, 1);
  room.headBytes = MIB;
  await world.pass(6_000, 1_000);
  t.equal(history.stats().incompleteProjects, 0, 'without a restart');
  t.same([...read().timesMs], [START_MS + 1]);
  await stop();
});
