/**
 * The index of requirements: each statement of docs/requirements.md with its tests. A test's name
 * starts with the ids of its requirements, so the index follows from the sources and is not stored.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A test with ids. `name` includes them, and has `…` for each value of a template. */
export interface TaggedTest {
  /** Path from the root of the checkout. */
  readonly file: string;
  readonly name: string;
  readonly ids: readonly string[];
}

export interface Requirement {
  readonly id: string;
  readonly title: string;
  /** By file, and in the order of the file. Empty if no test has the id. */
  readonly tests: readonly TaggedTest[];
}

const ID = '[A-Z]{2,}-\\d\\d';

/**
 * A literal that starts with ids and a colon is the name of a test, whether it is passed to `test`,
 * to a function such as `walk`, or is in the row of a table.
 */
const TAGGED_NAME = new RegExp(
  `(['"\`])((${ID}(?:, ${ID})*): (?:\\\\.|(?!\\1)[^\\\\\\n])+)\\1`,
  'g',
);

/** The requirements of the checkout in `root`, in the order of the page. */
export function readRequirements(root: string): readonly Requirement[] {
  const page = readFileSync(join(root, 'docs/requirements.md'), 'utf8');
  const tests = readTaggedTests(root);
  const statements = page.matchAll(new RegExp(`^\\*\\*(${ID}) (.+?)\\.\\*\\* `, 'gm'));
  return [...statements].map(([, id = '', title = '']) => ({
    id,
    title,
    tests: tests.filter(({ ids }) => ids.includes(id)),
  }));
}

/** The tests with ids of the checkout in `root`, sorted by file. */
export function readTaggedTests(root: string): readonly TaggedTest[] {
  const files = globSync('test/**/*.test.ts', { cwd: root }).sort();
  return files.flatMap((file) => {
    const names = readFileSync(join(root, file), 'utf8').matchAll(TAGGED_NAME);
    return [...names].map(([, , name = '', ids = '']) => ({
      file,
      name: name.replace(/\$\{.*?\}/g, '…').replace(/\\(.)/g, '$1'),
      ids: ids.split(', '),
    }));
  });
}
