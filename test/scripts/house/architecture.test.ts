/**
 * Keeps docs/architecture.md true: each step of its walks names a file and one of its declarations,
 * steps are connected, and every link resolves. Fix failures in the page.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { readCheckout, sourcesOf } from '../../../scripts/house/checkout.ts';
import { withTable } from '../../../scripts/house/picture/page.ts';
import { walkFindings, walksOf } from '../../../scripts/house/walks.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');

test('each step of the nine walks names an existing declaration and leads to the next step', async (t) => {
  const walks = walksOf(page);
  t.equal(walks.length, 9, 'six of data and people, three of faults');
  const { sources } = readCheckout(root);
  for (const walk of walks) t.same(walkFindings(walk, sources), [], walk.title);
});

test('every link of the page leads to a file or folder of the checkout', async (t) => {
  const links = [...page.matchAll(/\]\(([^)#]+)\)/g)].map(([, address = '']) => address);
  t.ok(links.length > 50);
  const broken = links.filter((address) => !existsSync(join(root, 'docs', address)));
  t.same(broken, []);
});

test("answers to a newcomer's questions cite the steps by number", async (t) => {
  const [sample] = walksOf(page);
  const fileOf = (number: number) => sample?.steps[number - 1]?.path;
  const row = (question: string) =>
    page.split('\n').find((line) => line.startsWith(`| ${question}`)) ?? '';
  const numbers = (text: string) => [...text.matchAll(/step (\d+)/g)].map(([, n]) => Number(n));
  t.same(numbers(row('Where does a late sample')).map(fileOf), [
    'actors/telemetry/ingest/ingest.ts',
    'streams/alerting/evaluation/series-buffer.ts',
  ]);
  t.same(numbers(row('What stops a message')).map(fileOf), [
    'actors/delivery/audience.ts',
    'actors/delivery/sending.ts',
  ]);
});

test('each of at least twenty answers names at most four files', async (t) => {
  const [, table = ''] = page.split('## Where to find what');
  const answers = (table.split('\n## ')[0] ?? '')
    .split('\n')
    .filter((line) => /^\| \w.*\?/.test(line));
  t.ok(answers.length >= 20);
  for (const answer of answers) {
    const files = new Set(answer.match(/\]\(\.\.[^)]*\.ts\)/g));
    t.ok(files.size <= 4, answer);
  }
});

test('every link within the page leads to one of its headings', async (t) => {
  const headings = [...page.matchAll(/^## (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  const anchors = [...page.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor = '']) => anchor);
  t.ok(anchors.length > 10);
  t.same(
    anchors.filter((anchor) => !headings.includes(anchor)),
    [],
  );
});

const FILES = sourcesOf(
  new Map([
    ['src/a.ts', "import { b } from './b.ts';\nexport function a(port: Port): void {}\n"],
    ['src/b.ts', 'export const b = 1;\n'],
    ['actors/c.ts', 'class C implements Port {\n  async decide(): Promise<void> {}\n}\n'],
  ]),
);

const walk = (...steps: readonly string[]) => {
  const [only] = walksOf(`# Page\n\n## A walk\n\n${steps.join('\n')}\n`);
  return only ? walkFindings(only, FILES) : ['no walk'];
};

test('a step is connected by an import, or by a name that both files use', async (t) => {
  t.same(
    walk(
      '1. [`src/a.ts`](../src/a.ts) `a`: begins.',
      '2. [`src/b.ts`](../src/b.ts) `b`: goes on.',
      '3. [`actors/c.ts`](../actors/c.ts) `decide`, from 1, by `Port`: ends.',
    ),
    [],
  );
});

test('each kind of false step is reported with its number', async (t) => {
  const first = '1. [`src/b.ts`](../src/b.ts) `b`: begins.';
  const cases: readonly (readonly [string, RegExp])[] = [
    ['2. [`src/gone.ts`](../src/gone.ts) `a`: ends.', /step 2: src\/gone\.ts does not exist/],
    ['2. [`src/a.ts`](../src/a.ts) `gone`: ends.', /step 2: src\/a\.ts declares no gone/],
    ['2. [`actors/c.ts`](../actors/c.ts) `C`: ends.', /step 2: nothing connects src\/b\.ts and/],
    ['3. [`src/a.ts`](../src/a.ts) `a`, from 1: ends.', /step 3: follows step 1/],
  ];
  for (const [step, wanted] of cases) {
    const findings = walk(first, step);
    t.equal(findings.length, 1, findings.join('\n'));
    t.match(findings[0], wanted);
  }
  t.throws(() => walk('1. [`src/a.ts`](../src/b.ts) `a`: another link.'), /Not a step/);
});

test('the table of rooms is written only between its marks', async (t) => {
  const marked = 'a\n<!-- rooms: written by npm run draw -->\nold\n<!-- end of rooms -->\nb\n';
  t.match(withTable(marked, 'new $1\n'), /^a\n.*-->\nnew \$1\n<!-- end of rooms -->\nb\n$/);
  t.throws(() => withTable('a page', ''), /marks/);
});
