/**
 * Members and leases: cases on a virtual clock, then a seeded model of members with different
 * clocks that are suspended, cut off, killed and restarted. The invariant: no two act for one
 * share.
 */
import { test } from 'tap';
import { FIT_AGAIN_MS, STAND_DOWN_MS } from '../../streams/platform/membership/fitness.ts';
import {
  leaseSubject,
  memberSubject,
  SHARES,
  type Share,
} from '../../streams/platform/membership/roster.ts';
import { fraction, type Random, seededRandom } from '../../streams/platform/random.ts';
import {
  events,
  owned,
  pass,
  START_MS,
  type Started,
  shared,
  start,
  world,
} from '../support/members-in-memory.ts';

test('DUR-13: live members share all work about evenly, without overlap', async (t) => {
  const { clock, log } = world();
  const first = start(log, clock);
  await pass(clock, 2_000);
  t.equal(owned(first).length, SHARES.length, 'a single member owns everything');
  const three = [first, start(log, clock), start(log, clock)];
  await pass(clock, 8_000);
  t.same(shared(three), { single: SHARES.length, several: [] });
  for (const each of three) t.ok(owned(each).length >= 8, `${owned(each).length} of 65`);
  const epochs = owned(three[1] as Started).map((share) =>
    share === '_system' ? 1 : (three[1]?.member?.epochOf(share) ?? 0),
  );
  t.ok(epochs.every((epoch) => epoch >= 1));
});

test('DUR-13: the shares of a killed member pass to others within 7 s, in later epochs', async (t) => {
  const { clock, log } = world();
  const three = [start(log, clock), start(log, clock), start(log, clock)];
  await pass(clock, 8_000);
  const [dead, ...others] = three as [Started, Started, Started];
  const lost = owned(dead).filter((share) => share !== '_system') as number[];
  const epochs = new Map(lost.map((share) => [share, dead.member?.epochOf(share) ?? 0]));
  dead.clock.isSuspended = true;
  await pass(clock, 4_000);
  t.same(owned(dead), [], 'it would do nothing if it woke up now');
  t.ok(shared(others).single < SHARES.length, 'no member has taken over yet');
  await pass(clock, 3_000);
  t.same(shared(others), { single: SHARES.length, several: [] });
  for (const share of lost) {
    const epoch = others.map(({ member }) => member?.epochOf(share)).find((each) => each);
    t.ok((epoch ?? 0) > (epochs.get(share) ?? 0));
  }
  const seen = others[0]?.member?.members().find(({ node }) => node === dead.member?.node);
  t.match(seen, { status: 'unreachable', shares: [] });
});

test('an unreadable lease has no owner, and is claimed', async (t) => {
  const { clock, log } = world();
  const row = { stream: 'CLUSTER', subject: leaseSubject(7), data: Buffer.from('{"v":9}') };
  log.store(row, false);
  const one = start(log, clock);
  await pass(clock, 2_000);
  t.equal(owned(one).length, SHARES.length);
});

test('a leaving member hands over at once', async (t) => {
  const { clock, log } = world();
  const [first, second] = [start(log, clock), start(log, clock)];
  await pass(clock, 8_000);
  await first.member?.leave();
  await pass(clock, 500);
  t.equal(owned(second).length, SHARES.length);
  t.same(owned(first), []);
  t.match(first.member?.refusal(), 'left its cluster');
});

test('a handover with one rejected row returns nothing that others own', async (t) => {
  const { clock, log } = world();
  const first = start(log, clock);
  await pass(clock, 2_000);
  // It hears late of changes that the other hears at once.
  first.wire.delayMs = () => 200;
  let refused: string | undefined;
  let times = 0;
  first.wire.refuses = ({ subject }) => {
    if (subject.startsWith('svc.cluster.leases')) refused ??= subject;
    return subject === refused && times++ < 10;
  };
  const second = start(log, clock);
  const several = new Set<Share>();
  for (let i = 0; i < 240; i++) {
    await pass(clock, 50);
    for (const share of shared([first, second]).several) several.add(share);
  }
  t.ok(times > 10);
  t.same([...several], [], 'no share had two owners');
  t.same(shared([first, second]).single, SHARES.length, 'finally every share has an owner');
});

test('reports of a data center stay valid after their member has left or was killed', async (t) => {
  const { clock, log } = world();
  const [first, second, third] = [start(log, clock), start(log, clock), start(log, clock)];
  await pass(clock, 5_000);
  first.heard = { 'DC-1': 2_000 };
  second.heard = { 'DC-2': 1_000 };
  await pass(clock, 1_100);
  await first.member?.leave();
  second.wire.isCut = true;
  await pass(clock, 20_000);
  const fourth = start(log, clock);
  await pass(clock, 1_000);
  for (const { member } of [third, fourth]) {
    const heard = member?.heardElsewhere();
    const [left = 0, killed = 0] = [heard?.get('DC-1'), heard?.get('DC-2')];
    t.ok(left >= 22_500 && left <= 23_500, `DC-1 was heard ${left} ms ago`);
    t.ok(killed >= 21_500 && killed <= 23_000, `DC-2 was heard ${killed} ms ago`);
  }
});

test('a member restarted on its data folder need not wait', async (t) => {
  const { clock, log } = world();
  const first = start(log, clock, { lock: 'boot 1, file 7' });
  await pass(clock, 2_000);
  first.clock.isSuspended = true;
  const again = start(log, clock, { lock: 'boot 1, file 7' });
  await pass(clock, 1_000);
  t.equal(owned(again).length, SHARES.length);
});

test('DUR-26: a silent predecessor in the same data folder has left, another silent member is unreachable', async (t) => {
  const { clock, log } = world();
  const [watcher, killed, other] = [
    start(log, clock),
    start(log, clock, { lock: 'boot 1, file 7' }),
    start(log, clock, { lock: 'boot 1, file 8' }),
  ];
  await pass(clock, 2_000);
  killed.clock.isSuspended = true;
  other.clock.isSuspended = true;
  const lastMs = clock.now();
  await pass(clock, 8_000);
  const statuses = () => watcher.member?.members().map(({ status }) => status);
  t.same(statuses(), ['acting', 'unreachable', 'unreachable']);
  const seen = watcher.member?.members().map(({ seenMs }) => seenMs) ?? [];
  const isOwnLast = seen.slice(1).every((ms) => ms > lastMs - 1_500 && ms <= lastMs);
  t.ok(isOwnLast, 'since its own last record');
  start(log, clock, { lock: 'boot 1, file 7' });
  await pass(clock, 2_000);
  t.same(statuses(), ['acting', 'gone', 'unreachable', 'acting']);
});

test('a new member ignores a member that a killed nats-server restored', async (t) => {
  const { clock, log } = world();
  const [ended, first] = [start(log, clock), start(log, clock)];
  await pass(clock, 8_000);
  const subject = memberSubject(ended.member?.node ?? '');
  const old = log.messages.findLast((message) => message.subject === subject);
  await ended.member?.leave();
  await pass(clock, 1_000);
  // The stream has removed its row, but the copy that the next member reads has restored it.
  const removed = { subject: 'svc.cluster.removed', data: new Uint8Array() };
  log.messages = log.messages.map((message) =>
    message.subject === subject ? { ...message, ...removed } : message,
  );
  const second = start(log, clock, { shows: old });
  await pass(clock, 4_000);
  t.ok(second.member?.members().some(({ node }) => node === ended.member?.node));
  await pass(clock, 8_000);
  t.notOk(second.member?.members().some(({ node }) => node === ended.member?.node));
  t.same(
    shared([first, second]),
    { single: SHARES.length, several: [] },
    'every share has an owner',
  );
  [first.applied, second.applied] = [9, 9];
  await pass(clock, 2_000);
  let isApplied = false;
  void second.member?.untilApplied(9, new AbortController().signal).then(() => {
    isApplied = true;
  });
  await pass(clock, 1_000);
  t.ok(isApplied, 'a revocation does not wait for it');
});

test('a cut-off member stops acting, and reports it', async (t) => {
  const { clock, log } = world();
  const [first, second] = [start(log, clock), start(log, clock)];
  await pass(clock, 8_000);
  first.wire.isCut = true;
  await pass(clock, 4_250);
  t.same(owned(first), []);
  t.match(first.member?.refusal(), /does not act until it knows/);
  await pass(clock, 3_000);
  t.equal(owned(second).length, SHARES.length);
  first.wire.isCut = false;
  await pass(clock, 8_000);
  t.same(shared([first, second]), { single: SHARES.length, several: [] });
  t.equal(first.member?.refusal(), undefined);
});

test('a member that writes but reads nothing is replaced', async (t) => {
  const { clock, log } = world();
  const [first, second] = [start(log, clock), start(log, clock)];
  await pass(clock, 8_000);
  t.ok(owned(first).length > 0);
  first.wire.readsNothing = true;
  await pass(clock, 5_000);
  t.same(owned(first), [], 'it does nothing by itself');
  await pass(clock, 25_000);
  t.equal(owned(second).length, SHARES.length);
  first.wire.readsNothing = false;
  await pass(clock, 30_000);
  t.same(shared([first, second]), { single: SHARES.length, several: [] });
  t.ok(owned(first).length > 0, 'it takes its shares again');
});

test('members that were all suspended soon act again', async (t) => {
  const { clock, log } = world();
  const both = [start(log, clock), start(log, clock)];
  await pass(clock, 8_000);
  for (const { clock: own } of both) own.isSuspended = true;
  await pass(clock, 30_000);
  for (const { clock: own } of both) own.resume();
  await pass(clock, 3_000);
  for (let looks = 0; looks < 50; looks++) {
    await pass(clock, 200);
    t.same(
      both.map(({ member }) => member?.refusal()),
      [undefined, undefined],
    );
  }
});

test('DUR-13: a wrong clock is measured, and beyond 10 s its member owns nothing', async (t) => {
  const { clock, log } = world();
  const right = start(log, clock);
  const near = start(log, clock, { skewMs: -3_000 });
  const far = start(log, clock, { skewMs: 15_000 });
  await pass(clock, 10_000);
  t.equal(near.member?.clockAheadMs(), -3_000);
  t.ok(owned(near).length > 0);
  t.equal(far.member?.clockAheadMs(), 15_000);
  t.same(owned(far), []);
  t.match(far.member?.refusal(), 'The clock of this machine is 15 s ahead of the clock of NATS');
  t.same(shared([right, near]), { single: SHARES.length, several: [] });
});

test('the barrier waits for each live member, and for a silent one until it is dead', async (t) => {
  const { clock, log } = world();
  const three = [start(log, clock), start(log, clock), start(log, clock)] as const;
  await pass(clock, 2_000);
  const [first, second, third] = three;
  let isOver = false;
  const wait = () => {
    isOver = false;
    const signal = new AbortController().signal;
    return first.member?.untilApplied(7, signal).then(() => {
      isOver = true;
    });
  };
  void wait();
  second.applied = 7;
  second.member?.announce();
  await pass(clock, 100);
  t.notOk(isOver, 'the third has not applied it');
  third.applied = 9;
  third.member?.announce();
  await pass(clock, 50);
  t.ok(isOver, 'the barrier ends as soon as the change is applied');
  third.clock.isSuspended = true;
  third.applied = 0;
  void first.member?.untilApplied(20, new AbortController().signal).then(() => {
    isOver = true;
  });
  second.applied = 20;
  isOver = false;
  await pass(clock, 4_000);
  t.notOk(isOver);
  t.match(third.member?.refusal(), /does not act/, 'it would refuse credentials by now');
  await pass(clock, 2_500);
  t.ok(isOver);
});

for (const state of ['acting', 'joining'] as const) {
  test(`a member cut off while ${state} vouches for nothing before it has caught up`, async (t) => {
    const { clock, log } = world();
    const [first, second] = [start(log, clock, { state }), start(log, clock)];
    await pass(clock, 8_000);
    t.equal(first.member?.refusal(), undefined);
    first.wire.isCut = true;
    await pass(clock, 6_000);
    events.last = 12;
    t.teardown(() => {
      events.last = 0;
    });
    first.wire.isCut = false;
    await pass(clock, 3_000);
    t.match(first.member?.refusal(), 'This member was cut off and is reading what happened');
    t.equal(second.member?.refusal(), undefined);
    first.applied = 12;
    await pass(clock, 100);
    t.equal(first.member?.refusal(), undefined);
  });
}

test('a clock that is set while the member runs is noticed at once', async (t) => {
  const { clock, log } = world();
  const one = start(log, clock);
  await pass(clock, 2_000);
  t.ok(owned(one).length > 0);
  clock.jump(20_000);
  t.match(one.member?.refusal(), '20 s ahead of the clock of NATS');
  t.same(owned(one), []);
  clock.jump(-20_000);
  t.equal(one.member?.refusal(), undefined);
});

test('an owner whose clock is set wrong hands its shares to the others', async (t) => {
  const { clock, log } = world();
  const [first, second] = [start(log, clock), start(log, clock)];
  await pass(clock, 8_000);
  t.ok(owned(first).length > 0);
  first.clock.setMs = 15_000;
  await pass(clock, 8_000);
  t.match(first.member?.refusal(), '15 s ahead of the clock of NATS');
  t.equal(owned(second).length, SHARES.length);
  first.clock.setMs = 0;
  await pass(clock, 8_000);
  t.ok(owned(first).length > 0, 'and gets its shares back');
});

test('DUR-30: a member with a lasting fault gives its shares to the others', async (t) => {
  const { clock, log } = world();
  const three = [start(log, clock), start(log, clock), start(log, clock)];
  await pass(clock, 8_000);
  const [sick, ...others] = three as [Started, Started, Started];
  const before = owned(sick);
  sick.fault = 'The data disk is full';
  await pass(clock, STAND_DOWN_MS - 1_500);
  t.same(owned(sick), before, 'a short fault moves nothing');
  await pass(clock, 4_000);
  t.same(owned(sick), []);
  t.same(shared(others), { single: SHARES.length, several: [] });
  const seen = others[0]?.member?.members().find(({ node }) => node === sick.member?.node);
  t.match(seen, { status: 'unfit', standsDown: 'The data disk is full', shares: [] });
  t.equal(sick.member?.refusal(), undefined, 'it still vouches for credentials');

  sick.fault = undefined;
  await pass(clock, FIT_AGAIN_MS - 2_000);
  t.same(owned(sick), [], 'it is not trusted at once');
  await pass(clock, 8_000);
  t.same(owned(sick), before, 'and gets its shares back');
});

test('DUR-30: while every member is unfit, the holders stay, and a lost share is taken', async (t) => {
  const { clock, log } = world();
  const three = [start(log, clock), start(log, clock), start(log, clock)];
  await pass(clock, 8_000);
  const [first, second, third] = three as [Started, Started, Started];
  first.fault = 'Commits cannot be applied';
  await pass(clock, 12_000);
  const before = three.map(owned);
  t.same(before[0], []);
  for (const each of [second, third]) each.fault = 'Commits cannot be applied';
  await pass(clock, 12_000);
  t.same(three.map(owned), before, 'they do not return to the first that stood down');
  second.clock.isSuspended = true;
  await pass(clock, 8_000);
  t.same(shared([first, third]), { single: SHARES.length, several: [] });
  first.fault = undefined;
  await pass(clock, FIT_AGAIN_MS + 4_000);
  t.equal(owned(first).length, SHARES.length, 'the first that is well again takes everything');
  t.same(owned(third), []);
});

test('DUR-30: a share of a newer program goes to no member that is too old for it', async (t) => {
  const { clock, log } = world();
  const [first, second] = [start(log, clock), start(log, clock)];
  first.barred = [3];
  await pass(clock, 8_000);
  t.ok(owned(second).includes(3));
  second.fault = 'The data disk is full';
  await pass(clock, 10_000);
  t.same(owned(second), [3], 'the one that stands down keeps it');
  t.equal(owned(first).length, SHARES.length - 1);
});

/** Injects a random fault into one member. */
function disturb(started: Started, random: Random): void {
  const { clock, wire } = started;
  const what = fraction(random);
  if (clock.isSuspended) clock.resume();
  else if (wire.isCut) wire.isCut = false;
  else if (started.fault !== undefined) started.fault = undefined;
  else if (what < 0.3) started.fault = 'The data disk is full';
  else if (what < 0.6) clock.isSuspended = true;
  else if (what < 0.9) wire.isCut = true;
  else wire.delayMs = () => Math.floor(fraction(random) ** 4 * 3_000);
}

for (const seed of [1, 2, 3, 4]) {
  test(`no two members act for one share under random faults (seed ${seed})`, async (t) => {
    const random = seededRandom(seed);
    const { clock, log } = world();
    const skewed = () =>
      start(log, clock, { skewMs: Math.round((fraction(random) - 0.5) * 30_000) });
    const all = [skewed(), start(log, clock), skewed(), start(log, clock)];
    const twice = new Set<Share>();
    let [moments, covered] = [0, 0];
    for (let steps = 0; steps < 1_200; steps++) {
      await clock.advance(250);
      for (let turns = 0; turns < 6; turns++) await new Promise((done) => setImmediate(done));
      // A suspended member does nothing: its shares count once it resumes.
      const { single, several } = shared(all.filter((each) => !each.clock.isSuspended));
      for (const share of several) twice.add(share);
      moments++;
      if (single === SHARES.length) covered++;
      const one = all[Math.floor(fraction(random) * all.length)];
      if (one && fraction(random) < 0.04) disturb(one, random);
    }
    t.same([...twice], []);
    t.ok(covered > moments / 5, `every share has its owner at ${covered} of ${moments} moments`);
    for (const each of all) {
      const { clock: own, wire } = each;
      each.fault = undefined;
      Object.assign(wire, { isCut: false, delayMs: () => 5 });
      own.resume();
    }
    await pass(clock, FIT_AGAIN_MS + 20_000);
    t.same(
      shared(all),
      { single: SHARES.length, several: [] },
      'after the faults every share has one owner',
    );
    const epochs = new Map<string, number>();
    for (const { subject, data } of log.messages) {
      if (!subject.startsWith(leaseSubject(0).slice(0, -1))) continue;
      const { epoch } = JSON.parse(Buffer.from(data).toString()) as { epoch: number };
      t.equal(epoch, (epochs.get(subject) ?? epoch - 1) + 1);
      t.ok(epoch > START_MS / 1000, 'above those of an earlier table');
      epochs.set(subject, epoch);
    }
  });
}
