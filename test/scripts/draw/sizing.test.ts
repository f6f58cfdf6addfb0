/** The picture of docs/operations/sizing.md: bounds in order, each with its text inside the paper. */
import { readFileSync } from 'node:fs';
import { test } from 'tap';
import { boundsOfVms, paintSizing } from '../../../scripts/draw/sizing.ts';

test('the bound that is reached first is drawn first, from the default settings', async (t) => {
  const bounds = boundsOfVms();
  const counts = bounds.map(({ vms }) => vms);
  t.same(
    counts,
    counts.toSorted((a, b) => a - b),
  );
  const head = bounds.find(({ moves }) => moves.startsWith('SVC_HEAD_MIB'));
  t.equal(Math.round((head?.vms ?? 0) / 1000), 65, '1 GiB for 16.5 KB each');
  const picture = paintSizing();
  for (const { what, moves } of bounds) {
    t.ok(picture.includes(`>${what}</text>`), what);
    t.ok(picture.includes(`>${moves}</text>`), moves);
  }
  const [, width = '', height = ''] = /width="(\d+)" height="(\d+)"/.exec(picture) ?? [];
  const xs = Array.from(picture.matchAll(/ x="([\d.]+)"/g), ([, x]) => Number(x));
  const ys = Array.from(picture.matchAll(/ y="([\d.]+)"/g), ([, y]) => Number(y));
  t.ok(Math.max(...xs) < Number(width) && Math.max(...ys) < Number(height));
});

test('the page shows the picture', async (t) => {
  const page = readFileSync(new URL('../../../docs/operations/sizing.md', import.meta.url), 'utf8');
  t.match(page, '](sizing.svg)');
});
