/** The order of test files: their shares of the CPU fit the machine, and long files start first. */
import { setImmediate } from 'node:timers/promises';
import { test } from 'tap';
import type { FileTimes } from '../../scripts/test/times.ts';
import { lanesOf, type NextTurn, oneByOne, type Turn } from '../../scripts/test/turns.ts';

const busy: FileTimes = { wallMs: 1_000, cpuMs: 1_000 };

/** Lanes that run files with these times; `starts` lists files in the order of their starts. */
function runOf(times: Readonly<Record<string, FileTimes>>, cores: number) {
  const lanes = lanesOf(Object.keys(times), {
    timesOf: (file) => times[file],
    isJoined: (file) => file.startsWith('joined'),
    cores,
  });
  const running = new Map<string, { readonly turn: Turn; readonly next: NextTurn }>();
  const starts: string[] = [];
  let ended = 0;
  async function lane(next: NextTurn): Promise<void> {
    const turn = await next();
    if (turn === undefined) {
      ended++;
      return;
    }
    starts.push(turn.file);
    running.set(turn.file, { turn, next });
  }
  for (const next of lanes) void lane(next);
  /** Ends a file as its lane does, which then requests another. */
  async function end(file: string): Promise<void> {
    const ending = running.get(file);
    ending?.turn.end();
    running.delete(file);
    if (ending) void lane(ending.next);
    await setImmediate();
    await setImmediate();
  }
  return { starts, running, end, lanes, ended: () => ended };
}

test('every file starts once, the longest first, and then each lane ends', async (t) => {
  const run = runOf(
    {
      short: { wallMs: 100, cpuMs: 100 },
      long: { wallMs: 9_000, cpuMs: 9_000 },
      middle: busy,
    },
    1,
  );
  await setImmediate();
  t.same(run.starts, ['long']);
  await run.end('long');
  await run.end('middle');
  await run.end('short');
  t.same(run.starts, ['long', 'middle', 'short']);
  t.equal(run.ended(), run.lanes.length);
});

test('files that compute run on one core each', async (t) => {
  const run = runOf({ a: busy, b: busy, c: busy }, 2);
  await setImmediate();
  t.same([...run.running.keys()], ['a', 'b']);
  await run.end('b');
  t.same([...run.running.keys()], ['a', 'c']);
});

test('a file that mostly waits runs beside files that compute', async (t) => {
  const waits = { wallMs: 900, cpuMs: 90 };
  const run = runOf({ a: busy, b: busy, c: { ...busy, wallMs: 950 }, waits }, 2);
  await setImmediate();
  t.same([...run.running.keys()].sort(), ['a', 'b', 'waits']);
});

test('a file that needs more than the machine has still runs', async (t) => {
  const run = runOf({ huge: { wallMs: 1_000, cpuMs: 9_000 } }, 1);
  await setImmediate();
  t.same(run.starts, ['huge']);
});

test('the lane that has just finished a file takes the next one', async (t) => {
  const [one, other] = lanesOf(['a', 'b'], { timesOf: () => busy, cores: 1 });
  const first = await one?.();
  const waiting = other?.();
  first?.end();
  const second = await one?.();
  t.equal(second?.file, 'b');
  t.equal(await waiting, undefined);
});

test('files that join the service of a process run in one lane, before its others', async (t) => {
  const waits = { wallMs: 2_000, cpuMs: 200 };
  const run = runOf({ long: waits, other: busy, joined1: busy, joined2: busy }, 2);
  const laneOf = (file: string) => run.running.get(file)?.next;
  await setImmediate();
  t.same([...run.running.keys()].sort(), ['joined1', 'long', 'other']);
  const lane = laneOf('joined1');
  await run.end('other');
  t.notOk(run.running.has('joined2'), 'another lane is free');
  await run.end('joined1');
  t.equal(laneOf('joined2'), lane);
  await run.end('joined2');
  await run.end('long');
  t.equal(run.ended(), run.lanes.length);
});

test('a single lane runs the files in their order', async (t) => {
  const next = oneByOne(['a', 'b']);
  t.same([(await next())?.file, (await next())?.file, await next()], ['a', 'b', undefined]);
});
