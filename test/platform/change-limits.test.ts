/**
 * Limits on changes, tested alone: buckets, the share of a nearly full disk, and the steps that are
 * never rejected. Then a host that counts its commits, also after a restart and beside another
 * member.
 */
import { join } from 'node:path';
import * as fc from 'fast-check';
import { test } from 'tap';
import {
  type ChangeBucket,
  ChangeLimits,
  type DiskState,
  dailyBytesWithin,
  isNeverRefused,
  takeOne,
} from '../../actors/platform/change-limits.ts';
import type { Draft, RecordWrite } from '../../actors/platform/host/host-port.ts';
import { setLimits } from '../../actors/platform/project-limits.ts';
import { createDiskSpace } from '../../src/platform/disk-space.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import type { Actor, InstanceStep } from '../../streams/platform/commit/commit.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { DAY_MS, type StreamWorld, startWorld, tester } from '../support/host-in-memory.ts';
import { submit } from '../support/submit.ts';
import { tries } from '../support/tries.ts';

const MIB = 2 ** 20;
const OPTIONS = { numRuns: tries(200) };

test('LIMIT-23: no sequence of requests exceeds the burst plus the rate', async () => {
  const waits = fc.array(fc.integer({ min: 0, max: 60_000 }), { maxLength: 400 });
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 20 }),
    waits,
    async (perSecond: number, pauses: number[]): Promise<boolean> => {
      let bucket: ChangeBucket = { taken: 0, atMs: 0 };
      let nowMs = 0;
      let taken = 0;
      for (const pauseMs of pauses) {
        nowMs += pauseMs;
        // Several at once, so that buckets do run empty.
        for (let i = 0; i < perSecond * 40; i++) {
          const next = takeOne(bucket, perSecond, nowMs);
          bucket = next.bucket;
          if (next.waitMs === 0) taken++;
          else if (takeOne(bucket, perSecond, nowMs + next.waitMs + 1).waitMs !== 0) return false;
        }
        if (taken > perSecond * (120 + nowMs / 1000) + 0.001) return false;
      }
      return true;
    },
  );
  await fc.assert(property, OPTIONS);
});

test('LIMIT-26: on a nearly full disk the largest writers are rejected first', async () => {
  const bytes = fc.integer({ min: 0, max: 64 * MIB });
  const free = fc.integer({ min: 0, max: 1_200 });
  const property = fc.asyncProperty(
    bytes,
    free,
    free,
    async (daily: number, one: number, other: number): Promise<boolean> => {
      const at = (mib: number) =>
        dailyBytesWithin(daily, { freeBytes: mib * MIB, reserveBytes: 1_000 * MIB });
      const [less, more] = [Math.min(one, other), Math.max(one, other)];
      const isKept = at(more) <= daily && at(less) <= at(more);
      return isKept && (more < 1_000 || at(more) === daily) && (less > 500 || at(less) === 0);
    },
  );
  await fc.assert(property, OPTIONS);
});

const step = (machine: string, type: string, more: object = {}): InstanceStep => ({
  machine,
  instance: 'x',
  version: 1,
  from: 'a',
  to: 'b',
  context: {},
  timers: [],
  final: false,
  event: { type, at: 0, ...more },
});

test('LIMIT-25: steps that end access or acknowledge are recognised', async (t) => {
  const never = [
    [step('credential', 'revoked')],
    [step('serviceAccount', 'disabled'), step('ciConnection', 'accountDisabled')],
    [step('membership', 'removed'), step('credential', 'revoked'), step('delivery', 'init')],
    [step('membership', 'roleChanged', { role: 'VIEWER' })],
    [step('alertInstance', 'acknowledged')],
    [step('destination', 'deleted')],
  ];
  for (const steps of never) t.ok(isNeverRefused(steps), JSON.stringify(steps));
  const counted = [
    [],
    [step('delivery', 'init')],
    [step('serviceAccount', 'enabled')],
    [step('membership', 'roleChanged', { role: 'OWNER' })],
    [step('alertInstance', 'snoozed')],
    [step('alertRule', 'deleted')],
    // A rotation ends one key and creates another.
    [step('credential', 'xstate.init'), step('credential', 'rotated')],
  ];
  for (const steps of counted) t.notOk(isNeverRefused(steps), JSON.stringify(steps));
});

const robot: Actor = { kind: 'key', name: 'projects/demo/keys/k' };
let requests = 0;

/** A change of a record by a caller; its text has `size` characters. */
function change(world: StreamWorld, { by = robot, size = 100, project = 'demo' } = {}) {
  const body = { displayName: 'x'.repeat(size) } as RecordWrite<'project'>['body'];
  return outcome(world, { by, project, decide: (draft) => draft.putRecord(record(body)) });
}

const record = (body: RecordWrite<'project'>['body']) => ({
  kind: 'project' as const,
  id: 'some',
  body,
});

/** `done`, or the reason of the refusal. */
async function outcome(
  { host }: StreamWorld,
  {
    by = robot,
    project = 'demo',
    decide,
  }: {
    by?: Actor;
    project?: string;
    decide: (draft: Draft) => void;
  },
): Promise<string> {
  const request = { scope: by.name, id: `r${requests++}`, fingerprint: '' };
  try {
    const run = (draft: Draft) => {
      decide(draft);
      return {};
    };
    await host.submit({ project, by, request, decide: run });
    return 'done';
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { limit, of = limit } = error.metadata;
    return `${error.reason} ${of}`;
  }
}

const limited = (world: StreamWorld, limits: object) =>
  submit(world.host, { project: 'demo' }, (draft) => ({ ...setLimits(draft, limits) }));

const worldOf = (t: Parameters<typeof startWorld>[0], disk?: () => DiskState, path?: string) =>
  startWorld(t, undefined, {
    ...(path === undefined ? {} : { path }),
    admission: (clock) => new ChangeLimits(disk === undefined ? { clock } : { clock, disk }),
  });

test('LIMIT-23: beyond the burst at most one change per second is committed', async (t) => {
  const world = await worldOf(t);
  await limited(world, { changesPerSecond: 1 });
  const flood = () => Promise.all(Array.from({ length: 200 }, () => change(world)));
  const first = await flood();
  t.equal(first.filter((each) => each === 'done').length, 120, 'the burst');
  t.ok(first.slice(120).every((each) => each === 'TOO_MANY_REQUESTS changesPerSecond'));
  t.equal(await change(world, { by: tester }), 'done', 'an operator is not limited');
  const service: Actor = { kind: 'service', name: 'evaluator' };
  t.equal(await change(world, { by: service }), 'done', 'the service is not limited');
  t.equal(await change(world, { project: 'other' }), 'done', 'another project is not limited');
  await world.clock.advance(3_000);
  t.equal((await flood()).filter((each) => each === 'done').length, 3);
});

test('LIMIT-23: commits of one member are taken from the bucket of another', async (t) => {
  const world = await worldOf(t);
  await limited(world, { changesPerSecond: 1 });
  const limits = new ChangeLimits({ clock: world.clock });
  const beside = await startWorld(t, world, { admission: () => limits });
  limits.countOthers(beside.host, 'beside');
  for (let i = 0; i < 70; i++) await change(world);
  await beside.host.waitFor(world.host.appliedSequence(), new AbortController().signal);
  const answers = [];
  for (let i = 0; i < 60; i++) answers.push(await change(beside));
  t.equal(answers.filter((each) => each === 'done').length, 50, 'its own are counted once');
  t.equal(answers.at(-1), 'TOO_MANY_REQUESTS changesPerSecond');
  const service: Actor = { kind: 'service', name: 'evaluator' };
  t.equal(await change(beside, { by: service }), 'done');
});

test('LIMIT-24: each day has its own limit of bytes', async (t) => {
  const world = await worldOf(t);
  await limited(world, { changeBytesPerDay: 10_000 });
  const size = 4_000;
  const answers = await Promise.all(Array.from({ length: 5 }, () => change(world, { size })));
  t.same(answers.slice(0, 2), ['done', 'done'], 'changes of one batch are counted together');
  const refused = 'LIMIT_EXCEEDED changeBytesPerDay';
  t.same(answers.slice(2), [refused, refused, refused]);
  t.ok(world.host.changeUse('demo').bytes <= 10_000);
  await world.clock.advance(DAY_MS);
  t.same(world.host.changeUse('demo'), { bytes: 0, things: 0 });
  t.equal(await change(world, { size }), 'done');
});

test('LIMIT-24: a restarted or another member continues the day’s count', async (t) => {
  const path = join(t.testdir(), 'control.db');
  let used = 0;
  await t.test('before', async (t) => {
    const world = await worldOf(t, undefined, path);
    await limited(world, { changeBytesPerDay: 5_000 });
    t.equal(await change(world, { size: 4_000 }), 'done');
    used = world.host.changeUse('demo').bytes;
    const beside = await startWorld(t, world);
    await beside.host.waitFor(world.host.appliedSequence(), new AbortController().signal);
    t.same(beside.host.changeUse('demo'), world.host.changeUse('demo'));
  });
  const again = await startWorld(t, undefined, {
    path,
    seed: 43,
    admission: (clock) => new ChangeLimits({ clock }),
  });
  t.equal(again.host.changeUse('demo').bytes, used);
  t.equal(await change(again, { size: 4_000 }), 'LIMIT_EXCEEDED changeBytesPerDay');
});

test('LIMIT-26: a nearly full disk rejects the largest writer first, then all', async (t) => {
  const disk = { freeBytes: 1_000 * MIB, reserveBytes: 500 * MIB };
  const world = await worldOf(t, () => disk);
  await limited(world, { changeBytesPerDay: 10_000 });
  await submit(world.host, { project: 'other' }, (draft) => ({
    ...setLimits(draft, { changeBytesPerDay: 10_000 }),
  }));
  t.equal(await change(world, { size: 5_000 }), 'done');
  t.equal(await change(world, { size: 500, project: 'other' }), 'done');
  disk.freeBytes = 350 * MIB;
  t.equal(await change(world), 'TOO_MANY_REQUESTS diskReserve', 'the largest writer is rejected');
  t.equal(await change(world, { project: 'other' }), 'done');
  disk.freeBytes = 200 * MIB;
  t.equal(await change(world, { project: 'other' }), 'TOO_MANY_REQUESTS diskReserve');
  t.equal(await change(world, { by: tester }), 'done', 'an operator may use the reserve');
  disk.freeBytes = 600 * MIB;
  t.equal(await change(world), 'done', 'accepted after space was freed');
});

test('LIMIT-26: the file system is queried once per second', async (t) => {
  const clock = new VirtualClock(0);
  let requested = 0;
  const statfs = (() => ({ bavail: ++requested, bsize: MIB })) as never;
  const disk = createDiskSpace({ folder: '/d', reserveMib: 2, clock, statfs });
  t.same([disk(), disk()], [disk(), { freeBytes: MIB, reserveBytes: 2 * MIB }]);
  await clock.advance(1_000);
  t.equal(disk().freeBytes, 2 * MIB);
});
