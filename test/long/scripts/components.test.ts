/** `npm run components` as a program, and a test without its component. Nothing is downloaded. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from 'tap';
import { componentTable, optionalPath } from '../../support/components.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const script = join(root, 'scripts/components.ts');
const execute = promisify(execFile);
const names = [...componentTable.keys()];

test('the command prints a row for each component and rejects unknown names', async (t) => {
  const { stdout } = await execute(process.execPath, [script, '--json']);
  const rows = JSON.parse(stdout) as { name: string }[];
  t.same(
    rows.map(({ name }) => name),
    names,
  );
  for (const [words, said] of [
    [['install', 'nginy'], /^npm run components: No component is called nginy/],
    [['bring'], /^npm run components: There is no command bring/],
    [['--jso'], /^npm run components: Unknown option '--jso'/],
  ] as const) {
    const refused = execute(process.execPath, [script, ...words]);
    await t.rejects(refused, { code: 2, stderr: said });
  }
});

test('a component that cannot be installed is refused with instructions', async (t) => {
  const env = { ...process.env, DEBIAN_BIN_CACHE: t.testdir() };
  const words = [script, 'install', 'shared folder'];
  const said = { code: 1, stderr: /shared folder is still missing: a folder of requirements/ };
  const installed = execute(process.execPath, words, { env });
  if (optionalPath('shared folder') === undefined) await t.rejects(installed, said);
  else t.match(await installed, { stdout: 'shared folder: here\n' });
});

test('a missing component skips a test with a reason, or fails it if it is required', async (t) => {
  const module = JSON.stringify(join(root, 'test/support/components.ts'));
  const source = `import { componentPath, needs } from ${module};
    let failure;
    try { componentPath('vmalert'); } catch (error) { failure = error.message; }
    process.stdout.write(JSON.stringify({ ...needs('vmalert'), failure }));`;
  const words = ['--input-type=module', '--eval', source];
  const said =
    'needs vmalert: run "npm run components -- install vmalert", or name it in SVC_TEST_VMALERT';
  for (const [required, skip] of [
    ['', { skip: said }],
    ['components', {}],
    ['all', {}],
  ] as const) {
    const env = { PATH: '', DEBIAN_BIN_CACHE: t.testdir(), SVC_TEST_REQUIRE: required };
    const { stdout } = await execute(process.execPath, words, { env });
    t.same(JSON.parse(stdout), { ...skip, failure: said }, required);
  }
});
