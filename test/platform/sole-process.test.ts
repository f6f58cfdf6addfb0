/**
 * One process acts on a set of streams at a time: cases, then a seeded model of suspended, cut off,
 * killed and restarted processes on a virtual clock.
 */
import t from 'tap';
import { type Clock, VirtualClock } from '../../streams/platform/clock.ts';
import { fraction, type Random, seededRandom } from '../../streams/platform/random.ts';
import {
  becomeSoleProcess,
  type SoleProcess,
  StreamsInUse,
} from '../../streams/platform/sole-process.ts';
import { type Append, type Stream, StreamUnavailable } from '../../streams/platform/stream.ts';
import { FaultyLog } from '../support/faulty-stream.ts';

const START_MS = Date.UTC(2026, 10, 1);
/** A process's own time: `rate` of the world's, and nothing of it happens while it is suspended. */
class OwnClock implements Clock {
  isSuspended = false;
  readonly #world: VirtualClock;
  readonly #rate: number;
  #due: (() => void)[] = [];

  constructor(world: VirtualClock, rate = 1) {
    this.#world = world;
    this.#rate = rate;
  }

  // Another host's calendar: whoever compared it would be wrong by an hour.
  now = () => this.#world.now() + this.#rate * 3_600_000;
  elapsed = () => this.#world.elapsed() * this.#rate;

  wakeAfter(delayMs: number, wake: () => void) {
    let isCancelled = false;
    const run = () => {
      if (isCancelled) return;
      if (this.isSuspended) this.#due.push(run);
      else wake();
    };
    const cancel = this.#world.wakeAfter(delayMs / this.#rate, run);
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  resume(): void {
    this.isSuspended = false;
    for (const wake of this.#due.splice(0)) wake();
  }
}

/** A connection that can be cut, and that takes its time: both ways, `delayMs` each. */
function connect(log: FaultyLog, world: VirtualClock, clock: Clock) {
  const inner = log.connect();
  const wire = { isCut: false, losesAnswers: false, delayMs: () => 0 };
  const sleep = (on: Clock, ms: number) =>
    new Promise<void>((resolve) => (ms === 0 ? resolve() : void on.wakeAfter(ms, resolve)));
  const call = async <R>(act: () => Promise<R>): Promise<R> => {
    if (wire.isCut) throw new StreamUnavailable('Not connected', 'refused');
    // On the way it is the network's: a process that is suspended now does not stop it.
    await sleep(world, wire.delayMs());
    const result = await act();
    await sleep(clock, wire.delayMs());
    if (wire.isCut || wire.losesAnswers) throw new StreamUnavailable('No answer', 'unknown');
    return result;
  };
  const stream: Stream = {
    ...{ ensure: (spec) => call(() => inner.ensure(spec)) },
    compare: (spec) => call(() => inner.compare(spec)),
    state: (name) => call(() => inner.state(name)),
    append: (append) => call(() => inner.append(append)),
    read: (options) => inner.read(options),
    consume: (spec) => inner.consume(spec),
    truncate: (options) => inner.truncate(options),
    health: () => inner.health(),
    close: () => inner.close(),
  };
  return { stream, wire };
}

interface Started {
  readonly clock: OwnClock;
  readonly wire: ReturnType<typeof connect>['wire'];
  readonly waits: string[];
  readonly sole: Promise<SoleProcess>;
}

let processes = 0;

function start(log: FaultyLog, world: VirtualClock, more: { lock?: string; rate?: number } = {}) {
  const clock = new OwnClock(world, more.rate);
  const { stream, wire } = connect(log, world, clock);
  const waits: string[] = [];
  const pid = 1_000 + ++processes;
  const sole = becomeSoleProcess({
    ...{ stream, clock, random: seededRandom(pid) },
    self: {
      ...{ host: `host-${pid}`, pid, startedMs: START_MS, dataFolder: `/data/${pid}` },
      publicUrl: 'https://svc.example',
      ...(more.lock !== undefined && { lock: more.lock }),
    },
    where: 'NATS at nats://a:4222',
    onWait: (sentence) => void waits.push(sentence),
  });
  // Whoever awaits it sees why it was refused.
  sole.catch(() => {});
  const started: Started = { clock, wire, waits, sole };
  return { ...started, pid };
}

/** What all that can happen without time passing has come to. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
}

async function pass(world: VirtualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    await world.advance(100);
    await settle();
  }
}

const work: Append = { stream: 'EVENTS', subject: 'svc.work', data: new Uint8Array(1) };

async function setUp() {
  const world = new VirtualClock(START_MS);
  const log = new FaultyLog();
  const first = start(log, world);
  const sole = await first.sole;
  return { world, log, first, sole };
}

t.test('a second process is refused, named, and has written nothing', async (t) => {
  const { world, log, first, sole } = await setUp();
  await pass(world, 30_000);
  const second = start(log, world);
  const before = log.lastSequence;
  await pass(world, 3_000);
  const refused = await second.sole.then(
    () => undefined,
    (error: unknown) => error,
  );
  t.type(refused, StreamsInUse);
  const { message } = refused as Error;
  t.match(message, `NATS at nats://a:4222 is in use by process ${first.pid} on host-${first.pid}`);
  t.match(message, `data folder /data/${first.pid}, https://svc.example`);
  t.match(message, 'Stop that one, or give this one a NATS, or an account of it, of its own');
  t.equal(second.waits.length, 1, 'while it looks, it says what for');
  const texts = log.messages.map(({ data }) => Buffer.from(data).toString());
  t.ok(log.lastSequence > before, 'the first goes on');
  t.notOk(texts.some((text) => text.includes(`host-${second.pid}`)));
  t.match(sole.stream.health(), { state: 'available' });
});

t.test('a stale record ends within 15 s, by the newcomer’s own watch', async (t) => {
  const { world, log, first } = await setUp();
  await pass(world, 5_000);
  first.clock.isSuspended = true;
  const second = start(log, world);
  await pass(world, 11_900);
  t.equal(await Promise.race([second.sole, 'waiting']), 'waiting');
  await pass(world, 1_100);
  const sole = await second.sole;
  await sole.stream.append(work);
  t.match(second.waits[0], /was last used by process \d+ on host-\d+ .* waits up to 12 s/);
});

t.test('a process that was suspended does nothing before it has looked', async (t) => {
  const { world, log, first, sole } = await setUp();
  await pass(world, 5_000);
  first.clock.isSuspended = true;
  const second = start(log, world);
  await pass(world, 20_000);
  const next = await second.sole;
  // Not even what it does first of all when it goes on: no timer of it has run yet.
  await t.rejects(sole.stream.append(work), {
    outcome: 'refused',
    message: /may have been replac/,
  });
  t.match(sole.stream.health(), { state: 'unavailable' });
  first.clock.resume();
  await pass(world, 2_500);
  t.match((await sole.lost).message, `taken over by process ${second.pid} on host-${second.pid}`);
  await t.rejects(sole.stream.append(work), /taken over/);
  t.match(next.stream.health(), { state: 'available' });
});

t.test('a process that stops lets go: the next one need not wait', async (t) => {
  const { world, log, sole } = await setUp();
  await sole.release();
  await t.rejects(sole.stream.append(work), StreamUnavailable);
  const second = start(log, world);
  await (await second.sole).stream.append(work);
  t.same(second.waits, []);
});

t.test('the record of a process that has certainly ended is not waited for', async (t) => {
  const world = new VirtualClock(START_MS);
  const log = new FaultyLog();
  const first = start(log, world, { lock: 'boot 1, file 7' });
  await first.sole;
  first.clock.isSuspended = true;
  const other = start(log, world, { lock: 'boot 1, file 8' });
  await pass(world, 1_000);
  t.equal(other.waits.length, 1, 'another lock says nothing');
  const restarted = start(log, world, { lock: 'boot 1, file 7' });
  await restarted.sole;
  t.same(restarted.waits, []);
  await pass(world, 1_000);
  await t.rejects(other.sole, StreamsInUse, 'who was watching sees that one');
});

t.test('of two that come to a stale record at once, one takes over', async (t) => {
  const { world, log, first } = await setUp();
  first.clock.isSuspended = true;
  const both = [start(log, world), start(log, world)];
  await pass(world, 13_000);
  const outcomes = await Promise.allSettled(both.map(({ sole }) => sole));
  t.same(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  const lost = outcomes.find((outcome) => outcome.status === 'rejected');
  t.type(lost?.reason, StreamsInUse);
});

t.test('who could not look has not watched: after an election the holder goes on', async (t) => {
  const { world, log, first, sole } = await setUp();
  first.wire.isCut = true;
  const second = start(log, world);
  await settle();
  second.wire.delayMs = () => 6_500;
  await pass(world, 13_000);
  second.wire.delayMs = () => 0;
  await pass(world, 1_000);
  first.wire.isCut = false;
  await pass(world, 3_000);
  await t.rejects(second.sole, StreamsInUse);
  t.match(sole.stream.health(), { state: 'available' });
});

t.test('an outage: nothing is done after 8 s, and all goes on after it', async (t) => {
  const { world, first, sole } = await setUp();
  await pass(world, 5_000);
  first.wire.isCut = true;
  await pass(world, 8_500);
  t.match(sole.stream.health(), { state: 'unavailable', reason: /acts no more .*: Not connected/ });
  await pass(world, 3_600_000 / 60);
  first.wire.isCut = false;
  await pass(world, 2_500);
  t.match(sole.stream.health(), { state: 'available' });
  await sole.stream.append(work);
  t.equal(await Promise.race([sole.lost, 'kept']), 'kept');
});

t.test('an own record whose answer was lost is recognised; so is an emptied stream', async (t) => {
  const { world, log, first, sole } = await setUp();
  first.wire.losesAnswers = true;
  await pass(world, 6_500);
  first.wire.losesAnswers = false;
  await pass(world, 4_500);
  t.match(sole.stream.health(), { state: 'available' });
  log.truncate(log.lastSequence + 1);
  await pass(world, 4_500);
  t.match(sole.stream.health(), { state: 'available' });
  t.equal(await Promise.race([sole.lost, 'kept']), 'kept');
});

t.test('a record of another version is watched like any other', async (t) => {
  const world = new VirtualClock(START_MS);
  const log = new FaultyLog();
  const subject = 'svc.members.node-1';
  const write = () =>
    log.store({ stream: 'MEMBERS', subject, data: Buffer.from('{"v":2}') }, false);
  write();
  const second = start(log, world);
  await pass(world, 1_000);
  write();
  await pass(world, 1_000);
  await t.rejects(second.sole, /in use by a process of another version/);
});

t.test('deliveries that come when nothing may be done are given back', async (t) => {
  const world = new VirtualClock(START_MS);
  const naks: number[] = [];
  const delivery = {
    ...{ subject: 'd', sequence: 1, timeMs: 0, data: new Uint8Array(0), deliveryCount: 1 },
    ...{ ack: async () => {}, term: async () => {} },
    nak: async (ms: number) => void naks.push(ms),
  };
  const inner = Promise.withResolvers<void>();
  const consumer = {
    close: async () => {},
    async *[Symbol.asyncIterator]() {
      yield delivery;
      await inner.promise;
      yield { ...delivery, sequence: 2 };
    },
  };
  const log = new FaultyLog();
  const clock = new OwnClock(world);
  const connection = connect(log, world, clock);
  const other = await becomeSoleProcess({
    ...{ clock, random: seededRandom(1), where: 'x', onWait: () => {} },
    stream: { ...connection.stream, consume: async () => consumer },
    self: { host: 'h', pid: 1, startedMs: 0, dataFolder: '/', publicUrl: null },
  });
  const spec = { stream: 'D', durable: 'd', ackWaitMs: 1, maxAckPending: 1 };
  const got: number[] = [];
  const reading = (async () => {
    for await (const { sequence } of await other.stream.consume(spec)) got.push(sequence);
  })();
  await settle();
  clock.isSuspended = true;
  await pass(world, 9_000);
  inner.resolve();
  await reading;
  t.same([got, naks.length], [[1], 1]);
});

/** One life after another of a process in the model. */
interface Node {
  readonly started: ReturnType<typeof start>;
  sole?: SoleProcess;
  hasEnded: boolean;
}

function begin(log: FaultyLog, world: VirtualClock, random: Random): Node {
  const started = start(log, world, { rate: 0.97 + fraction(random) * 0.06 });
  started.wire.delayMs = () => Math.floor(fraction(random) ** 4 * 3_000);
  const node: Node = { started, hasEnded: false };
  started.sole.then(
    (sole) => {
      node.sole = sole;
      void sole.lost.then(() => {
        node.hasEnded = true;
      });
    },
    () => {
      node.hasEnded = true;
    },
  );
  return node;
}

function mayAct({ started, sole, hasEnded }: Node): boolean {
  // A suspended process does nothing: what counts is what it finds when it goes on.
  if (hasEnded || started.clock.isSuspended || sole === undefined) return false;
  return sole.stream.health().state === 'available';
}

/** Something happens to one of them. */
function disturb(node: Node, random: Random): void {
  const { clock, wire } = node.started;
  const what = fraction(random);
  if (clock.isSuspended) clock.resume();
  else if (wire.isCut) wire.isCut = false;
  else if (what < 0.35) clock.isSuspended = true;
  else if (what < 0.7) wire.isCut = true;
  else if (what < 0.8) wire.losesAnswers = !wire.losesAnswers;
  else if (what < 0.85) {
    // Killed: it does nothing any more, and what it has sent may still arrive.
    clock.isSuspended = true;
    node.hasEnded = true;
  }
}

for (const seed of [1, 2, 3, 4, 5, 6]) {
  t.test(`no two act at one moment, whatever happens to them (seed ${seed})`, async (t) => {
    const random = seededRandom(seed);
    const world = new VirtualClock(START_MS);
    const log = new FaultyLog({ idsBeforeExpected: seed % 2 === 0 });
    const nodes = [0, 1, 2].map(() => begin(log, world, random));
    let [together, acted] = [0, 0];
    const step = async (): Promise<void> => {
      await world.advance(250);
      for (let turns = 0; turns < 6; turns++) await new Promise((done) => setImmediate(done));
      const acting = nodes.filter(mayAct).length;
      if (acting > 1) together++;
      if (acting === 1) acted++;
    };
    for (let steps = 0; steps < 4_000; steps++) {
      await step();
      const at = Math.floor(fraction(random) * nodes.length);
      const node = nodes[at];
      if (node === undefined) continue;
      if (node.hasEnded && fraction(random) < 0.5) nodes[at] = begin(log, world, random);
      else if (!node.hasEnded && fraction(random) < 0.05) disturb(node, random);
    }
    t.equal(together, 0);
    t.ok(acted > 200, `somebody may act at ${acted} of 4,000 moments`);
    for (const { started } of nodes) {
      Object.assign(started.wire, { isCut: false, losesAnswers: false, delayMs: () => 5 });
      started.clock.resume();
    }
    const last = begin(log, world, random);
    nodes.push(last);
    for (let steps = 0; steps < 80; steps++) await step();
    t.equal(nodes.filter(mayAct).length, 1, 'once all is well, exactly one');
  });
}
