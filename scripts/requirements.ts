/**
 * `npm run requirements`: prints each requirement with its tests. Ids as arguments select
 * requirements (`npm run requirements EVAL-03 HOOK-28`); `--json` prints the index for programs
 * (`npm run --silent requirements -- --json`): a list of `{ id, title, tests }`, each test as `{
 * file, name }`. Unknown ids and options exit with code 2.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import './closed-output.ts';
import { type Requirement, readRequirements } from './requirements/requirement-index.ts';

const all = readRequirements(join(import.meta.dirname, '..'));
const { positionals: ids, values } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
});
const unknown = ids.filter((id) => !all.some((requirement) => requirement.id === id));
if (unknown.length > 0) {
  process.stderr.write(
    `docs/requirements.md has no ${unknown.join(', ')}. ` +
      'Run "npm run requirements" without ids to list all requirements.\n',
  );
  process.exitCode = 2;
} else {
  const selected = all.filter(({ id }) => ids.length === 0 || ids.includes(id));
  process.stdout.write(values.json ? jsonOf(selected) : selected.map(textOf).join('\n'));
}

function textOf({ id, title, tests }: Requirement): string {
  const lines = tests.map(({ file, name }) => `  ${file}: ${name}\n`);
  return `${id} ${title}\n${lines.join('') || '  no test\n'}`;
}

function jsonOf(requirements: readonly Requirement[]): string {
  const index = requirements.map(({ id, title, tests }) => ({
    id,
    title,
    tests: tests.map(({ file, name }) => ({ file, name })),
  }));
  return `${JSON.stringify(index, null, 2)}\n`;
}
