/**
 * Notices of who can get in: every change is listed or counted in one of them, however they come,
 * and no sequence of changes makes more of them than a mailbox can bear.
 */
import fc from 'fast-check';
import t from 'tap';
import type { RunningHost } from '../../actors/host.ts';
import {
  type AccessNotice,
  LISTED_MAX,
  noteAccessChange,
  sentencesOf,
  shownTo,
} from '../../actors/identity/access-notices.ts';
import { startWorld, tester } from '../support/credential-world.ts';

const MINUTE_MS = 60_000;
const OWNER = { member: 'owner', isOwner: true } as const;

function noticesOf(host: RunningHost): AccessNotice[] {
  const { items } = host.view('demo').records('notice', { limit: 500 });
  return items.map(({ body }) => body as unknown as AccessNotice);
}

type Change = Parameters<typeof noteAccessChange>[1];

const change: fc.Arbitrary<{ readonly afterMs: number; readonly change: Change }> = fc.record({
  afterMs: fc.constantFrom(0, 1_000, 59_999, 60_000, 600_000, 3_600_000),
  change: fc.record({
    text: fc.constantFrom('a key was made', 'an owner was added'),
    isForOwners: fc.constant(true),
    member: fc.constantFrom(null, 'bob'),
    isLeak: fc.constantFrom(false, false, true),
  }),
});

t.test('every change is in one notice, and notices keep their distance', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 60 }), async (changes) => {
      const { host, clock } = await startWorld(t);
      const startMs = clock.now();
      for (const { afterMs, change } of changes) {
        clock.jump(afterMs);
        await host.submit({
          ...{ project: 'demo', by: tester },
          decide: (draft) => noteAccessChange(draft, change),
        });
      }
      const notices = noticesOf(host);
      const noted = notices.reduce((sum, { changes, more }) => sum + changes.length + more, 0);
      const leaks = changes.filter(({ change }) => change.isLeak).length;
      const windows = Math.ceil((clock.now() - startMs) / (10 * MINUTE_MS)) + 1;
      const closes = notices.map(({ closesMs }) => closesMs).sort((a, b) => a - b);
      const areApart = closes.every((ms, i) => i === 0 || ms - (closes[i - 1] ?? 0) >= MINUTE_MS);
      return noted === changes.length && notices.length <= windows + leaks && areApart;
    }),
    { numRuns: 40, seed: 7 },
  );
  t.pass();
});

t.test(
  'a hundred keys in a minute are one notice, which lists some and counts others',
  async (t) => {
    const { host, clock } = await startWorld(t);
    for (let n = 0; n < 100; n++) {
      await host.submit({
        ...{ project: 'demo', by: tester },
        decide(draft) {
          const member = n === 99 ? 'bob' : null;
          noteAccessChange(draft, { text: `key ${n}`, isForOwners: true, member });
        },
      });
      clock.jump(100);
    }
    const [notice, ...others] = noticesOf(host);
    if (!notice) throw new Error('There is no notice');
    t.same(others, []);
    const shown = shownTo(notice, OWNER);
    const sentences = shown ? sentencesOf(shown) : [];
    t.equal(sentences.length, LISTED_MAX + 1);
    t.equal(sentences.at(-1), '80 further changes');
    const bobs = shownTo(notice, { member: 'bob', isOwner: false });
    t.same(
      bobs && sentencesOf(bobs),
      ['Some further changes'],
      'nobody whom it concerns is left out',
    );
    t.equal(shownTo(notice, { member: 'eve', isOwner: false }), undefined);
  },
);
