/** Work within a time limit, on a virtual clock. */
import { test } from 'tap';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { unlessAborted, withDeadline, withinTime } from '../../streams/platform/deadline.ts';

const never = new Promise<string>(() => {});

test('work that ignores its signal is abandoned at its deadline', async (t) => {
  const clock = new VirtualClock(0);
  const limit = { ms: 1_000, reason: () => new Error('too slow') };
  const run = withDeadline(clock, limit, (signal) => unlessAborted(signal, never));
  const rejected = t.rejects(run, { message: 'too slow' });
  await clock.advance(1_000);
  await rejected;
});

test('the caller’s signal also ends the work, and its reason is passed on', async (t) => {
  const clock = new VirtualClock(0);
  const gone = new AbortController();
  const run = withDeadline(clock, { ms: 1_000, signal: gone.signal }, (signal) =>
    unlessAborted(signal, never),
  );
  gone.abort(new Error('the caller disconnected'));
  await t.rejects(run, { message: 'the caller disconnected' });
  const late = unlessAborted(gone.signal, never);
  await t.rejects(late, { message: 'the caller disconnected' }, 'aborted before');
});

test('work that ends in time leaves no wake-up behind', async (t) => {
  const clock = new VirtualClock(0);
  const seen: AbortSignal[] = [];
  const work = (signal: AbortSignal) => {
    seen.push(signal);
    return Promise.resolve('done');
  };
  t.equal(await withDeadline(clock, { ms: 1_000 }, work), 'done');
  t.equal(await withinTime(clock, 1_000, Promise.resolve('done')), 'done');
  await clock.advance(2_000);
  t.same(
    seen.map(({ aborted }) => aborted),
    [false],
  );
});

test('waiting for a promise ends at the deadline', async (t) => {
  const clock = new VirtualClock(0);
  const waited = withinTime(clock, 1_000, never);
  await clock.advance(1_000);
  t.equal(await waited, undefined);
});
