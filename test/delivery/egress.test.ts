/**
 * A member from which no receiver can be reached, on a virtual clock: many tenants decide, a rest
 * gives the place in the queue to others, and the last sender never rests.
 */
import { test } from 'tap';
import { consumeUnlessResting, Egress } from '../../actors/delivery/egress.ts';
import type { ReportedAttempt } from '../../actors/delivery/outcome.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import type { Consumer, Delivery } from '../../streams/platform/stream.ts';

const UNREACHABLE = { kind: 'failed', unknown: false, error: 'The connection failed' } as const;
const BUSY = { ...UNREACHABLE, httpStatus: 503 } as const;
const ACCEPTED = { kind: 'accepted', httpStatus: 200 } as const;

function world() {
  const clock = new VirtualClock(0);
  const others = { send: true };
  const egress = new Egress({ clock, isReplaceable: () => others.send });
  let deliveries = 0;
  const end = (
    destination: number,
    outcome: ReportedAttempt['outcome'],
    { project = `p${destination}`, kind = 'webhook' as ReportedAttempt['kind'] } = {},
  ) =>
    egress.record({
      project,
      delivery: `d${deliveries++}`,
      attempt: 1,
      destination: `${project}/${destination}`,
      kind,
      outcome,
      durationMs: 1,
    });
  return { clock, others, egress, end };
}

test('DUR-30: attempts that reach no receiver make a member rest, and then try again', async (t) => {
  const { clock, egress, end } = world();
  for (let i = 0; i < 4; i++) end(i, UNREACHABLE);
  t.equal(egress.isResting, false);
  end(4, UNREACHABLE);
  t.equal(egress.isResting, true);
  await clock.advance(29_000);
  t.equal(egress.isResting, true);
  await clock.advance(1_000);
  t.equal(egress.isResting, false);
  for (let i = 0; i < 4; i++) end(i, UNREACHABLE);
  t.equal(egress.isResting, false, 'the earlier attempts do not count again');
  end(5, UNREACHABLE);
  t.equal(egress.isResting, true);
  egress.close();
});

test('DUR-30: one receiver, one tenant or one answer never make a member rest', async (t) => {
  const { clock, egress, end } = world();
  for (let i = 0; i < 50; i++) end(1, UNREACHABLE);
  t.equal(egress.isResting, false, 'one receiver');
  for (let i = 0; i < 50; i++) end(i, UNREACHABLE, { project: 'p1' });
  t.equal(egress.isResting, false, 'one tenant with many receivers');
  for (const answer of [BUSY, ACCEPTED, { ...BUSY, kind: 'refused', pauseDestination: false }]) {
    end(2, answer as ReportedAttempt['outcome']);
    for (let i = 0; i < 4; i++) end(i, UNREACHABLE);
    t.equal(egress.isResting, false, 'an answer shows that receivers can be reached');
  }
  for (let i = 0; i < 5; i++) end(i, UNREACHABLE, { kind: 'email' });
  t.equal(egress.isResting, false, 'mails go to one server');
  await clock.advance(60_000);
  end(7, UNREACHABLE);
  t.equal(egress.isResting, false, 'old failures do not count');
});

test('DUR-30: a member rests only while another one sends', async (t) => {
  const { clock, others, egress, end } = world();
  others.send = false;
  for (let i = 0; i < 10; i++) end(i, UNREACHABLE);
  t.equal(egress.isResting, false);
  others.send = true;
  end(10, UNREACHABLE);
  t.equal(egress.isResting, true);
  others.send = false;
  await clock.advance(1_000);
  t.equal(egress.isResting, false, 'it is the only one left');
});

test('DUR-30: a resting member holds no slot of the queue', async (t) => {
  const { clock, egress, end } = world();
  const opened: { isClosed: boolean; give: (number: number) => void }[] = [];
  const messages = await consumeUnlessResting({
    clock,
    egress,
    consume: () => Promise.resolve(queueOf(opened)),
  });
  const taken: number[] = [];
  const reading = (async () => {
    for await (const { sequence } of messages) taken.push(sequence);
  })();
  opened[0]?.give(1);
  await turn();
  for (let i = 0; i < 5; i++) end(i, UNREACHABLE);
  t.match(opened, [{ isClosed: true }]);
  await turn();
  await clock.advance(29_000);
  t.equal(opened.length, 1);
  for (let passed = 0; passed < 1_500; passed += 250) {
    await clock.advance(250);
    await turn();
  }
  t.match(opened, [{ isClosed: true }, { isClosed: false }]);
  opened[1]?.give(2);
  await turn();
  await messages.close();
  await reading;
  t.same(taken, [1, 2]);
  t.match(opened, [{ isClosed: true }, { isClosed: true }]);
});

/** A consumer whose messages the test gives. */
function queueOf(opened: { isClosed: boolean; give: (number: number) => void }[]): Consumer {
  const waiting: number[] = [];
  let wake = () => {};
  const state = {
    isClosed: false,
    give(number: number) {
      waiting.push(number);
      wake();
    },
  };
  opened.push(state);
  return {
    async close() {
      state.isClosed = true;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      while (!state.isClosed) {
        const sequence = waiting.shift();
        if (sequence !== undefined) yield { sequence } as Delivery;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

async function turn(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve));
}
