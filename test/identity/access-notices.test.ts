/**
 * Notices about who has access: every change is listed or counted in a notice, however many changes
 * arrive at once, and the number of notices is bounded for any sequence of changes.
 */
import fc from 'fast-check';
import { test } from 'tap';
import {
  type AccessMatter,
  type AccessNotice,
  displayedTo,
  KEPT,
  LISTED_MAX,
  recordAccessChange,
  sentencesOf,
} from '../../actors/identity/access-notices.ts';
import type { RunningHost } from '../../actors/platform/host/host.ts';
import { startWorld } from '../support/host-in-memory.ts';
import { submit } from '../support/submit.ts';
import { tries } from '../support/tries.ts';

const MINUTE_MS = 60_000;
const OWNER = { member: 'owner', isOwner: true } as const;

function noticesOf(host: RunningHost): AccessNotice[] {
  const { items } = host.view('demo').records('notice', { limit: 500 });
  return items.map(({ body }) => body as unknown as AccessNotice);
}

type Change = Parameters<typeof recordAccessChange>[1];

const change: fc.Arbitrary<{ readonly afterMs: number; readonly change: Change }> = fc.record({
  afterMs: fc.constantFrom(0, 1_000, 59_999, 60_000, 600_000, 3_600_000),
  change: fc.record({
    text: fc.constantFrom('a key was made', 'an owner was added'),
    isForOwners: fc.constant(true),
    member: fc.constantFrom(null, 'bob'),
    about: fc.constantFrom<AccessMatter>('KEY', 'ACCESS', 'LEAK'),
  }),
});

test('every change is in one notice, and notices keep their minimum interval', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 60 }), async (changes) => {
      const { host, clock } = await startWorld(t);
      const startMs = clock.now();
      for (const { afterMs, change } of changes) {
        clock.jump(afterMs);
        await submit(host, { project: 'demo' }, (draft) => recordAccessChange(draft, change));
      }
      const notices = noticesOf(host);
      const noted = notices.reduce((sum, { changes, more }) => sum + changes.length + more, 0);
      const leaks = changes.filter(({ change }) => change.about === 'LEAK').length;
      const windows = Math.ceil((clock.now() - startMs) / (10 * MINUTE_MS)) + 1;
      const closes = notices.map(({ closesMs }) => closesMs).sort((a, b) => a - b);
      const areApart = closes.every((ms, i) => i === 0 || ms - (closes[i - 1] ?? 0) >= MINUTE_MS);
      return noted === changes.length && notices.length <= windows + leaks && areApart;
    }),
    { numRuns: tries(40), seed: 7 },
  );
  t.pass();
});

test('a hundred keys in a minute become one notice, which lists some and counts the rest', async (t) => {
  const { host, clock } = await startWorld(t);
  for (let n = 0; n < 100; n++) {
    await submit(host, { project: 'demo' }, (draft) => {
      const member = n === 99 ? 'bob' : null;
      recordAccessChange(draft, { about: 'KEY', text: `key ${n}`, isForOwners: true, member });
    });
    clock.jump(100);
  }
  const [notice, ...others] = noticesOf(host);
  if (!notice) throw new Error('There is no notice');
  t.same(others, []);
  const displayed = displayedTo(notice, OWNER);
  const sentences = displayed ? sentencesOf(displayed) : [];
  t.equal(sentences.length, LISTED_MAX + 1);
  t.equal(sentences.at(-1), '80 further changes');
  const bobs = displayedTo(notice, { member: 'bob', isOwner: false });
  t.same(
    bobs && sentencesOf(bobs),
    ['Some further changes'],
    'every member who is affected is notified',
  );
  t.equal(displayedTo(notice, { member: 'eve', isOwner: false }), undefined);
});

async function recording(t: Parameters<typeof startWorld>[0]) {
  const { host, clock } = await startWorld(t);
  const record = (about: AccessMatter, text: string) =>
    submit(host, { project: 'demo' }, (draft) =>
      recordAccessChange(draft, { about, text, isForOwners: true, member: null }),
    );
  const listed = () => noticesOf(host).flatMap(({ changes }) => changes.map(({ text }) => text));
  return { host, clock, record, listed };
}

test('keys and leaks never hide an owner: serious changes take precedence', async (t) => {
  const { record, listed } = await recording(t);
  for (let n = 0; n < 30; n++) await record('KEY', `key ${n}`);
  await record('ACCESS', 'owner 0');
  await record('LEAK', 'leak 0');
  t.match(listed(), ['key 0', 'key 1']);
  t.same(listed().slice(-2), ['owner 0', 'leak 0']);
  const many = await recording(t);
  for (let n = 0; n < 3 * LISTED_MAX; n++) {
    await many.record('KEY', `key ${n}`);
    await many.record('ACCESS', `owner ${n}`);
    await many.record('KEY', `another key ${n}`);
  }
  const owners = many.listed().filter((text) => text.startsWith('owner'));
  t.same(new Set(owners).size, 3 * LISTED_MAX, 'all of them are listed, none is only counted');
});

test('endless leaks become one mail in ten minutes', async (t) => {
  const { host, clock, record } = await recording(t);
  for (let minute = 0; minute < 60; minute++) {
    await record('LEAK', `leak ${minute}`);
    clock.jump(MINUTE_MS);
  }
  t.ok(noticesOf(host).length <= 10, `${noticesOf(host).length} notices`);
  clock.jump(60 * MINUTE_MS);
  await record('LEAK', 'a leak');
  const [latest] = noticesOf(host).slice(-1);
  t.equal(latest?.closesMs, clock.now(), 'after a quiet hour the next notice is sent at once');
});

test('noise never overwrites a notice that lists more than keys', async (t) => {
  const { host, clock, record, listed } = await recording(t);
  await record('ACCESS', 'an owner');
  for (let n = 0; n < KEPT + 20; n++) {
    clock.jump(30 * MINUTE_MS);
    await record(n % 2 === 0 ? 'KEY' : 'LEAK', `noise ${n}`);
  }
  t.equal(noticesOf(host).length, KEPT);
  t.ok(listed().includes('an owner'));
  t.ok(listed().includes(`noise ${KEPT + 19}`));
});

test('DUR-28: a notice begun while the clock was ahead is closed by the next change', async (t) => {
  const { host, clock } = await startWorld(t);
  const change = {
    text: 'a key was made',
    isForOwners: true,
    member: null,
    about: 'KEY',
  } as const;
  const record = () =>
    submit(host, { project: 'demo' }, (draft) => recordAccessChange(draft, change));
  clock.jump(60 * MINUTE_MS);
  await record();
  clock.jump(-60 * MINUTE_MS);
  await record();
  const closes = noticesOf(host).map(({ closesMs }) => closesMs - clock.now());
  t.equal(closes.length, 2);
  t.ok(Math.min(...closes) <= 10 * MINUTE_MS, closes.join());
});
