/**
 * A process of `npm test` that runs many test files, one after another, so that their imports are
 * loaded once. Each file's import of `tap` is a root test of its own, and the file ends when
 * nothing keeps the event loop alive, as if it had the process to itself. The files' names come
 * from file descriptor 3; a mark in the output follows each.
 */
import { globSync, readSync, rmSync } from 'node:fs';
import { flushCompileCache, type RegisterHooksOptions, registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import type { TestBase as AnyTest, TestOpts } from 'tap';
import { cpuMs } from './cpu.ts';
import { type EndOfFile, markOf } from './marks.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TIMEOUT_MS = Number(process.env.TAP_TIMEOUT ?? '30') * 1000;
const NAMES_FD = 3;
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
const HERE = { parentURL: import.meta.url, conditions: [], importAttributes: {} };
const ROOT_TEST = 'root test of the running file';

const hooks: RegisterHooksOptions = {
  resolve(specifier, context, next) {
    if (specifier === 'async-hook-domain') return next('./domain.ts', HERE);
    const isTest = specifier === 'tap' && context.parentURL?.endsWith('.test.ts');
    if (!isTest) return next(specifier, context);
    return { url: `root-test:${context.parentURL}`, shortCircuit: true };
  },
  load(url, context, next) {
    if (!url.startsWith('root-test:')) return next(url, context);
    const source = `const t = globalThis['${ROOT_TEST}'];
      export { t as default };
      export const test = t.test.bind(t);`;
    return { format: 'module', source, shortCircuit: true };
  },
};

/** State that all files of a process share, and that none may change for the next. */
function shared(): Readonly<Record<string, unknown>> {
  return {
    ...Object.fromEntries(SIGNALS.map((name) => [`listeners of ${name}`, process.listeners(name)])),
    ...Object.fromEntries(Object.entries(process.env).map(([name, value]) => [`$${name}`, value])),
    'current folder': process.cwd(),
    umask: umask(),
  };
}

/** Node can only read it by setting it. */
function umask(): number {
  const mask = process.umask(0o022);
  process.umask(mask);
  return mask;
}

function changed(before: ReturnType<typeof shared>): string[] {
  const after = shared();
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]));
}

/** The running test; if several run at once, one of them. */
function innermost(test: AnyTest): AnyTest {
  const [inner] = [...test.activeSubtests, ...test.pool];
  return inner instanceof TestBase ? innermost(inner) : test;
}

async function run(file: string): Promise<void> {
  const before = shared();
  const startedCpuMs = cpuMs();
  const testdir = join(ROOT, '.tap/fixtures', file.replaceAll('/', '-'));
  const options: TestOpts = { name: 'TAP', timeout: TIMEOUT_MS, testdir };
  const root = new Test(options);
  root.cb = async () => {
    await import(pathToFileURL(join(ROOT, file)).href);
    // For processes that the tests start, because killed processes never write their compiled code.
    flushCompileCache();
  };
  root.pipe(process.stdout, { end: false });
  Reflect.set(globalThis, ROOT_TEST, root);
  const uncaught = (error: unknown) => void innermost(root).threw(error);
  // A hanging test ends only with the process.
  const hung = () => {
    root.timeout({ expired: file, signal: 'SIGALRM' });
    console.error(`${file} is kept open by ${process.getActiveResourcesInfo().join(', ')}`);
    setImmediate(() => process.exit(1));
  };
  process.on('uncaughtException', uncaught).on('SIGALRM', hung);
  root.runMain(() => {});
  await nothingIsOpen();
  process.off('uncaughtException', uncaught).off('SIGALRM', hung);
  if (root.results === undefined) root.endAll();
  root.setTimeout(0);
  // tap itself removes a test's folder before the teardowns that were registered after it, in which
  // services that write there stop. `process.ts` turns that off.
  for (const folder of globSync(`${testdir}*`)) rmSync(folder, { recursive: true });
  process.stdout.write(markOf({ ...endOf(root, changed(before)), cpuMs: cpuMs() - startedCpuMs }));
  process.exitCode = undefined;
}

/** Resolves when a process of one file would exit. */
async function nothingIsOpen(): Promise<void> {
  // Node checks whether it may exit only after a turn of the loop.
  setImmediate(() => {});
  await new Promise((resolve) => process.once('beforeExit', () => setImmediate(resolve)));
}

function endOf(root: AnyTest, names: readonly string[]): Omit<EndOfFile, 'cpuMs'> {
  if (names.length > 0) {
    const message = `changed ${names.join(', ')}: restore it, or declare an own process`;
    return { exitCode: 1, message };
  }
  return { exitCode: root.passing() ? Number(process.exitCode ?? 0) : 1 };
}

function nextFile(): string | undefined {
  const buffer = Buffer.alloc(4096);
  const length = readSync(NAMES_FD, buffer);
  return length === 0 ? undefined : buffer.toString('utf8', 0, length).trim();
}

registerHooks(hooks);
const { default: t, Test, TestBase } = await import('tap');
// The root test that tap itself has made belongs to no file, and must not time out.
t.setTimeout(0);
Reflect.set(globalThis, ROOT_TEST, undefined);
// Each file may register work for the end of the process.
process.setMaxListeners(0);
for (let file = nextFile(); file !== undefined; file = nextFile()) await run(file);
