/** The actor that fires timers, on a virtual clock: order, ownership, faults, outages. */

import { type Test, test } from 'tap';
import type { RunningHost } from '../../actors/platform/host/host.ts';
import { runTimers, type TimersOptions } from '../../actors/platform/host/timers.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import type { DueTimer } from '../../streams/platform/commit/projection.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';
import { COUNTER_RESET_MS } from '../support/counter-machine.ts';
import { add, countingNode } from '../support/counting-node.ts';
import { FaultyLog } from '../support/faulty-stream.ts';

const START_MS = 1_750_000_000_000;

async function startedTimers(
  t: Test,
  options: {
    owns?: (project: string) => boolean;
    /** Throws instead of firing. */
    obstruct?: (timer: DueTimer) => void;
    /** Default: the counter's reset is a delay. */
    delays?: TimersOptions['delays'] & {};
  } = {},
) {
  const clock = new VirtualClock(START_MS);
  const node = countingNode({ stream: new FaultyLog().connect(), clock });
  await node.host.start();
  const fired: string[] = [];
  const faults: string[] = [];
  const host: RunningHost = {
    ...node.host,
    async fireTimer(timer, by) {
      fired.push(`${timer.instance}@${clock.now() - START_MS}`);
      options.obstruct?.(timer);
      return node.host.fireTimer(timer, by);
    },
  };
  const end = new AbortController();
  const { owns = () => true } = options;
  const ownership = { ...soleOwner, owns };
  const onFault = (timer: DueTimer) => void faults.push(timer.instance);
  const found: string[] = [];
  const onSetBack = (count: number, byMs: number) => void found.push(`${count} by ${byMs}`);
  const { delays = { counter: ['xstate.after.quiet.'] } } = options;
  const running = runTimers({ host, clock, ownership, delays, onFault, onSetBack }, end.signal);
  t.teardown(async () => {
    end.abort();
    await running;
    await node.close();
  });
  /** Lets pending work settle, then advances the clock. */
  const pass = async (ms: number): Promise<void> => {
    for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(ms);
  };
  return { host: node.host, clock, pass, fired, faults, found };
}

test('timers fire at their time, in order, and again when set again', async (t) => {
  const { host, pass, fired } = await startedTimers(t);
  await add(host, 'demo', 'a');
  await pass(1000);
  await Promise.all([add(host, 'demo', 'b'), add(host, 'other', 'c')]);
  await pass(COUNTER_RESET_MS - 1001);
  t.same(fired, []);
  await pass(1);
  t.same(fired, ['a@60000']);
  await pass(1000);
  t.same(fired, ['a@60000', 'b@61000', 'c@61000']);
  t.equal(host.view('demo').instance('counter', 'a')?.value, 'zero');
  await add(host, 'demo', 'a');
  await pass(COUNTER_RESET_MS);
  t.equal(fired.at(-1), 'a@121000');
});

test('a calendar set forward makes timers due within seconds', async (t) => {
  const { host, clock, pass, fired } = await startedTimers(t);
  await add(host, 'demo', 'a');
  clock.jump(COUNTER_RESET_MS);
  await pass(5_000);
  t.equal(fired.length, 1);
});

const HOUR_MS = 3_600_000;

test('DUR-28: a delay that began while the clock was ahead ends on time', async (t) => {
  const { host, clock, pass, fired, found } = await startedTimers(t);
  await pass(10);
  clock.jump(HOUR_MS);
  await add(host, 'demo', 'a');
  await pass(6_000);
  clock.jump(-HOUR_MS);
  // The step is noticed within 5 s, and the delay counts from then on.
  await pass(5_000);
  t.match(found, [/^1 by 359\d{4}$/]);
  await pass(COUNTER_RESET_MS - 5_000);
  t.same(fired, []);
  await pass(10_000);
  t.equal(fired.length, 1);
  t.equal(host.view('demo').instance('counter', 'a')?.value, 'zero');
  t.ok((host.view('demo').instance('counter', 'a')?.updatedMs ?? 0) <= clock.now());
  await pass(2 * HOUR_MS);
  t.equal(fired.length, 1, 'once');
});

test('DUR-28: a delay set after the step counts from the present', async (t) => {
  const { host, clock, pass, fired } = await startedTimers(t);
  clock.jump(HOUR_MS);
  await add(host, 'demo', 'a');
  clock.jump(-HOUR_MS);
  await add(host, 'demo', 'a');
  await pass(COUNTER_RESET_MS);
  t.same(fired, [`a@${COUNTER_RESET_MS}`]);
});

test('DUR-28: a calendar time is unchanged, and so is a delay from before the step', async (t) => {
  const { host, clock, pass, fired, found } = await startedTimers(t, { delays: {} });
  await add(host, 'demo', 'b');
  clock.jump(COUNTER_RESET_MS - 1_000);
  await add(host, 'demo', 'a');
  clock.jump(1_000 - COUNTER_RESET_MS);
  await pass(COUNTER_RESET_MS + 10);
  t.same(fired, ['b@60000']);
  await pass(COUNTER_RESET_MS);
  t.same(fired, ['b@60000', 'a@119000']);
  t.same(found, []);
});

test('DUR-28: a program that starts after the step finds the earlier delays', async (t) => {
  const clock = new VirtualClock(START_MS + HOUR_MS);
  const log = new FaultyLog();
  const before = countingNode({ stream: log.connect(), clock });
  await before.host.start();
  await add(before.host, 'demo', 'a');
  await before.close();
  clock.jump(-HOUR_MS);
  const node = countingNode({ stream: log.connect(), clock });
  await node.host.start();
  const end = new AbortController();
  const delays = { counter: ['xstate.after.quiet.'] };
  const options = { host: node.host, clock, ownership: soleOwner, delays, onFault: () => {} };
  const running = runTimers(options, end.signal);
  t.teardown(async () => {
    end.abort();
    await running;
    await node.close();
  });
  await clock.advance(COUNTER_RESET_MS + 5_000);
  for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
  t.equal(node.host.view('demo').instance('counter', 'a')?.value, 'zero');
});

test('only the owner of a project fires its timers', async (t) => {
  const owned = new Set(['other']);
  const { host, pass, fired } = await startedTimers(t, { owns: (project) => owned.has(project) });
  await add(host, 'demo', 'a');
  await add(host, 'other', 'b');
  await pass(COUNTER_RESET_MS);
  t.same(fired, ['b@60000']);
  owned.add('demo');
  await pass(10_000);
  t.equal(fired.length, 2, 'a new owner fires the timers that are due');
});

test('a timer that cannot be fired is reported, and does not delay the others', async (t) => {
  const { host, pass, fired, faults } = await startedTimers(t, {
    obstruct({ instance }) {
      if (instance === 'a') throw new TypeError('A fault of ours');
    },
  });
  await add(host, 'demo', 'a');
  await pass(10);
  await add(host, 'demo', 'b');
  await pass(COUNTER_RESET_MS);
  t.ok(fired.includes('b@60010'), fired.join());
  const before = faults.length;
  t.ok(before >= 1);
  await pass(60_000);
  t.ok(faults.length - before < 8, 'retried with increasing delays');
});

test('a timer waits while the stream does not answer, without a fault', async (t) => {
  let answers = false;
  const { host, pass, fired, faults } = await startedTimers(t, {
    obstruct() {
      if (!answers) throw new StreamUnavailable('No answer', 'unknown');
    },
  });
  await add(host, 'demo', 'a');
  await pass(COUNTER_RESET_MS + 2_000);
  t.ok(fired.length >= 3 && fired.length <= 6, fired.join());
  answers = true;
  await pass(1_000);
  t.equal(host.view('demo').instance('counter', 'a')?.value, 'zero');
  t.same(faults, []);
});
