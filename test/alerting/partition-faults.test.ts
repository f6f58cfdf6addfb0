/**
 * Partitions that are rebuilt apart: a fault in the evaluation of one, or its missing checkpoint,
 * disturbs no other, and changes nothing of what it decides in the end.
 */
import { type Test, test } from 'tap';
import { Checkpoints } from '../../actors/alerting/evaluator/checkpoints.ts';
import type { PartitionFault } from '../../actors/alerting/evaluator/partition-rebuilds.ts';
import { appendEntry, SAMPLES_STREAM } from '../../actors/telemetry/sample-log.ts';
import { tick } from '../../actors/telemetry/ticker.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import { partitionOf, type Stream, StreamUnavailable } from '../../streams/platform/stream.ts';
import type { RulesEntry } from '../../streams/telemetry/entry.ts';
import { openAlertingWorld, PROJECT, RULE, START_MS } from '../support/alerting-on-host.ts';
import { CheckpointsInMemory } from '../support/checkpoints.ts';

const OTHER = 'other';
const FAILING = partitionOf(PROJECT);
/** Interval of samples, ms. */
const STEP_MS = 30_000;

/** Two projects in two partitions, each with a rule, and faults that one of them may have. */
async function twoPartitions(t: Test, { sustainedSeconds = 60 } = {}) {
  const world = await openAlertingWorld(t);
  const faults: PartitionFault[] = [];
  const store = new CheckpointsInMemory();
  const failing = { is: false, error: new Error('planted') as Error };
  const ownership = {
    ...soleOwner,
    /** Asked for each entry with edges. */
    decidedBy(share: number) {
      if (failing.is && share === FAILING) throw failing.error;
      return soleOwner.decidedBy(share);
    },
  };
  const start = (ports: Parameters<typeof world.startEvaluator>[1] = {}) => {
    const deps = { ...world, store, intervalMs: STEP_MS, onFault: () => {} };
    const checkpoints = new Checkpoints(deps);
    const onPartitionFault = (fault: PartitionFault) => void faults.push(fault);
    return world.startEvaluator(undefined, { ownership, checkpoints, onPartitionFault, ...ports });
  };
  world.startRules();
  const running = await start();
  for (const project of [PROJECT, OTHER]) await world.saveRule({ sustainedSeconds }, { project });
  await world.until('the rules are applied', () =>
    [PROJECT, OTHER].every((project) => world.rule(RULE, project).value === 'active'),
  );
  const livenessReport = (partition: number, atMs: number) =>
    running.evaluator.livenessReport(partition, atMs);
  world.run((signal) => tick({ ...world, livenessReport }, signal));
  return {
    ...world,
    faults,
    failing,
    store,
    running,
    async restart(ports?: Parameters<typeof start>[0]) {
      await running.stop();
      Object.assign(running, await start(ports));
    },
    async observe(value: number, count: number) {
      for (let i = 0; i < count; i++) {
        for (const project of [PROJECT, OTHER]) await world.cpu(value, ['vm-1'], project);
        await world.pass(STEP_MS);
      }
    },
  };
}

type World = Awaited<ReturnType<typeof twoPartitions>>;

const FIRING = { state: 'FIRING', startedMs: START_MS };

function statesOf(world: World, project: string): string[] {
  return world.incidents(project).map(({ state }) => state);
}

test('EVAL-25: a faulty partition is rebuilt alone while the others keep deciding', async (t) => {
  t.not(FAILING, partitionOf(OTHER));
  const world = await twoPartitions(t);
  await world.observe(95, 2);
  world.failing.is = true;
  await world.observe(95, 3);
  t.match(world.incidents(OTHER), [FIRING], 'the other partition decided');
  t.same(world.incidents(), []);
  t.match(world.running.evaluator.apart(), [{ partition: FAILING, fault: 'planted' }]);
  const { evaluator } = world.running;
  t.ok(evaluator.throughOf(FAILING) < evaluator.throughOf(partitionOf(OTHER)));
  t.equal(evaluator.throughSequence(), evaluator.throughOf(FAILING), 'its log is kept');
  await world.observe(20, 1);
  t.same(statesOf(world, OTHER), ['RECOVERED']);
  world.failing.is = false;
  await world.pass(120_000, STEP_MS);
  t.same(evaluator.apart(), [], 'it has joined the others');
  t.match(world.incidents(), [{ ...FIRING, state: 'RECOVERED' }]);
  await world.observe(95, 4);
  t.same(
    [statesOf(world, PROJECT), statesOf(world, OTHER)],
    [
      ['RECOVERED', 'FIRING'],
      ['RECOVERED', 'FIRING'],
    ],
  );
  t.same([...new Set(world.faults.map(({ partition }) => partition))], [FAILING]);
});

test('EVAL-25: after repeated faults, a partition is retried with growing delays', async (t) => {
  const world = await twoPartitions(t);
  world.failing.is = true;
  await world.observe(95, 3);
  await world.pass(240_000, STEP_MS);
  const waits = world.faults.map(({ waitMs }) => waitMs / 1_000);
  t.same(waits.slice(0, 8), [1, 2, 4, 8, 16, 32, 60, 60]);
  world.failing.is = false;
  await world.pass(240_000, STEP_MS);
  t.same(world.running.evaluator.apart(), []);
  world.faults.length = 0;
  world.failing.is = true;
  await world.observe(20, 2);
  t.equal(world.faults[0]?.waitMs, 1_000, 'old faults are forgotten');
});

test('an entry that cannot be folded stops its partition and no other, also after a restart', async (t) => {
  const world = await twoPartitions(t);
  await world.observe(95, 1);
  const rule = {
    project: PROJECT,
    rule: RULE,
    evaluationRevision: 9,
    metricId: 'cpu_utilization_pct',
    vms: 5,
  };
  const epoch = soleOwner.epochOf(FAILING);
  const marker = { kind: 'rules', atMs: world.clock.now(), upserts: [rule], removals: [] };
  await appendEntry(world.stream, FAILING, { ...marker, epoch } as unknown as RulesEntry);
  await world.observe(95, 3);
  t.match(world.incidents(OTHER), [FIRING]);
  t.match(world.running.evaluator.apart(), [{ partition: FAILING, fault: /iterable/ }]);
  await world.restart();
  await world.observe(20, 1);
  t.same(statesOf(world, OTHER), ['RECOVERED']);
  t.match(world.running.evaluator.apart(), [{ partition: FAILING }]);
  t.same(world.incidents(), [], 'nothing was decided over the hole');
});

for (const [what, bytes, reason] of [
  ['damaged', [1, 1, 0, 9, 9, 9, 9, 7, 7], /checksum/],
  ['of a newer form', [9, 0, 0, 0, 0], /kind 9/],
] as const) {
  test(`EVAL-25: an entry that is ${what} stops its partition and no other, until it is removed`, async (t) => {
    const world = await twoPartitions(t);
    await world.observe(95, 1);
    let removed = 0;
    const stream = without(world.stream, () => removed);
    await world.restart({ stream });
    const subject = `svc.samples.${FAILING}.rules`;
    const data = Uint8Array.from(bytes);
    const outcome = await world.stream.append({ stream: SAMPLES_STREAM, subject, data });
    if (outcome.kind === 'wrongLastSequence') throw new Error('It was not appended');
    await world.observe(95, 3);
    t.match(world.incidents(OTHER), [FIRING]);
    t.match(world.running.evaluator.apart(), [{ partition: FAILING, fault: reason }]);
    t.match(world.running.evaluator.apart(), [
      { fault: `nats stream rmm SAMPLES_0 ${outcome.sequence}` },
    ]);
    t.same(world.incidents(), [], 'nothing was decided over the hole');
    removed = outcome.sequence;
    await world.pass(120_000, STEP_MS);
    t.same(world.running.evaluator.apart(), []);
    t.match(world.incidents(), [FIRING]);
  });
}

test('EVAL-25: a stop during a rebuild loses nothing of the partition', async (t) => {
  const world = await twoPartitions(t);
  await world.observe(95, 2);
  world.failing.is = true;
  await world.observe(95, 4);
  t.match(world.running.evaluator.apart(), [{ partition: FAILING }]);
  world.failing.is = false;
  await world.restart();
  t.ok(world.running.readFrom > 1, 'from checkpoints');
  await world.observe(95, 1);
  for (const project of [PROJECT, OTHER]) t.match(world.incidents(project), [FIRING], project);
});

test('a stream that does not respond ends the evaluation of all partitions', async (t) => {
  const world = await twoPartitions(t);
  world.failing.error = new StreamUnavailable('No answer', 'refused');
  world.failing.is = true;
  await world.observe(95, 3);
  t.same(world.faults, []);
  await t.rejects(world.running.stop(), StreamUnavailable);
});

/** A stream whose reads lack one entry. */
function without(stream: Stream, removed: () => number): Stream {
  return new Proxy(stream, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== 'read') return typeof value === 'function' ? value.bind(target) : value;
      return (request: Parameters<Stream['read']>[0]) => {
        const read = target.read(request);
        return {
          close: () => read.close(),
          async *[Symbol.asyncIterator]() {
            for await (const message of read) if (message.sequence !== removed()) yield message;
          },
        };
      };
    },
  });
}

/** A stream whose reads of one partition wait until `open`. */
function gated(stream: Stream, partition: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const held = new Proxy(stream, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (name !== 'read') return typeof value === 'function' ? value.bind(target) : value;
      return (request: Parameters<Stream['read']>[0]) => {
        const read = target.read(request);
        if (!request.subject?.startsWith(`svc.samples.${partition}.`)) return read;
        return {
          close: () => read.close(),
          async *[Symbol.asyncIterator]() {
            await promise;
            yield* read;
          },
        };
      };
    },
  });
  return { stream: held, open: resolve };
}

test('EVAL-19, EVAL-25: a partition without its checkpoint is read separately, and outages are judged without it', async (t) => {
  const world = await twoPartitions(t, { sustainedSeconds: 600 });
  await world.observe(95, 6);
  await world.running.stop();
  for (const name of world.store.files.keys()) {
    if (name.startsWith(`${FAILING}-`)) world.store.files.set(name, []);
  }
  const gate = gated(world.stream, FAILING);
  await world.restart({ stream: gate.stream });
  t.ok(world.running.readFrom > 1, 'the others continue from their checkpoints');
  await world.observe(95, 16);
  const { evaluator } = world.running;
  t.match(world.incidents(OTHER), [FIRING], 'the other partition decided');
  t.same(world.incidents(), []);
  t.match(evaluator.apart(), [{ partition: FAILING, fault: undefined }]);
  t.same(evaluator.unjudged(), [FAILING]);
  const nowMs = world.clock.now();
  t.match(evaluator.livenessReport(partitionOf(OTHER), nowMs), { outages: [] });
  t.equal(evaluator.livenessReport(FAILING, nowMs), undefined);
  gate.open();
  await world.until('it has joined', () => evaluator.apart().length === 0);
  t.match(world.incidents(), [FIRING], 'from the log');
  t.same(evaluator.unjudged(), []);
  t.match(evaluator.livenessReport(FAILING, nowMs), { outages: [] });
  t.same(world.faults, []);
});
