/** The figures of `npm run house`, on a checkout of a few lines. */
import { test } from 'tap';
import { sourcesOf } from '../../../scripts/house/checkout.ts';
import { commentPercent, measure } from '../../../scripts/house/measure.ts';

test('files and lines are counted by floor, and a cast is named with its line', async (t) => {
  const texts = new Map([
    ['src/cli/a.ts', '/** A. */\nexport const a = 1;\n'],
    ['src/gen/b.ts', 'export const b = {} as unknown as string;\n'],
    ['actors/vms/c.ts', 'export const c = 1;\nexport const d = c as unknown as string;\n'],
  ]);
  const sources = sourcesOf(texts);
  const { figures, findings } = measure({ root: '', paths: [...texts.keys()], sources, tests: [] });
  const figure = Object.fromEntries(figures);
  t.match(figure, { src: '1 files, 2 lines', actors: '1 files, 2 lines', 'as unknown as': '1' });
  t.match(figure, { generated: '1 files, 1 lines', 'lines of comments': '25.0 %' });
  t.ok(findings.includes('actors/vms/c.ts:2'));
});

test('comment lines are lines without code, among those that are not empty', async (t) => {
  const text = '/**\n * One.\n */\n\n  const a = 1; // x\n// y\n';
  t.equal(commentPercent([text]), 80);
});
