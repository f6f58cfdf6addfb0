/** Pages of filtered lists: no row is lost or repeated, and a page ends even if no row matches. */
import * as fc from 'fast-check';
import { test } from 'tap';
import { collect } from '../../src/platform/api/paging.ts';
import { Refusal } from '../../streams/platform/refusal.ts';

const atOnce = () => Promise.resolve();

/** A list of numbers, read in pages whose tokens name the last number returned. */
function listOf(rows: readonly number[], keep: (row: number) => boolean) {
  const reads: number[] = [];
  const read = ({ limit, after }: { limit: number; after?: string }) => {
    reads.push(limit);
    const rest = rows.filter((row) => after === undefined || row > Number(after));
    const items = rest.slice(0, limit);
    const last = items.at(-1);
    const more = rest.length > limit && last !== undefined ? { next: String(last) } : {};
    return { items: items.map((row) => (keep(row) ? row : undefined)), ...more };
  };
  return { reads, read };
}

test('API-13: successive pages hold each filtered row once, in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.nat(999), { maxLength: 60 }),
      fc.integer({ min: 1, max: 10 }),
      fc.integer({ min: 1, max: 5 }),
      async (numbers, pageSize, divisor) => {
        const rows = [...numbers].sort((a, b) => a - b);
        const { read } = listOf(rows, (row) => row % divisor === 0);
        const listed: number[] = [];
        let pageToken = '';
        do {
          const page = await collect('numbers', { pageSize, pageToken }, read, atOnce);
          if (page.items.length > pageSize) return false;
          listed.push(...page.items);
          pageToken = page.nextPageToken;
        } while (pageToken !== '');
        const wanted = rows.filter((row) => row % divisor === 0);
        return JSON.stringify(listed) === JSON.stringify(wanted);
      },
    ),
    { seed: 3 },
  );
});

test('A filter without matches ends its page after 1,000 rows, with a token', async (t) => {
  const rows = Array.from({ length: 2_500 }, (_, i) => i);
  const { reads, read } = listOf(rows, (row) => row === 2_400);
  const first = await collect('numbers', { pageSize: 50, pageToken: '' }, read, atOnce);
  t.same(first.items, []);
  t.equal(reads.length, 20, '20 reads of 50');
  t.not(first.nextPageToken, '');
  const second = await collect(
    'numbers',
    { pageSize: 50, pageToken: first.nextPageToken },
    read,
    atOnce,
  );
  const third = await collect(
    'numbers',
    { pageSize: 50, pageToken: second.nextPageToken },
    read,
    atOnce,
  );
  t.same(third, { items: [2_400], nextPageToken: '' });
});

test('API-13: a page token of another list, or an invalid one, is rejected', async (t) => {
  const { read } = listOf([1, 2, 3], () => true);
  const refused = (request: { pageSize: number; pageToken: string }) =>
    collect('numbers', request, read, atOnce).then(
      () => 'accepted',
      (error: unknown) => (error instanceof Refusal ? error.reason : error),
    );
  for (const pageToken of ['x', 'e30', Buffer.from('["letters","1"]').toString('base64url')]) {
    t.equal(await refused({ pageSize: 1, pageToken }), 'INVALID_FIELD');
  }
  t.equal(await refused({ pageSize: -1, pageToken: '' }), 'INVALID_FIELD');
  t.equal(await refused({ pageSize: 5_000, pageToken: '' }), 'accepted', 'cut to the maximum');
});

test('API-31: a large page is read at most 100 rows per turn', async (t) => {
  const { reads, read } = listOf(
    Array.from({ length: 2_000 }, (_, i) => i),
    () => true,
  );
  const readBefore: number[] = [];
  const turn = async () => void readBefore.push(reads.length);
  const page = await collect('numbers', { pageSize: 1_000, pageToken: '' }, read, turn);
  t.equal(page.items.length, 1_000);
  t.same(new Set(reads), new Set([100]), 'no read is longer');
  t.same(readBefore, [1, 2, 3, 4, 5, 6, 7, 8, 9], 'one turn between any two reads');
});
