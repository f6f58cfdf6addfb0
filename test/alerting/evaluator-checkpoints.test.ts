/**
 * Checkpoints of evaluation on a real host: a restart continues from them, also where the log no
 * longer has what led there, and never from one that does not fit the log or the commits.
 */
import { type Test, test } from 'tap';
import {
  type CheckpointIndex,
  type CheckpointStore,
  Checkpoints,
} from '../../actors/alerting/evaluator/checkpoints.ts';
import { SAMPLES_STREAM } from '../../actors/telemetry/sample-log.ts';
import { tick } from '../../actors/telemetry/ticker.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import { type AlertingWorld, openAlertingWorld, START_MS } from '../support/alerting-on-host.ts';
import { CheckpointsInMemory } from '../support/checkpoints.ts';

const HOUR_MS = 3_600_000;
/** Nothing of the partition has been decided by another member. */
const UNDECIDED = 0;

function checkpointsOf(world: AlertingWorld, store: CheckpointStore, faults: string[] = []) {
  const onFault = (what: string) => void faults.push(what);
  return new Checkpoints({ ...world, store, intervalMs: 30_000, onFault });
}

/** A world with one rule of ten minutes, whose condition holds for the first four of them. */
async function halfWay(t: Test) {
  const world = await openAlertingWorld(t);
  const store = new CheckpointsInMemory();
  const told: string[] = [];
  const member = { isOwner: true };
  const ownership = {
    ...soleOwner,
    owns: () => member.isOwner,
    epochOf: () => (member.isOwner ? 1 : undefined),
    decidedBy: () => UNDECIDED,
  };
  const start = () => {
    const checkpoints = checkpointsOf(world, store, told);
    return world.startEvaluator(undefined, { ownership, checkpoints });
  };
  world.startRules();
  const first = await start();
  await world.saveRule({ sustainedSeconds: 600 });
  await world.until('the rule is applied', () => world.rule().value === 'active');
  world.run((signal) => tick(world, signal));
  await breach(world, 4 * 60_000);
  return { ...world, store, told, start, first, member };
}

type HalfWay = Awaited<ReturnType<typeof halfWay>>;

/** Observes a breaching value every 30 s. */
async function breach(world: AlertingWorld, forMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < forMs; passedMs += 30_000) {
    await world.cpu(95);
    await world.pass(30_000, 15_000);
  }
}

/** Removes everything from the log that no checkpoint needs. */
async function cut(world: HalfWay): Promise<void> {
  const { through, partitions } = (await world.store.index()) as CheckpointIndex;
  const behind = partitions.filter(({ isBehind }) => isBehind);
  const belowSequence = Math.min(through.sequence, ...behind.map(({ at }) => at.sequence));
  await world.stream.truncate({ stream: SAMPLES_STREAM, belowSequence });
}

test('EVAL-25: a restart continues a run whose beginning the log no longer contains', async (t) => {
  const world = await halfWay(t);
  t.ok(world.store.files.size > 0, 'a checkpoint was taken');
  await world.first.stop();
  await cut(world);
  const second = await world.start();
  const { lastSequence } = await world.stream.state(SAMPLES_STREAM);
  t.ok(second.readFrom > 1 && second.readFrom <= lastSequence + 1, 'it reads the rest of the log');
  await breach(world, 7 * 60_000);
  t.match(world.incidents(), [{ state: 'FIRING', startedMs: START_MS }]);
  t.same(world.told, []);
});

test('the same restart without its checkpoint knows only what the log contains', async (t) => {
  const world = await halfWay(t);
  await world.first.stop();
  await cut(world);
  world.store.saved = undefined;
  await world.start();
  await breach(world, 7 * 60_000);
  t.same(world.incidents(), []);
});

test('EVAL-25: a checkpoint is not used with another log, other commits or another format', async (t) => {
  const others: readonly ((index: CheckpointIndex) => CheckpointIndex)[] = [
    (index) => ({ ...index, form: index.form + 1 }),
    (index) => ({ ...index, log: 'another' }),
    (index) => ({ ...index, events: { ...index.events, identity: 'another' } }),
    (index) => ({ ...index, events: { ...index.events, sequence: 10_000 } }),
    (index) => ({ ...index, through: { ...index.through, sequence: 10_000 } }),
    (index) => ({
      ...index,
      through: { ...index.through, storedMs: 1 },
      partitions: index.partitions.map((one) => ({ ...one, at: { ...one.at, storedMs: 1 } })),
    }),
  ];
  const world = await halfWay(t);
  await world.first.stop();
  const { saved } = world.store;
  for (const other of others) {
    world.store.saved = saved;
    world.store.change(other);
    const next = await world.start();
    t.equal(next.readFrom, 1, other.toString());
    await next.stop();
  }
  world.store.saved = saved;
  t.ok((await world.start()).readFrom > 1, 'the unchanged one is used');
});

test('a restarted member still has the edges that their owner has not decided', async (t) => {
  const world = await halfWay(t);
  world.member.isOwner = false;
  await breach(world, 8 * 60_000);
  t.same(world.incidents(), [], 'another member is to decide');
  await world.first.stop();
  await cut(world);
  const second = await world.start();
  t.ok(second.readFrom > 1);
  world.member.isOwner = true;
  await world.pass(30_000, 15_000);
  t.match(world.incidents(), [{ state: 'FIRING', startedMs: START_MS }]);
});

test('a damaged or missing checkpoint of one partition is reported, and the log is read', async (t) => {
  const world = await halfWay(t);
  await world.first.stop();
  for (const damage of [
    (blocks: readonly Uint8Array[]) => blocks.map((block) => block.subarray(0, block.length - 3)),
    () => [],
  ]) {
    for (const [name, blocks] of world.store.files) world.store.files.set(name, damage(blocks));
    const next = await world.start();
    await world.until('its log is read', () => next.evaluator.apart().length === 0);
    t.match(world.told.splice(0), [/^the checkpoint of partition \d+ cannot be used$/]);
    await next.stop();
  }
  await world.start();
  await breach(world, 7 * 60_000);
  t.match(world.incidents(), [{ state: 'FIRING', startedMs: START_MS }], 'from the log');
});

test('a failed checkpoint write affects only the next start', async (t) => {
  const world = await halfWay(t);
  world.store.fault = new Error('the disk is full');
  const before = world.store.saved;
  await breach(world, 7 * 60_000);
  t.match(world.incidents(), [{ state: 'FIRING' }]);
  t.match(world.told, [/could not be written$/]);
  t.equal(world.store.saved, before);
  await world.first.stop();
  world.store.fault = undefined;
  await world.start();
  await world.pass(60_000, 15_000);
  t.match(world.incidents(), [{ state: 'FIRING', startedMs: START_MS }], 'decided once');
});

test('EVAL-25: entries truncated after a partition’s checkpoint are never skipped', async (t) => {
  const world = await halfWay(t);
  await world.first.stop();
  await breach(world, 60_000);
  const { lastSequence } = await world.stream.state(SAMPLES_STREAM);
  await world.stream.truncate({ stream: SAMPLES_STREAM, belowSequence: lastSequence });
  const next = await world.start();
  t.equal(next.readFrom, lastSequence, 'it starts from rows and what the log has');
  await world.pass(4 * HOUR_MS, HOUR_MS);
  t.same(world.incidents(), [], 'a run with a hole has not held for ten minutes');
});
