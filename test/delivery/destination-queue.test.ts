/**
 * One destination's queue against a small model, and how all queues share the slots. The model
 * knows the rules alone: order within an incident, one to eight in flight, the breaker.
 */
import fc from 'fast-check';
import t from 'tap';
import {
  type AttemptResult,
  DestinationQueue,
  DestinationQueues,
  type QueuedDelivery,
  type Start,
} from '../../actors/delivery/destination-queues.ts';

const job = (delivery: number, incident = delivery, project = 'p'): QueuedDelivery => ({
  ...{ project, delivery: `dlv_${delivery}`, incident: `inc_${incident}` },
  recipient: null,
});

const web = { slots: 'web', spacingMs: 0 } as const;
const mail = { slots: 'mail', spacingMs: 0 } as const;

/** What the queue is to do, written without its bookkeeping. */
class Model {
  waiting: QueuedDelivery[] = [];
  flying: QueuedDelivery[] = [];
  limit = 1;
  failures = 0;
  openedMs = 0;
  breakerMs = 0;

  add(added: QueuedDelivery): void {
    const known = [...this.waiting, ...this.flying];
    if (!known.some(({ delivery }) => delivery === added.delivery)) this.waiting.push(added);
  }

  mayTake(nowMs: number): QueuedDelivery | undefined {
    if (this.flying.length >= this.limit || this.isOpen(nowMs)) return undefined;
    return this.waiting.find(
      ({ incident }) => !this.flying.some((other) => other.incident === incident),
    );
  }

  isOpen(nowMs: number): boolean {
    return nowMs < this.openedMs + this.breakerMs;
  }

  end(result: AttemptResult, nowMs: number): void {
    if (result === 'healthy') {
      Object.assign(this, { limit: Math.min(8, this.limit + 1), failures: 0, breakerMs: 0 });
    }
    if (result !== 'failing') return;
    this.limit = 1;
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
  fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1, 29_999, 30_000, 900_000) }),
);

t.test('a queue does what its model does, whatever is added, taken and ended', async (t) => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 200 }), (steps) => {
      const lane = new DestinationQueue();
      const model = new Model();
      let nowMs = 1;
      for (const each of steps) {
        if (each.do === 'pass') nowMs += each.ms;
        if (each.do === 'add') {
          // A delivery belongs to one incident for ever.
          const added = job(each.delivery, each.delivery % (each.incident + 1));
          const known = [...model.waiting, ...model.flying].find(
            ({ delivery }) => delivery === added.delivery,
          );
          lane.add(known ?? added);
          model.add(known ?? added);
        }
        if (each.do === 'take') {
          const expected = model.mayTake(nowMs);
          if (lane.take(nowMs)?.delivery !== expected?.delivery) return false;
          if (expected) {
            model.waiting = model.waiting.filter((other) => other !== expected);
            model.flying.push(expected);
          }
        }
        const ended =
          each.do === 'end' ? model.flying[each.which % model.flying.length] : undefined;
        if (each.do === 'end' && ended) {
          model.flying = model.flying.filter((other) => other !== ended);
          lane.end(ended, each.result, nowMs);
          model.end(each.result, nowMs);
        }
        const probe = model.waiting.length > 0 && model.isOpen(nowMs);
        const probeAtMs = probe ? model.openedMs + model.breakerMs : undefined;
        if (lane.wakeAtMs(nowMs) !== probeAtMs) return false;
        const idle = [...model.waiting, ...model.flying].length === 0 && model.failures === 0;
        if (lane.isIdle(nowMs) !== idle) return false;
      }
      return true;
    }),
    { numRuns: 500 },
  );
  t.pass();
});

t.test(
  'a queue grows from one to eight with each success, and restarts at one on failure',
  async (t) => {
    const lane = new DestinationQueue();
    for (let i = 0; i < 200; i++) lane.add(job(i));
    const takeAll = () => {
      const taken: QueuedDelivery[] = [];
      for (let next = lane.take(0); next; next = lane.take(0)) taken.push(next);
      return taken;
    };
    let flying = takeAll();
    const widths = [];
    for (let round = 0; round < 5; round++) {
      widths.push(flying.length);
      for (const each of flying) lane.end(each, 'healthy', 0);
      flying = takeAll();
    }
    t.same(widths, [1, 2, 4, 8, 8]);
    for (const each of flying.slice(0, 3)) lane.end(each, 'failing', 0);
    t.same(takeAll(), [], 'five still fly');
    for (const each of flying.slice(3)) lane.end(each, 'neutral', 0);
    t.equal(takeAll().length, 1);
  },
);

t.test(
  'the breaker opens after five failures and lets one probe through, later and later',
  async (t) => {
    const lane = new DestinationQueue();
    for (let i = 0; i < 100; i++) lane.add(job(i));
    let nowMs = 0;
    const failOne = () => {
      const taken = lane.take(nowMs);
      if (!taken) throw new Error('Nothing could be taken');
      lane.end(taken, 'failing', nowMs);
    };
    for (let i = 0; i < 4; i++) failOne();
    t.equal(lane.wakeAtMs(nowMs), undefined);
    failOne();
    const waits = [];
    for (let i = 0; i < 8; i++) {
      const at = lane.wakeAtMs(nowMs) ?? 0;
      waits.push((at - nowMs) / 1000);
      t.equal(lane.take(at - 1), undefined);
      nowMs = at;
      failOne();
      t.equal(lane.take(nowMs), undefined, 'one probe alone');
    }
    t.same(waits, [30, 60, 120, 240, 480, 900, 900, 900]);
    nowMs = lane.wakeAtMs(nowMs) ?? 0;
    const probe = lane.take(nowMs);
    if (probe) lane.end(probe, 'healthy', nowMs);
    t.ok(lane.take(nowMs) && lane.take(nowMs), 'one success closes it');
  },
);

t.test(
  'failures of attempts that were on the wire when the breaker opened count once',
  async (t) => {
    const lane = new DestinationQueue();
    for (let i = 0; i < 100; i++) lane.add(job(i));
    const takeAll = () => {
      const taken: QueuedDelivery[] = [];
      for (let next = lane.take(0); next; next = lane.take(0)) taken.push(next);
      return taken;
    };
    for (let round = 0; round < 4; round++)
      for (const each of takeAll()) lane.end(each, 'healthy', 0);
    const flying = takeAll();
    t.equal(flying.length, 8);
    for (const each of flying) lane.end(each, 'failing', 0);
    t.equal(lane.wakeAtMs(0), 30_000);
  },
);

t.test('what is beyond one a destination is bounded, and projects take turns', async (t) => {
  const lanes = new DestinationQueues();
  const started: Start[] = [];
  const startAll = () => {
    for (let start = lanes.next(0); start; start = lanes.next(0)) started.push(start);
  };
  let deliveries = 0;
  const flood = (project: string, destinations: number, count: number) => {
    for (let i = 0; i < count; i++) {
      const id = ++deliveries;
      lanes.add(`${project}-${id % destinations}`, job(id, id, project), web);
    }
  };
  const grow = () => {
    for (let round = 0; round < 12; round++) {
      startAll();
      for (const start of started.splice(0)) lanes.end(start, 'healthy', 0);
    }
    startAll();
  };
  flood('greedy', 9, 4000);
  grow();
  t.equal(lanes.inFlight, 9 + 32, 'of 72 that nine queues would take');
  flood('other', 9, 4000);
  grow();
  t.equal(lanes.inFlight, 18 + 64);
  flood('small', 1, 8);
  startAll();
  const ofSmall = started.filter(({ job }) => job.project === 'small');
  t.equal(ofSmall.length, 1, 'whoever comes late starts at once');
  t.equal(new Set(started.map(({ destination }) => destination)).size, 19, 'every queue has some');
  for (const start of started.splice(0)) lanes.end(start, 'neutral', 0);
  t.equal(lanes.inFlight, 0);
  const [first] = ofSmall;
  if (first) t.throws(() => lanes.end(first, 'neutral', 0), /not under way/);
});

t.test('destinations that hang keep none from its first attempt, nor webhooks mail', async (t) => {
  const lanes = new DestinationQueues();
  const startAll = () => {
    const started: Start[] = [];
    for (let start = lanes.next(0); start; start = lanes.next(0)) started.push(start);
    return started;
  };
  let deliveries = 0;
  const addTo = (destination: string, project: string, kind: typeof web | typeof mail) =>
    lanes.add(destination, job(++deliveries, deliveries, project), kind);
  for (const kind of [web, mail]) {
    for (const project of ['bad', 'worse']) {
      for (let i = 0; i < 300; i++) addTo(`${kind.slots} ${project} ${i % 5}`, project, kind);
    }
  }
  // They answer until each is as wide as can be, and then hang.
  let hanging = startAll();
  for (let round = 0; round < 8; round++) {
    for (const start of hanging) lanes.end(start, 'healthy', 0);
    hanging = startAll();
  }
  const count = ({ slots }: { slots: string }) =>
    hanging.filter((start) => start.slots === slots).length;
  t.same([count(web), count(mail)], [10 + 64, 10 + 16]);
  addTo('theirs', 'good', web);
  addTo('their mail', 'good', mail);
  t.same(
    startAll()
      .map(({ destination }) => destination)
      .sort(),
    ['their mail', 'theirs'],
  );
  for (let i = 0; i < 600; i++) addTo(`many ${i}`, `crowd ${i % 2}`, web);
  for (let i = 0; i < 100; i++) addTo(`many mails ${i}`, 'crowd 0', mail);
  const crowd = startAll();
  t.equal(lanes.inFlight, 512 + 32, 'there is an end to it');
  addTo('last', 'late', web);
  t.same(startAll(), []);
  for (const start of crowd.slice(0, 3)) lanes.end(start, 'failing', 0);
  const next = startAll();
  t.ok(
    next.some(({ destination }) => destination === 'last'),
    'in its turn among three',
  );
});

t.test('a destination that was mended is tried at once, whatever it did before', async (t) => {
  const lanes = new DestinationQueues();
  for (let i = 0; i < 9; i++) lanes.add('hook', job(i), web);
  for (let i = 0; i < 5; i++) {
    const start = lanes.next(0);
    if (start) lanes.end(start, 'failing', 0, 600_000);
  }
  t.equal(lanes.wakeAtMs(0), 600_000);
  lanes.reset('p', 'hook');
  const [old, second] = [lanes.next(0), lanes.next(0)];
  t.ok(old);
  t.equal(second, undefined, 'and carefully');
  lanes.reset('p', 'hook');
  t.ok(lanes.next(0), 'what was sent to the old address is not waited for');
  if (old) lanes.end(old, 'failing', 0, 600_000);
  t.equal(lanes.wakeAtMs(0), undefined, 'nor does its end count');
  lanes.reset('p', 'unknown');
});

t.test(
  'the queue of a deleted destination is removed with its content, failing or not',
  async (t) => {
    const lanes = new DestinationQueues();
    const fail = (destination: string, nowMs: number) => {
      const start = lanes.next(nowMs);
      if (start?.destination !== destination) throw new Error('It could not be taken');
      lanes.end(start, 'failing', nowMs);
    };
    for (let i = 0; i < 7; i++) lanes.add('empty', job(i), web);
    for (let i = 0; i < 5; i++) fail('empty', 0);
    for (let i = 0; i < 2; i++) fail('empty', (i + 1) * 100_000);
    lanes.add('busy', job(10), web);
    fail('busy', 0);
    t.equal(lanes.size, 2, 'failures are remembered while the destination is there');
    lanes.add('busy', job(11), web);
    for (const destination of ['empty', 'busy', 'unknown']) lanes.retire('p', destination, 0);
    t.equal(lanes.size, 1);
    fail('busy', 0);
    t.equal(lanes.size, 0);
  },
);

t.test('attempts keep their distance, what was not sent needs none', async (t) => {
  const lane = new DestinationQueue(1_000);
  for (let i = 0; i < 9; i++) lane.add(job(i));
  const first = lane.take(100);
  t.equal(lane.take(1_099), undefined);
  t.equal(lane.wakeAtMs(200), 1_100);
  if (first) lane.end(first, 'healthy', 300);
  const second = lane.take(1_100);
  t.ok(second && lane.take(1_100) === undefined);
  if (second) lane.end(second, 'neutral', 1_101);
  t.equal(lane.wakeAtMs(1_101), undefined, 'nothing was sent');
  t.ok(lane.take(1_101));
  t.equal(lane.take(1_102), undefined);
});

t.test('an endpoint that asks for rest gets it, a quarter of an hour at most', async (t) => {
  for (const [restMs, untilMs] of [
    [60_000, 60_010],
    [86_400_000, 900_010],
  ] as const) {
    const lane = new DestinationQueue();
    for (let i = 0; i < 3; i++) lane.add(job(i));
    const taken = lane.take(0);
    if (taken) lane.end(taken, 'failing', 10, restMs);
    t.equal(lane.wakeAtMs(10), untilMs);
    t.equal(lane.take(untilMs - 1), undefined);
    t.ok(lane.take(untilMs));
  }
});

t.test('one order for each recipient: another of the same incident does not wait', async (t) => {
  const lane = new DestinationQueue();
  const to = (delivery: number, recipient: string): QueuedDelivery => ({
    ...job(delivery, 1),
    recipient,
  });
  lane.add({ ...job(0), incident: 'other' });
  const other = lane.take(0);
  if (other) lane.end(other, 'healthy', 0);
  for (const each of [to(1, 'ann'), to(2, 'ann'), to(3, 'ben')]) lane.add(each);
  const taken = [lane.take(0), lane.take(0), lane.take(0)].map((each) => each?.delivery);
  t.same(taken, ['dlv_1', 'dlv_3', undefined]);
});

t.test('10,000 that wait for a slow endpoint keep no other project waiting', async (t) => {
  const lanes = new DestinationQueues();
  for (let i = 0; i < 10_000; i++) lanes.add('slow', job(i, i, 'crowded'), web);
  const taken = [];
  for (let start = lanes.next(0); start; start = lanes.next(0)) taken.push(start);
  t.equal(taken.length, 1, 'a new queue is one wide');
  lanes.add('theirs', job(1, 1, 'other'), web);
  t.equal(lanes.next(0)?.job.project, 'other', 'it starts at once');
  // Nor does its own next one find a place in the queue by looking at all of them.
  const startedMs = performance.now();
  for (let i = 0; i < 1_000; i++) lanes.next(0);
  t.ok(performance.now() - startedMs < 250, 'looking for the next one is cheap');
});
