/**
 * The gate of all calls on a virtual clock: how many calls of a project run and wait, which one is
 * next, and that a project's load costs its neighbour one turn. Order is counted in turns, never in
 * time.
 */
import { test } from 'tap';
import { DEFAULT_LIMITS, type ProjectLimits } from '../../actors/platform/project-limits.ts';
import { CALL_CLASSES, type CallClass, classRules } from '../../src/platform/gate/call-classes.ts';
import { FairTurns } from '../../src/platform/gate/fair-queue.ts';
import {
  createProjectGate,
  type Pass,
  type ProjectGate,
  WAITING_CALL_BYTES,
} from '../../src/platform/gate/project-gate.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { START_MS } from '../support/host-in-memory.ts';

const never = new AbortController().signal;
const round = () => new Promise<void>((resolve) => setImmediate(resolve));
const rounds = async (count: number) => {
  for (let i = 0; i < count; i++) await round();
};

/** Calls that run until they are released. */
function heldCalls(gate: ProjectGate) {
  const passes: Pass[] = [];
  const outcomes: string[] = [];
  const start = async (
    project: string,
    { kind = 'call' as CallClass, signal = never, name = 'key', bytes = 0 } = {},
  ) => {
    const index = outcomes.push(`${project} waits`) - 1;
    try {
      passes.push(await gate.enter({ tenant: `projects/${project}`, name }, kind, signal, bytes));
      outcomes[index] = `${project} runs`;
    } catch (error) {
      outcomes[index] = `${project}: ${(error as { reason?: string }).reason ?? error}`;
    }
  };
  const count = (what: string) => outcomes.filter((outcome) => outcome.endsWith(what)).length;
  return { passes, start, count, outcomes };
}

function openGate(change: Partial<ProjectLimits> = {}) {
  const clock = new VirtualClock(START_MS);
  const refusals: string[] = [];
  const gate = createProjectGate({
    clock,
    limits: () => ({ ...DEFAULT_LIMITS, ...change }),
    onRefusal: (limit, kind) => void refusals.push(`${limit} ${kind}`),
  });
  return { clock, gate, refusals };
}

test('LIMIT-08: a project runs 8 calls and queues 64, and further calls are rejected', async (t) => {
  const { clock, gate, refusals } = openGate();
  const { passes, start, count, outcomes } = heldCalls(gate);
  for (let i = 0; i < 73; i++) void start('demo', { name: `key ${i % 2}` });
  await rounds(10);
  t.same([count('runs'), count('waits'), count('TOO_MANY_REQUESTS')], [8, 64, 1]);
  t.equal(outcomes[72], 'demo: TOO_MANY_REQUESTS', 'the last to arrive');
  t.same(gate.counts().call, { running: 8, waiting: 64 });
  t.same(refusals, ['concurrency call']);

  void start('other');
  void start('demo', { kind: 'query' });
  await rounds(3);
  t.equal(outcomes[73], 'other runs', 'another project is not delayed');
  t.equal(outcomes[74], 'demo runs', 'nor is another class');

  passes[0]?.release();
  passes[0]?.release();
  await rounds(2);
  t.same([count('runs'), count('waits')], [11, 63], 'a slot is passed on once');
  t.equal(outcomes[8], 'demo runs', 'to the call that has waited longest');

  await clock.advance(4_999);
  t.equal(count('waits'), 63);
  await clock.advance(1);
  t.same([count('waits'), count('TOO_MANY_REQUESTS')], [0, 64], 'no call waits longer than 5 s');

  for (const { release } of passes) release();
  t.same(gate.counts().call, { running: 0, waiting: 0 });
  for (let i = 0; i < 9; i++) void start('demo', { name: `key ${i % 2}` });
  await rounds(3);
  t.equal(gate.running('projects/demo', 'call'), 8, 'no slot was lost');
});

test('A caller that disconnects leaves the queue, and its slot is free', async (t) => {
  const { gate } = openGate();
  const { passes, start, count, outcomes } = heldCalls(gate);
  const gone = new AbortController();
  for (let i = 0; i < 8; i++) void start('demo', { name: `key ${i % 2}` });
  void start('demo', { signal: gone.signal });
  await rounds(3);
  t.same([count('runs'), count('waits')], [8, 1]);
  gone.abort(new Error('hung up'));
  await round();
  t.equal(outcomes[8], 'demo: Error: hung up');
  t.same(gate.counts().call, { running: 8, waiting: 0 });
  void start('demo', { signal: gone.signal });
  await round();
  t.equal(outcomes[9], 'demo: Error: hung up', 'it does not enter either');
  passes[0]?.release();
  t.equal(gate.running('projects/demo', 'call'), 7);
});

test('streams beyond the project’s limit are rejected without waiting; one caller gets at most half', async (t) => {
  const { gate, refusals } = openGate({ openStreams: 5 });
  const { passes, start, outcomes } = heldCalls(gate);
  const open = async (name: string) => {
    await start('demo', { kind: 'stream', name });
    return outcomes.at(-1);
  };
  const refused = 'demo: TOO_MANY_REQUESTS';
  const seen = [];
  for (const name of ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'c']) seen.push(await open(name));
  const runs = 'demo runs';
  t.same(seen, [runs, runs, runs, refused, runs, runs, refused, refused]);
  t.same(new Set(refusals), new Set(['openStreams stream']));
  passes[0]?.release();
  t.equal(await open('a'), runs, 'an ended one frees its slot');
  t.equal(await open('a'), refused);
});

test('Every class states when to retry, and rejects at some point', async (t) => {
  for (const kind of CALL_CLASSES) {
    const { running, waiting, unit } = classRules[kind].slots({
      ...DEFAULT_LIMITS,
      concurrency: 1,
      openStreams: 2,
    });
    const most = running + (unit === 'calls' ? waiting : waiting / WAITING_CALL_BYTES);
    const { gate } = openGate({ concurrency: 1, openStreams: 2 });
    const enter = () => gate.enter({ tenant: 'projects/demo', name: 'key' }, kind, never);
    const calls = Array.from({ length: most }, () => enter().catch(() => {}));
    const refused = await enter().then(
      () => undefined,
      (error: unknown) => error,
    );
    t.match(refused, {
      reason: 'TOO_MANY_REQUESTS',
      metadata: { class: kind, retryAfterSeconds: /^[1-9]\d*$/ },
    });
    t.ok(calls.length > 0, kind);
  }
});

test('One caller gets half of the running and the waiting slots, and waiting callers take turns', async (t) => {
  const { gate } = openGate();
  const { passes, start, count, outcomes } = heldCalls(gate);
  for (let i = 0; i < 72; i++) void start('demo', { name: 'flood' });
  await rounds(10);
  t.same([count('runs'), count('waits'), count('TOO_MANY_REQUESTS')], [4, 32, 36]);
  for (let i = 0; i < 5; i++) void start('demo', { name: 'owner' });
  await rounds(10);
  t.same(outcomes.slice(72).filter((one) => one === 'demo runs').length, 4, 'the other half');
  void start('demo', { name: 'third' });
  passes[0]?.release();
  await rounds(3);
  passes[1]?.release();
  await rounds(3);
  t.equal(outcomes[77], 'demo runs', 'a third caller waits for at most two calls, not for 32');
});

test('LIMIT-22: Reads wait with 8 MiB of a project and half of it of one key, up to 10 s', async (t) => {
  const { clock, gate, refusals } = openGate();
  const { passes, start, count } = heldCalls(gate);
  for (let i = 0; i < 60; i++) void start('demo', { kind: 'query', bytes: 2_000 });
  await rounds(10);
  t.same([count('runs'), count('waits')], [4, 56], 'the panels of a dashboard, under one key');
  // Beside the panels, half of 8 MiB has room for five.
  const bytes = 512 * 1024;
  for (let i = 0; i < 8; i++) void start('demo', { kind: 'query', bytes });
  await rounds(10);
  t.same([count('waits'), count('TOO_MANY_REQUESTS')], [61, 3]);
  for (let i = 0; i < 20; i++) void start('demo', { kind: 'query', bytes, name: `key ${i}` });
  await rounds(10);
  t.same([count('runs'), count('waits'), count('TOO_MANY_REQUESTS')], [8, 69, 11]);
  t.same(new Set(refusals), new Set(['concurrency query']));
  await clock.advance(9_999);
  t.equal(count('waits'), 69);
  passes[0]?.release();
  await rounds(2);
  t.same([count('runs'), count('waits')], [9, 68]);
  await clock.advance(1);
  t.equal(count('waits'), 0, 'no read waits longer than 10 s');
  void start('demo', { kind: 'query', bytes: 3 * 1024 * 1024 });
  await rounds(2);
  t.equal(count('waits'), 1, 'their memory is free again');
});

test('LIMIT-22: When waiting reads of all projects fill 64 MiB, the largest one is rejected', async (t) => {
  const { gate } = openGate();
  const { start, outcomes } = heldCalls(gate);
  const fill = (project: string) => {
    for (let i = 0; i < 6; i++) {
      const name = `key ${i % 2}`;
      // Two keys, each with all its running slots and half of the waiting ones.
      for (let k = 0; k < 4 && i < 2; k++) void start(project, { kind: 'query', name });
      void start(project, { kind: 'query', name, bytes: 1_300_000 });
    }
  };
  const of = (project: string, what: string) =>
    outcomes.filter((outcome) => outcome.startsWith(project) && outcome.endsWith(what)).length;
  const refused = (project: string) => of(project, 'TOO_MANY_REQUESTS');
  for (let i = 0; i < 8; i++) fill(`flood-${i}`);
  await rounds(40);
  t.equal(refused('flood'), 0, 'eight projects fit');
  const little = (bytes: number) => {
    for (let i = 0; i < 5; i++) void start('little', { kind: 'query', bytes });
  };
  little(4_000_000);
  await rounds(10);
  t.equal(of('little', 'waits'), 1);
  t.ok(refused('flood') > 0 && refused('flood') <= 3, `${refused('flood')} were rejected`);
  t.same(
    [0, 1, 2, 3, 4, 5, 6, 7].map((i) => refused(`flood-${i}`)).sort(),
    [0, 0, 0, 0, 0, 0, 0, 1].map((one, i) => (i > 7 - refused('flood') ? 1 : one)),
    'one of each',
  );
  void start('flood-0', { kind: 'query', name: 'key 9', bytes: 1_300_000 });
  await rounds(2);
  t.equal(
    outcomes.at(-1),
    'flood-0: TOO_MANY_REQUESTS',
    'the largest one is rejected for its own read',
  );
});

test('A lowered or raised concurrency applies to calls that already wait', async (t) => {
  const limits = { ...DEFAULT_LIMITS };
  const gate = createProjectGate({ clock: new VirtualClock(START_MS), limits: () => limits });
  const { passes, start, count } = heldCalls(gate);
  for (let i = 0; i < 20; i++) void start('demo', { name: `key ${i}` });
  await rounds(10);
  t.same([count('runs'), count('waits')], [8, 12]);
  limits.concurrency = 2;
  for (const { release } of passes.slice(0, 6)) release();
  await rounds(5);
  t.equal(gate.running('projects/demo', 'call'), 2, 'no call follows before fewer than two run');
  passes[6]?.release();
  await rounds(5);
  t.equal(gate.running('projects/demo', 'call'), 2);
  t.equal(count('runs'), 9, 'one has followed');
  limits.concurrency = 4;
  passes[7]?.release();
  await rounds(5);
  t.equal(gate.running('projects/demo', 'call'), 4);
});

test('Bodies in flight hold no slot; a caller gets half of their bound, by bytes and count', async (t) => {
  const { gate, refusals } = openGate();
  const takeAll = (name: string, bytes: number) => {
    const held: Pass[] = [];
    try {
      for (;;) held.push(gate.takeBody({ tenant: 'projects/demo', name }, 'call', bytes));
    } catch (error) {
      t.match(error, { reason: 'TOO_MANY_REQUESTS', metadata: { retryAfterSeconds: '2' } });
    }
    return held;
  };
  const flood = takeAll('flood', 1024 * 1024);
  t.equal(flood.length, 16, '16 MiB');
  t.equal(takeAll('many', 100).length, 128);
  t.equal(takeAll('owner', 64 * 1024).length, 112, 'the remainder of 256 bodies');
  t.same(new Set(refusals), new Set(['concurrency call']));
  t.equal(gate.running('projects/demo', 'call'), 0);
  for (const { release } of flood) {
    release();
    release();
  }
  t.equal(takeAll('flood', 1024 * 1024).length, 16, 'released once');
});

test('64 slices of one project cost a neighbour one turn, not 64', async (t) => {
  const turns = new FairTurns(new VirtualClock(START_MS));
  const order: string[] = [];
  const work = async (project: string, slices: number) => {
    for (let i = 0; i < slices; i++) {
      await turns.take(project);
      order.push(project);
    }
  };
  const flood = Array.from({ length: 64 }, () => work('flood', 10));
  await round();
  const before = order.length;
  const neighbour = [work('neighbour', 3), work('third', 1)];
  await Promise.all(neighbour);
  const between = order.slice(before);
  t.ok(between.filter((project) => project === 'flood').length <= 4, between.join(' '));
  await Promise.all(flood);
  t.equal(order.length, 64 * 10 + 4, 'all of them had their turns');
});

test('Turns of a round end when its time is used up', async (t) => {
  let nowMs = 0;
  const turns = new FairTurns({ elapsed: () => nowMs });
  const byRound: number[] = [];
  let inRound = 0;
  const work = async () => {
    await turns.take('demo');
    inRound++;
    nowMs += 5;
  };
  const all = Promise.all(Array.from({ length: 12 }, work));
  let isOver = false;
  void all.then(() => {
    isOver = true;
  });
  while (!isOver) {
    inRound = 0;
    await round();
    byRound.push(inRound);
  }
  t.ok(Math.max(...byRound) <= 2, `5 ms each, 8 ms per round: ${byRound}`);
});

test('A turn is granted at once while no other turn is taken', async (t) => {
  const turns = new FairTurns(new VirtualClock(START_MS));
  let hadTurn = false;
  void turns.take('demo').then(() => {
    hadTurn = true;
  });
  await Promise.resolve();
  t.ok(hadTurn, 'without a round of the event loop');
});
