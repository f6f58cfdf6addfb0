/** The order of test files: their shares of the CPU fit the machine, and long files start first. */
import { setImmediate } from 'node:timers/promises';
import { test } from 'tap';
import type { FileTimes } from '../../scripts/test/times.ts';
import { type Lanes, lanesOf, oneByOne, type Turn } from '../../scripts/test/turns.ts';

const busy: FileTimes = { wallMs: 1_000, cpuMs: 1_000 };

/** Lanes that run files with these times; `starts` lists files in the order of their starts. */
function runOf(times: Readonly<Record<string, FileTimes>>, cores: number) {
  const lanes = lanesOf(Object.keys(times), (file) => times[file], cores);
  const running = new Map<string, Turn>();
  const starts: string[] = [];
  let ended = 0;
  async function lane({ next }: Lanes): Promise<void> {
    const turn = await next();
    if (turn === undefined) {
      ended++;
      return;
    }
    starts.push(turn.file);
    running.set(turn.file, turn);
  }
  for (let index = 0; index < lanes.count; index++) void lane(lanes);
  /** Ends a file as its lane does, which then requests another. */
  async function end(file: string): Promise<void> {
    running.get(file)?.end();
    running.delete(file);
    void lane(lanes);
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
  t.equal(run.ended(), run.lanes.count);
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
  const lanes = lanesOf(['a', 'b'], () => busy, 1);
  const first = await lanes.next();
  const waiting = lanes.next();
  first?.end();
  const second = await lanes.next();
  t.equal(second?.file, 'b');
  t.equal(await waiting, undefined);
});

test('a single lane runs the files in their order', async (t) => {
  const next = oneByOne(['a', 'b']);
  t.same([(await next())?.file, (await next())?.file, await next()], ['a', 'b', undefined]);
});
