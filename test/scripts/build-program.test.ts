/** The bundle of the program: when `bin/svc.js` runs it, its threads, its licences, its stack traces. */
import { execFile } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import t, { test } from 'tap';
import { builtProgram, stampOf } from '../../bin/built-program.js';
import packageJson from '../../package.json' with { type: 'json' };
import { buildProgram } from '../../scripts/build-program.mjs';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

/** A folder as of a release: the bundle, the command, and the packages beside it. */
const folder = t.testdir({});
await buildProgram({ folder: join(folder, 'dist'), isRelease: true });
cpSync(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
cpSync(join(root, 'package.json'), join(folder, 'package.json'));
mkdirSync(join(folder, 'node_modules'));
symlinkSync(join(root, 'node_modules/better-sqlite3'), join(folder, 'node_modules/better-sqlite3'));
const bundle = join(folder, 'dist', builtProgram(folder) ?? '');

test('the command runs the bundle where there are no sources', async (t) => {
  const { stdout } = await execute(process.execPath, [join(folder, 'bin/svc.js'), 'version']);
  t.match(stdout, `svc ${packageJson.version} `);
});

test('each thread of the sources has its entry in the bundle', async (t) => {
  const texts = ['src', 'sqlite'].flatMap((floor) =>
    readdirSync(join(root, floor), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => readFileSync(join(root, floor, path), 'utf8')),
  );
  const named = /threadEntry\(import\.meta\.url, '([\w-]+)'\)|new URL\(`\.\/([\w-]+)\.\$\{/g;
  const threads = texts.flatMap((text) => [...text.matchAll(named)].map(([, a, b]) => a ?? b));
  t.ok(threads.length >= 8, `${threads}`);
  const files = readdirSync(bundle);
  t.same(
    threads.filter((name) => !files.includes(`${name}.js`)),
    [],
  );
});

test('a stack trace of the bundle names lines of the sources', async (t) => {
  const main = JSON.stringify(pathToFileURL(join(bundle, 'main.js')).href);
  const script = `const { main } = await import(${main});
await main(undefined).catch(({ stack }) => process.stdout.write(stack));`;
  const words = ['--input-type=module', '--eval', script];
  const { stdout } = await execute(process.execPath, words);
  const source = readFileSync(join(root, 'src/cli/program.ts'), 'utf8').split('\n');
  const line = 1 + source.findIndex((text) => text.includes('argv.map('));
  t.match(stdout, `src/cli/program.ts:${line})`);
  t.match(
    stdout,
    /^TypeError: .*\n {4}at runProgram \(file:.*\n {4}at main \(.*src\/main\.ts:\d+\)/,
  );
});

test('the bundle has the licences of its packages, and leaves out those that stay beside it', async (t) => {
  const text = readFileSync(join(bundle, 'LICENSES.txt'), 'utf8');
  t.match(text, /^fastify \d+\.\d+\.\d+ \(MIT\)$/m);
  t.match(text, /^rxjs \d+\.\d+\.\d+ \(Apache-2\.0\)$/m);
  t.notMatch(text, /^(elkjs|better-sqlite3) /m);
});

test('a bundle is current until one of its sources changes or disappears, or its manifest is damaged', async (t) => {
  const folder = t.testdir({ dist: {}, 'a.ts': 'a', 'b.ts': 'b' });
  const manifest = join(folder, 'dist/program.json');
  const stamp = (...paths: string[]) =>
    Object.fromEntries(paths.map((path) => [path, stampOf(join(folder, path))]));
  t.equal(builtProgram(folder), undefined, 'not built');
  const write = () =>
    writeFileSync(manifest, JSON.stringify({ folder: 'program-1', stamps: stamp('a.ts', 'b.ts') }));
  write();
  t.equal(builtProgram(folder), 'program-1');
  appendFileSync(join(folder, 'b.ts'), 'more');
  t.equal(builtProgram(folder), undefined, 'changed');
  write();
  t.equal(builtProgram(folder), 'program-1');
  rmSync(join(folder, 'a.ts'));
  t.equal(builtProgram(folder), undefined, 'removed');
  writeFileSync(manifest, '{"folder": "program-1", "sta');
  t.equal(builtProgram(folder), undefined, 'damaged');
});
