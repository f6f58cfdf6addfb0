/**
 * Keeps `docs/requirements.md` true, which is what the sources and tests cite: each requirement has
 * an id of its own and tests that exist under exactly the names given there, what is cited anywhere
 * is on the page, and nothing cites a document that a clone does not have.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { componentPath, needs } from '../support/components.ts';
import { numbered, written } from './restated-rows.ts';

const root = join(import.meta.dirname, '../..');

interface Requirement {
  readonly id: string;
  readonly area: string;
  readonly title: string;
  readonly tests: readonly { readonly file: string; readonly name: string }[];
}

const page = readFileSync(join(root, 'docs/requirements.md'), 'utf8');
const requirements: readonly Requirement[] = [
  ...page.matchAll(/^\*\*(([A-Z]+)-\d\d) (.+?)\.\*\* [\s\S]+?(?=^\*\*|^## |(?![\s\S]))/gm),
].map(([block, id = '', area = '', title = '']) => ({
  ...{ id, area, title },
  tests: [...block.matchAll(/^- `(.+?)`: (.+)$/gm)].map(([, file = '', name = '']) => ({
    file,
    name,
  })),
}));

/** Names as they stand in the source, with `…` for what a name takes from a table. */
function namesIn(file: string): Set<string> {
  const text = readFileSync(join(root, file), 'utf8');
  const calls = text.matchAll(/\b(?:test\(|walk\(\s*t,)\s*(['"`])((?:\\.|(?!\1).)*)\1/gs);
  return new Set(
    [...calls].map(([, , name = '']) => name.replace(/\$\{.*?\}/g, '…').replace(/\\(.)/g, '$1')),
  );
}

t.test(
  'the requirements of a chapter are numbered from 1, without a gap and each once',
  async (t) => {
    const numbers = new Map<string, string[]>();
    for (const { id, area } of requirements) {
      const ids = numbers.get(area) ?? [];
      numbers.set(area, [...ids, id]);
      t.equal(id, `${area}-${String(ids.length + 1).padStart(2, '0')}`);
    }
    t.equal(requirements.length, page.match(/^\*\*[A-Z]+-\d/gm)?.length, 'all of the page is read');
  },
);

t.test('every requirement has tests, each there under exactly its name', async (t) => {
  const known = new Map<string, Set<string>>();
  for (const { id, tests } of requirements) {
    t.ok(tests.length > 0, id);
    for (const { file, name } of tests) {
      const isThere = existsSync(join(root, file));
      const names = known.get(file) ?? (isThere ? namesIn(file) : new Set());
      known.set(file, names);
      t.ok(names.has(name), `${id}: "${name}" in ${file}`);
    }
  }
});

t.test(
  'a transition, an error, a limit, a case and a tenancy rule name one of their tests',
  async (t) => {
    for (const { id, area, title, tests } of requirements) {
      if (!['STATE', 'ERR', 'LIMIT', 'EVAL', 'TEN'].includes(area)) continue;
      const named = tests.filter(
        ({ name }) => name.includes(id) || plain(name).includes(plain(title)),
      );
      t.ok(named.length > 0, `${id} ${title}`);
      if (area === 'EVAL' || area === 'TEN') t.equal(named.length, tests.length, id);
    }
  },
);

/** Words alone, so that a name may put a comma or a colon where the title has none. */
function plain(text: string): string {
  return text
    .replace(/[^a-z0-9]+/gi, ' ')
    .trim()
    .toLowerCase();
}

t.test('every id that is cited is a requirement, and no document outside is cited', async (t) => {
  const ids = new Set(requirements.map(({ id }) => id));
  const areas = [...new Set(requirements.map(({ area }) => area))].join('|');
  const cited = new RegExp(`\\b(?:${areas})-\\d\\d\\b`, 'g');
  const listed = execFileSync('git', ['ls-files', '-z', '*.ts', '*.md', '*.proto', '*.go'], {
    cwd: root,
    encoding: 'utf8',
  });
  const isFile = (file: string) => statSync(join(root, file), { throwIfNoEntry: false })?.isFile();
  for (const file of listed.split('\0').filter((file) => file !== '' && isFile(file))) {
    const text = readFileSync(join(root, file), 'utf8');
    const unknown = text.match(cited)?.filter((id) => !ids.has(id));
    t.notOk(unknown?.length, `${file}: ${unknown}`);
    if (file.startsWith('test/requirements/')) continue;
    const outside = text.match(OUTSIDE);
    t.notOk(outside, `${file} cites ${outside?.[0]}: cite an id of docs/requirements.md`);
  }
});

/** Names of documents beside the checkout, and the way in which their sections were cited. */
const OUTSIDE =
  /\b(?:evaluation|interface|design|ci-trust|durability|tenancy|house|api)\.md\b|\binterface,? sections? \d|\(design,? ?(?:§|section)|\bspec,? ?(?:§|section)/;

const shared = () => componentPath('shared folder');

t.test(
  'no row of the documents that were restated is missing',
  needs('shared folder'),
  async (t) => {
    const sections = readFileSync(join(shared(), 'spec/interface.md'), 'utf8').split(/^## /m);
    const section = (number: number) => sections[number] ?? '';
    const measured = section(1).split('### Measurement semantics')[1] ?? '';
    restated(t, 'MEAS', rowsAndPoints(measured));
    const identities = section(2).split('### Identities')[1]?.split('### ')[0] ?? '';
    restated(t, 'IDN', rowsAndPoints(identities));
    const [before = '', after = ''] = section(3).split(/(?=^Before sending)/m);
    const sentences = after.split('\n')[0]?.split(/(?<=\.) /) ?? [];
    restated(t, 'STATE', [...rowsAndPoints(before), ...sentences]);
    const troubles = section(7)
      .split('\n')
      .filter((line) => line.startsWith('Troubleshooting'));
    restated(t, 'ERR', [...rowsAndPoints(section(7)), ...troubles]);
    restated(t, 'LIMIT', rowsAndPoints(section(8)));
    sameNumbers(t, 'API', section(4));
    sameNumbers(t, 'AUTH', section(5));
    sameNumbers(t, 'EVENT', section(6));
    sameNumbers(t, 'EVAL', readFileSync(join(shared(), 'evaluation.md'), 'utf8'));
    const webhooks = readFileSync(join(shared(), 'webhooks.md'), 'utf8').split(/^## /m).slice(1);
    const points = webhooks.flatMap((part) => {
      const [title = '', ...lines] = part.split('\n');
      const heading = title.replace(/[(:].*/, '').trim();
      const listed = lines.filter((line) => line.startsWith('- '));
      return [heading, ...listed.map((line) => `${heading} ${line}`)];
    });
    restated(t, 'HOOK', points);
  },
);

/** Rows of tables, without their heads, and points of lists. */
function rowsAndPoints(text: string): string[] {
  const lines = text.split('\n');
  return lines.filter(
    (line, i) => /^(\| (?!---)|- )/.test(line) && !lines[i + 1]?.startsWith('| ---'),
  );
}

/** Each line begins with the row of one requirement, the longest that fits, and each row has one. */
function restated(t: Test, area: keyof typeof written, lines: readonly string[]): void {
  const rows = written[area];
  const met = new Set<string>();
  for (const line of lines) {
    const [row] = rows.filter((row) => line.startsWith(row)).sort((a, b) => b.length - a.length);
    t.ok(row !== undefined && !met.has(row), `${area}: ${line}`);
    if (row !== undefined) met.add(row);
  }
  t.equal(met.size, rows.length, `${area}: what the document no longer has`);
  hasAll(t, area, rows);
}

/** `1`, `2`, ... and `4.1`, ... of the points below a rule, from below the title on. */
function sameNumbers(t: Test, area: keyof typeof numbered, section: string): void {
  let rule = '';
  const numbers = section
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, indent, number] = /^( *)(\d+)\. /.exec(line) ?? [];
      if (number === undefined) return [];
      if (indent !== '') return [`${rule}.${number}`];
      rule = number;
      return [number];
    });
  t.same(numbered[area].split(' '), numbers, area);
  hasAll(t, area, numbers);
}

/** The first requirements of a chapter are the rows, in their order. */
function hasAll(t: Test, area: string, rows: readonly unknown[]): void {
  const count = requirements.filter((requirement) => requirement.area === area).length;
  t.ok(count >= rows.length, `${area}: ${rows.length} rows, ${count} requirements`);
}
