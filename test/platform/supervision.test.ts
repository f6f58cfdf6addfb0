/** Supervision on a virtual clock: restarts, waits, health, stopping. */
import { test } from 'tap';
import { type Part, supervise } from '../../actors/platform/supervision.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { seededRandom } from '../../streams/platform/random.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
}

function create(parts: Part[]) {
  const clock = new VirtualClock(1_000_000);
  const failures: unknown[] = [];
  const supervision = supervise({
    parts,
    clock,
    random: seededRandom(3),
    onFailure: (part, error) => failures.push([part.name, part.failures, error]),
  });
  return { clock, supervision, failures };
}

test('a failed part is restarted, later each time, while the others keep running', async (t) => {
  const starts: number[] = [];
  const failing: Part = {
    name: 'failing',
    async run() {
      starts.push(clock.now());
      throw new Error('No luck');
    },
  };
  const steady: Part = { name: 'steady', run: untilAborted };
  // The part runs before `create` has returned, so it reads the clock when it runs.
  const clock = new VirtualClock(1_000_000);
  const failures: unknown[] = [];
  const supervision = supervise({
    parts: [failing, steady],
    clock,
    random: seededRandom(3),
    onFailure: (part, error) => failures.push([part.name, part.failures, error]),
  });
  await turn();
  t.match(supervision.health(), [
    { name: 'failing', state: 'restarting', failures: 1, lastError: 'No luck' },
    { name: 'steady', state: 'running', failures: 0, lastError: null, sinceMs: 1_000_000 },
  ]);
  await clock.advance(200_000);
  const waits = starts.slice(1).map((start, i) => start - (starts[i] ?? 0));
  t.ok(
    waits.every((wait, i) => wait >= Math.min(50 * 2 ** i, 15_000) && wait <= 30_000),
    waits.join(),
  );
  t.ok(waits.length < 25, 'not in a hot loop');
  t.match(failures[0], ['failing', 1, { message: 'No luck' }]);
  t.equal(failures.length, starts.length);
  await supervision.stop();
  t.same(
    supervision.health().map((part) => part.state),
    ['stopped', 'stopped'],
  );
});

test('a part that has run well for a minute starts over with short waits', async (t) => {
  let fail = (): void => {};
  const part: Part = {
    name: 'part',
    run: () =>
      new Promise((_, reject) => {
        fail = () => reject(new Error('Late'));
      }),
  };
  const { clock, supervision } = create([part]);
  for (let i = 0; i < 5; i++) {
    fail();
    await turn();
    await clock.advance(5_000);
  }
  t.match(supervision.health(), [{ state: 'running', failures: 5, restarts: 5 }]);
  t.same(
    [supervision.healthOf(part.name), supervision.healthOf('other')],
    [...supervision.health(), undefined],
  );
  await clock.advance(60_000);
  t.match(supervision.health(), [{ failures: 0, restarts: 5, lastError: 'Late' }]);
});

test('a part that ends by itself is restarted', async (t) => {
  const { supervision, failures } = create([{ name: 'short', run: async () => {} }]);
  await turn();
  t.match(supervision.health(), [{ state: 'restarting', lastError: 'short ended by itself' }]);
  t.equal(failures.length, 1);
  await supervision.stop();
});

test('stopping waits for each part, last one first', async (t) => {
  const order: string[] = [];
  const slow = (name: string): Part => ({
    name,
    async run(signal) {
      await untilAborted(signal);
      order.push(`${name} asked`);
      await turn();
      await turn();
      order.push(`${name} ended`);
    },
  });
  const { supervision } = create([slow('first'), slow('second')]);
  await Promise.all([supervision.stop(), turn()]);
  t.same(order, ['second asked', 'second ended', 'first asked', 'first ended']);
  await supervision.stop();
  t.same(
    supervision.health().map((part) => part.state),
    ['stopped', 'stopped'],
  );
});

test('a part that fails while it ends, or never ends, is stopped all the same', async (t) => {
  const { clock, supervision, failures } = create([
    { name: 'hangs', run: () => new Promise(() => {}) },
    {
      name: 'fails',
      async run(signal) {
        await untilAborted(signal);
        throw new Error('At the end');
      },
    },
  ]);
  const stopped = supervision.stop();
  await turn();
  t.match(supervision.health(), [
    { state: 'stopping' },
    { state: 'stopped', lastError: 'At the end' },
  ]);
  await clock.advance(10_000);
  await stopped;
  t.match(supervision.health()[0], { state: 'stopped', lastError: /did not end within/ });
  t.same(failures, [], 'no restart was due');
});
