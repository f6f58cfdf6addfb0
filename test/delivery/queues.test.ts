/**
 * One destination's queue against a small model, and how all queues share the slots. The model
 * knows only the rules: order within an incident, the cap of its destination, the breaker.
 */
import fc from 'fast-check';
import { test } from 'tap';
import {
  type AttemptResult,
  DestinationQueue,
  DestinationQueues,
  type QueuedDelivery,
  type QueueLimits,
} from '../../actors/delivery/queues.ts';
import { tries } from '../support/tries.ts';

const job = (
  delivery: number,
  incident = delivery,
  project = 'p',
  destination = 'hook',
): QueuedDelivery => ({
  project,
  delivery: `dlv_${delivery}`,
  incident: `inc_${incident}`,
  attempt: 1,
  again: '',
  destination,
  recipient: null,
});

const web = { slots: 'web', spacingMs: 0, cap: 1 } as const;
const mail = { slots: 'mail', spacingMs: 0, cap: 1 } as const;

/** Queues a delivery, in a new queue if its destination has none. */
function add(queues: DestinationQueues, added: QueuedDelivery, limits: QueueLimits): void {
  if (!queues.has(added)) queues.open(added, limits);
  queues.add(added);
}

/** The required behaviour of a queue, without its bookkeeping. */
class Model {
  waiting: QueuedDelivery[] = [];
  flying: QueuedDelivery[] = [];
  cap = 1;
  failures = 0;
  openedMs = 0;
  breakerMs = 0;

  add(added: QueuedDelivery): void {
    const known = [...this.waiting, ...this.flying];
    if (!known.some(({ delivery }) => delivery === added.delivery)) this.waiting.push(added);
  }

  mayTake(nowMs: number): QueuedDelivery | undefined {
    if (this.flying.length >= this.cap || this.isOpen(nowMs)) return undefined;
    return this.waiting.find(
      ({ incident }) => !this.flying.some((other) => other.incident === incident),
    );
  }

  isOpen(nowMs: number): boolean {
    return nowMs < this.openedMs + this.breakerMs;
  }

  end(result: AttemptResult, nowMs: number): void {
    if (result === 'healthy') Object.assign(this, { failures: 0, breakerMs: 0 });
    if (result !== 'failing') return;
    this.failures++;
    if (this.failures < 5 || this.isOpen(nowMs)) return;
    this.openedMs = nowMs;
    this.breakerMs = Math.min(900_000, Math.max(15_000, this.breakerMs) * 2);
  }
}

const step = fc.oneof(
  fc.record({ do: fc.constant('add' as const), delivery: fc.nat(30), incident: fc.nat(5) }),
  fc.record({ do: fc.constant('take' as const) }),
  fc.record({
    do: fc.constant('end' as const),
    which: fc.nat(7),
    result: fc.constantFrom<AttemptResult>('healthy', 'healthy', 'failing', 'failing', 'neutral'),
  }),
  fc.record({ do: fc.constant('cap' as const), cap: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1, 29_999, 30_000, 900_000) }),
);

test('a queue behaves like its model after any additions, starts and ends', async (t) => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 200 }), (steps) => {
      const queue = new DestinationQueue(web);
      const model = new Model();
      let nowMs = 1;
      for (const each of steps) {
        if (each.do === 'pass') nowMs += each.ms;
        if (each.do === 'cap') {
          queue.setCap(each.cap);
          model.cap = each.cap;
        }
        if (each.do === 'add') {
          // A delivery always belongs to one incident.
          const added = job(each.delivery, each.delivery % (each.incident + 1));
          const known = [...model.waiting, ...model.flying].find(
            ({ delivery }) => delivery === added.delivery,
          );
          queue.add(known ?? added);
          model.add(known ?? added);
        }
        if (each.do === 'take') {
          const expected = model.mayTake(nowMs);
          if (queue.take(nowMs)?.delivery !== expected?.delivery) return false;
          if (expected) {
            model.waiting = model.waiting.filter((other) => other !== expected);
            model.flying.push(expected);
          }
        }
        const ended =
          each.do === 'end' ? model.flying[each.which % model.flying.length] : undefined;
        if (each.do === 'end' && ended) {
          model.flying = model.flying.filter((other) => other !== ended);
          queue.end(ended, each.result, nowMs);
          model.end(each.result, nowMs);
        }
        const probe = model.waiting.length > 0 && model.isOpen(nowMs);
        const probeAtMs = probe ? model.openedMs + model.breakerMs : undefined;
        if (queue.wakeAtMs(nowMs) !== probeAtMs) return false;
        const idle = [...model.waiting, ...model.flying].length === 0 && model.failures === 0;
        if (queue.isIdle(nowMs) !== idle) return false;
      }
      return true;
    }),
    { numRuns: tries(500) },
  );
  t.pass();
});

test('HOOK-15: a queue is as wide as its cap, and a narrowed queue waits for attempts in flight', async (t) => {
  const queue = new DestinationQueue(web);
  for (let i = 0; i < 200; i++) queue.add(job(i));
  const takeAll = () => {
    const taken: QueuedDelivery[] = [];
    for (let next = queue.take(0); next; next = queue.take(0)) taken.push(next);
    return taken;
  };
  t.equal(takeAll().length, 1);
  queue.setCap(8);
  const flying = takeAll();
  t.equal(flying.length, 7);
  queue.setCap(1);
  for (const each of flying) queue.end(each, 'healthy', 0);
  t.same(takeAll(), [], 'the first one is still in flight');
  t.notOk(queue.end(job(199), 'healthy', 0), 'a queued one may end, too');
  t.notOk(queue.end(job(1), 'healthy', 0), 'so may an unknown one');
});

test('HOOK-15: the breaker opens after five failures and admits single probes at growing intervals', async (t) => {
  const queue = new DestinationQueue(web);
  for (let i = 0; i < 100; i++) queue.add(job(i));
  let nowMs = 0;
  const failOne = () => {
    const taken = queue.take(nowMs);
    if (!taken) throw new Error('The queue returned no attempt');
    queue.end(taken, 'failing', nowMs);
  };
  for (let i = 0; i < 4; i++) failOne();
  t.equal(queue.wakeAtMs(nowMs), undefined);
  failOne();
  const waits = [];
  for (let i = 0; i < 8; i++) {
    const at = queue.wakeAtMs(nowMs) ?? 0;
    waits.push((at - nowMs) / 1000);
    t.equal(queue.take(at - 1), undefined);
    nowMs = at;
    failOne();
    t.equal(queue.take(nowMs), undefined, 'a single probe');
  }
  t.same(waits, [30, 60, 120, 240, 480, 900, 900, 900]);
  nowMs = queue.wakeAtMs(nowMs) ?? 0;
  const probe = queue.take(nowMs);
  if (probe) queue.end(probe, 'healthy', nowMs);
  queue.setCap(2);
  t.ok(queue.take(nowMs) && queue.take(nowMs), 'one success closes it');
});

test('failures of attempts in flight when the breaker opened count once', async (t) => {
  const queue = new DestinationQueue(web);
  queue.setCap(8);
  for (let i = 0; i < 100; i++) queue.add(job(i));
  const flying: QueuedDelivery[] = [];
  for (let next = queue.take(0); next; next = queue.take(0)) flying.push(next);
  t.equal(flying.length, 8);
  for (const each of flying) queue.end(each, 'failing', 0);
  t.equal(queue.wakeAtMs(0), 30_000);
});

test('attempts beyond one per destination are bounded, and projects take turns', async (t) => {
  const queues = new DestinationQueues();
  const started: QueuedDelivery[] = [];
  const startAll = () => {
    for (let start = queues.next(0); start; start = queues.next(0)) started.push(start);
  };
  let deliveries = 0;
  const flood = (project: string, destinations: number, count: number, cap = 64) => {
    for (let i = 0; i < count; i++) {
      const id = ++deliveries;
      const limits = { ...web, cap };
      add(queues, job(id, id, project, `${project}-${id % destinations}`), limits);
    }
    startAll();
  };
  flood('greedy', 9, 4000);
  t.equal(queues.inFlight, 9 + 160, 'out of 1,152 that nine queues would take');
  flood('other', 9, 4000);
  flood('third', 9, 4000);
  t.equal(queues.inFlight, 27 + 384);
  flood('small', 1, 8, 1);
  const ofSmall = started.filter(({ project }) => project === 'small');
  t.equal(ofSmall.length, 1, 'a late project starts at once');
  const destinations = new Set(started.map(({ destination }) => destination));
  t.equal(destinations.size, 28, 'every queue has some');
  for (const start of started.splice(0)) queues.end(start, 'neutral', 0);
  t.equal(queues.inFlight, 0);
  startAll();
  queues.keepProjects((project) => project === 'small');
  t.equal(queues.inFlight, 1, 'deliveries that another member handles use no slot');
});

test('hanging destinations delay no first attempt of others, and hanging webhooks delay no mail', async (t) => {
  const queues = new DestinationQueues();
  const startAll = () => {
    const started: QueuedDelivery[] = [];
    for (let start = queues.next(0); start; start = queues.next(0)) started.push(start);
    return started;
  };
  let deliveries = 0;
  const cap = ({ slots }: QueueLimits) => (slots === 'web' ? 64 : 8);
  const addTo = (destination: string, project: string, kind: QueueLimits) =>
    add(queues, job(++deliveries, deliveries, project, destination), { ...kind, cap: cap(kind) });
  for (const kind of [web, mail]) {
    for (const project of ['bad', 'worse']) {
      for (let i = 0; i < 300; i++) addTo(`${kind.slots} ${project} ${i % 5}`, project, kind);
    }
  }
  const hanging = startAll();
  const count = (kind: string) =>
    hanging.filter(({ destination }) => destination.startsWith(kind)).length;
  t.same([count('web'), count('mail')], [10 + 320, 10 + 16]);
  addTo('theirs', 'good', web);
  addTo('their mail', 'good', mail);
  t.same(
    startAll()
      .map(({ destination }) => destination)
      .sort(),
    ['their mail', 'theirs'],
  );
  for (let i = 0; i < 3_000; i++) addTo(`many ${i}`, `crowd ${i % 2}`, web);
  for (let i = 0; i < 100; i++) addTo(`many mails ${i}`, 'crowd 0', mail);
  const crowd = startAll();
  t.equal(queues.inFlight, 2_048 + 32, 'the total is bounded');
  addTo('late', 'late', web);
  addTo('late mail', 'later', mail);
  t.equal(startAll().length, 2, 'a project with nothing in flight starts at once');
  for (let i = 0; i < 2_000; i++) addTo(`of one ${i}`, `one of many ${i}`, web);
  for (let i = 0; i < 20; i++) addTo(`mail of one ${i}`, `one of many ${i}`, mail);
  startAll();
  t.equal(queues.inFlight, 2_048 + 512 + 32 + 8, 'that is bounded too');
  addTo('last', 'last', web);
  t.same(startAll(), []);
  const ofWeb = crowd.filter(({ destination }) => !destination.includes('mail'));
  for (const start of ofWeb) queues.end(start, 'failing', 0);
  const next = startAll();
  t.ok(
    next.some(({ destination }) => destination === 'last'),
    'in its turn',
  );
});

test('destinations that failed use only a share of the slots', async (t) => {
  for (const [kind, share, total] of [
    [web, 640, 2_048],
    [mail, 16, 32],
  ] as const) {
    const queues = new DestinationQueues();
    const startAll = () => {
      const started: QueuedDelivery[] = [];
      for (let start = queues.next(0); start; start = queues.next(0)) started.push(start);
      return started;
    };
    let deliveries = 0;
    const addTo = (destination: string, project: string) =>
      add(queues, job(++deliveries, deliveries, project, destination), kind);
    const count = total - 10;
    const round = (project: string) => {
      for (let i = 0; i < count; i++) addTo(`${project} ${i}`, project);
      return startAll();
    };
    const first = round('crowd');
    t.equal(first.length, count, 'none has failed yet');
    for (const start of first) queues.end(start, 'failing', 0);
    const second = round('crowd');
    t.equal(second.length, share);
    t.equal(round('healthy').length, total - share, 'the rest is free for others');
    for (const start of second) queues.end(start, 'failing', 0);
    const third = startAll().filter(({ project }) => project === 'crowd');
    t.ok(third.length > 0 && third.length <= share, 'the others have their turn');
    queues.keepProjects((project) => project === 'healthy');
    for (let i = 0; i < count; i++) addTo(`crowd ${i}`, 'crowd');
    t.ok(startAll().length > 0, 'attempts of another member do not count');
  }
});

test('1,000 hanging destinations of 200 projects never delay a quiet project', async (t) => {
  const queues = new DestinationQueues();
  const HANG_MS = 10_000;
  const ends = new Map<QueuedDelivery, number>();
  let [deliveries, nowMs, delayed, hanging] = [0, 0, 0, 0];
  const addTo = (project: string, destination: string) => {
    const added = job(++deliveries, deliveries, project, destination);
    add(queues, added, web);
    return added;
  };
  for (; nowMs < 1_800_000; nowMs += 1_000) {
    for (const [start, atMs] of ends) {
      if (atMs > nowMs) continue;
      ends.delete(start);
      queues.end(start, 'failing', nowMs);
    }
    if (nowMs % 60_000 === 0) {
      for (let i = 0; i < 1_000; i++) addTo(`crowd ${i % 200}`, `hangs ${i}`);
    }
    const quiet = nowMs % 7_000 === 0 ? addTo('quiet', 'healthy') : undefined;
    let isStarted = false;
    for (let start = queues.next(nowMs); start; start = queues.next(nowMs)) {
      if (start.project === 'quiet') {
        isStarted = start === quiet;
        queues.end(start, 'healthy', nowMs);
      } else ends.set(start, nowMs + HANG_MS);
    }
    hanging = Math.max(hanging, ends.size);
    if (quiet && !isStarted) delayed++;
  }
  t.equal(hanging, 1_000, 'all hang at once');
  t.equal(delayed, 0);
});

test('a repaired destination is tried at once, regardless of earlier failures', async (t) => {
  const queues = new DestinationQueues();
  for (let i = 0; i < 9; i++) add(queues, job(i), web);
  for (let i = 0; i < 5; i++) {
    const start = queues.next(0);
    if (start) queues.end(start, 'failing', 0, 600_000);
  }
  t.equal(queues.wakeAtMs(0), 600_000);
  queues.reset('p', 'hook');
  const [old, second] = [queues.next(0), queues.next(0)];
  t.ok(old);
  t.equal(second, undefined, 'and carefully');
  queues.reset('p', 'hook');
  queues.setCap('p', 'hook', 2);
  t.ok(queues.next(0), 'attempts to the old address do not delay it');
  if (old) queues.end(old, 'failing', 0, 600_000);
  t.equal(queues.wakeAtMs(0), undefined, 'their ends do not count');
  queues.reset('p', 'unknown');
  queues.setCap('p', 'unknown', 2);
});

test('the queue of a deleted destination is removed with its content, failing or not', async (t) => {
  const queues = new DestinationQueues();
  const fail = (destination: string, nowMs: number) => {
    const start = queues.next(nowMs);
    if (start?.destination !== destination) throw new Error('The queue returned no attempt');
    queues.end(start, 'failing', nowMs);
  };
  for (let i = 0; i < 7; i++) add(queues, job(i, i, 'p', 'empty'), web);
  for (let i = 0; i < 5; i++) fail('empty', 0);
  for (let i = 0; i < 2; i++) fail('empty', (i + 1) * 100_000);
  add(queues, job(10, 10, 'p', 'busy'), web);
  fail('busy', 0);
  t.equal(queues.size, 2, 'failures are remembered while the destination exists');
  add(queues, job(11, 11, 'p', 'busy'), web);
  for (const destination of ['empty', 'busy', 'unknown']) queues.retire('p', destination, 0);
  t.equal(queues.size, 1);
  fail('busy', 0);
  t.equal(queues.size, 0);
});

test('HOOK-19: sent attempts keep their minimum interval; unsent ones need none', async (t) => {
  const queue = new DestinationQueue({ spacingMs: 1_000, cap: 2 });
  for (let i = 0; i < 9; i++) queue.add(job(i));
  const first = queue.take(100);
  t.equal(queue.take(1_099), undefined);
  t.equal(queue.wakeAtMs(200), 1_100);
  if (first) queue.end(first, 'healthy', 300);
  const second = queue.take(1_100);
  t.ok(second && queue.take(1_100) === undefined);
  if (second) queue.end(second, 'neutral', 1_101);
  t.equal(queue.wakeAtMs(1_101), undefined, 'nothing was sent');
  t.ok(queue.take(1_101));
  t.equal(queue.take(1_102), undefined);
});

test('an endpoint that asks for a rest gets at most a quarter of an hour', async (t) => {
  for (const [restMs, untilMs] of [
    [60_000, 60_010],
    [86_400_000, 900_010],
  ] as const) {
    const queue = new DestinationQueue(web);
    for (let i = 0; i < 3; i++) queue.add(job(i));
    const taken = queue.take(0);
    if (taken) queue.end(taken, 'failing', 10, restMs);
    t.equal(queue.wakeAtMs(10), untilMs);
    t.equal(queue.take(untilMs - 1), undefined);
    t.ok(queue.take(untilMs));
  }
});

test('order is per recipient: a message of the same incident to another recipient does not wait', async (t) => {
  const queue = new DestinationQueue(web);
  const to = (delivery: number, recipient: string): QueuedDelivery => ({
    ...job(delivery, 1),
    recipient,
  });
  queue.setCap(2);
  for (const each of [to(1, 'ann'), to(2, 'ann'), to(3, 'ben')]) queue.add(each);
  const taken = [queue.take(0), queue.take(0), queue.take(0)].map((each) => each?.delivery);
  t.same(taken, ['dlv_1', 'dlv_3', undefined]);
});

test('HOOK-15: 10,000 deliveries to a slow endpoint delay no other project', async (t) => {
  const queues = new DestinationQueues();
  for (let i = 0; i < 10_000; i++) add(queues, job(i, i, 'crowded', 'slow'), web);
  const taken = [];
  for (let start = queues.next(0); start; start = queues.next(0)) taken.push(start);
  t.equal(taken.length, 1, 'a new queue has a cap of one');
  add(queues, job(10_001, 1, 'other', 'theirs'), web);
  t.equal(queues.next(0)?.project, 'other', 'it starts at once');
  // Its own next delivery does not scan the whole queue for a place either.
  const before = process.cpuUsage();
  for (let i = 0; i < 1_000; i++) queues.next(0);
  const { user, system } = process.cpuUsage(before);
  t.ok(user + system < 250_000, 'finding the next one is cheap: CPU time, µs');
});
