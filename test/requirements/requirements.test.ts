/**
 * Keeps `docs/requirements.md` true: each requirement has a unique id and tests that carry it, each
 * id in a test name or a source is on the page, and no file cites a document that a clone does not
 * have.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { readRequirements, readTaggedTests } from '../../scripts/requirements/requirement-index.ts';

const root = join(import.meta.dirname, '../..');
const requirements = readRequirements(root);
const tests = readTaggedTests(root);
const ids = new Set(requirements.map(({ id }) => id));
const areas = [...new Set([...ids].map(areaOf))];

test('requirements of a chapter are numbered from 1 without gaps or repeats', async (t) => {
  for (const area of areas) {
    const own = requirements.map(({ id }) => id).filter((id) => areaOf(id) === area);
    const numbered = own.map((_, i) => `${area}-${String(i + 1).padStart(2, '0')}`);
    t.same(own, numbered);
  }
  const page = readFileSync(join(root, 'docs/requirements.md'), 'utf8');
  t.equal(requirements.length, page.match(/^\*\*[A-Z]+-\d/gm)?.length, 'the whole page is read');
});

test('every requirement has a test that carries its id', async (t) => {
  for (const { id, title, tests } of requirements) {
    t.ok(
      tests.length > 0,
      `${id} ${title}: put the id in front of the name of a test that shows it`,
    );
  }
});

test('every id in a test name is a requirement, appears once and precedes the name', async (t) => {
  for (const { file, name, ids: carried } of tests) {
    const unknown = carried.filter((id) => !ids.has(id));
    t.notOk(
      unknown.length,
      `${file}: "${name}" carries ${unknown}, which docs/requirements.md does not have`,
    );
    t.equal(new Set(carried).size, carried.length, `${file}: "${name}" repeats an id`);
    t.notMatch(name.slice(name.indexOf(': ')), cited(), `${file}: "${name}"`);
  }
  for (const { file, name } of callNames()) {
    if (!cited().test(name) || tests.some((test) => test.file === file && test.name === name))
      continue;
    t.fail(`${file}: "${name}": put all ids in front of the name, followed by a colon`);
  }
});

test('names are read from tables, with several ids and with template values', async (t) => {
  const [first, second] = ['AAA-01', 'AAA-02'];
  const source = [
    `t.test('${first}: a name', async (t) => {});`,
    `await walk(t, "${first}, ${second}: a user’s walk", visitor, async () => {});`,
    `const rows = [['${second}: a row of a table', 7]];`,
    `t.test(\`${second}: a name on \${version}\`, needs(version), async (t) => {});`,
    `t.ok(true, 'no name (${first})');`,
  ];
  const folder = t.testdir({
    docs: { 'requirements.md': `**${first} One.** A.\n\n**${second} Two.** B.\n` },
    test: { deep: { 'x.test.ts': source.join('\n'), 'not-a-test.ts': source.join('\n') } },
  });
  const found = readRequirements(folder).map(({ id, title, tests }) => ({
    id,
    title,
    names: tests.map(({ name }) => name),
  }));
  t.same(found, [
    { id: first, title: 'One', names: [`${first}: a name`, `${first}, ${second}: a user’s walk`] },
    {
      id: second,
      title: 'Two',
      names: [
        `${first}, ${second}: a user’s walk`,
        `${second}: a row of a table`,
        `${second}: a name on …`,
      ],
    },
  ]);
});

test('every cited id is a requirement, and no document outside the clone is cited', async (t) => {
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '*.ts', '*.tsx', '*.mjs', '*.md', '*.proto', '*.go'],
    { cwd: root, encoding: 'utf8' },
  );
  const isFile = (file: string) => statSync(join(root, file), { throwIfNoEntry: false })?.isFile();
  for (const file of listed.split('\0').filter((file) => file !== '' && isFile(file))) {
    const text = readFileSync(join(root, file), 'utf8');
    const unknown = text.match(cited('g'))?.filter((id) => !ids.has(id));
    t.notOk(unknown?.length, `${file}: ${unknown}`);
    if (file.startsWith('test/requirements/')) continue;
    const outside = text.match(OUTSIDE);
    t.notOk(outside, `${file} cites ${outside?.[0]}: cite an id of docs/requirements.md`);
  }
});

/**
 * Names of documents beside the checkout, and the form in which their sections were cited. The page
 * docs/evaluation.md has no numbered sections.
 */
const OUTSIDE =
  /\bevaluation\.md,? \d|\b(?:interface|design|ci-trust|durability|tenancy|house|api)\.md\b|\binterface,? sections? \d|\(design,? ?(?:§|section)|\bspec,? ?(?:§|section)/;

/** An id of any chapter, on the page or not. */
function cited(flags = ''): RegExp {
  return new RegExp(`\\b(?:${areas.join('|')})-\\d\\d\\b`, flags);
}

function areaOf(id: string): string {
  return id.replace(/-\d\d$/, '');
}

/** Literals that are passed as a name to `test` or `walk`. */
function callNames(): { file: string; name: string }[] {
  return globSync('test/**/*.test.ts', { cwd: root }).flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const calls = text.matchAll(/\b(?:test\(|walk\(\s*t,)\s*(['"`])((?:\\.|(?!\1).)*)\1/gs);
    return [...calls].map(([, , name = '']) => ({
      file,
      name: name.replace(/\$\{.*?\}/g, '…').replace(/\\(.)/g, '$1'),
    }));
  });
}
