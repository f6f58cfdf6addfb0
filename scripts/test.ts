/**
 * `npm test [FILE or FOLDER ...]`: runs each test file as `node FILE` would, three at a time, those
 * that take longest first, so that the end waits for none of them. Not by tap's own runner: the
 * loaders that it puts into every process and thread cost more CPU time than many of the tests.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Report } from './test-report.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** One more than the cores of a small machine: some tests wait. */
const JOBS = 3;
/** Of a file, in all. */
const TIMEOUT_MS = 180_000;
/** Time to see which test hangs, before it is killed. */
const LAST_WORDS_MS = 5_000;
/** Files that measure this machine's own CPU: nothing else may load it meanwhile. */
const ALONE = 'test/e2e/alone/';

/** Those that take longest, most of it waiting: with the others beside them it costs no time. */
const FIRST = [
  'test/telemetry/collectors/lab.test.ts',
  'test/e2e/faults.test.ts',
  'test/platform/commit/model.test.ts',
  'test/platform/commit-kill.test.ts',
  'test/service/service.test.ts',
  'test/e2e/agent.test.ts',
  'test/e2e/virtual-machine.test.ts',
  'test/e2e/scrape.test.ts',
  'test/platform/jetstream.test.ts',
  'test/sdk/package.test.ts',
  'test/platform/stream-contract.test.ts',
  'test/e2e/ci.test.ts',
  'test/vms/agent.test.ts',
  'test/telemetry/history/kill.test.ts',
];

const running = new Set<ChildProcess>();

function selected(wanted: readonly string[]): string[] {
  const all = globSync('test/**/*.test.ts', { cwd: ROOT }).sort();
  const files = wanted.length === 0 ? all : wanted.flatMap((name) => named(all, normalize(name)));
  const forgotten = FIRST.filter((file) => !all.includes(file));
  if (forgotten.length > 0) throw new Error(`To be run first, but not there: ${forgotten.join()}`);
  const chosen = new Set(files);
  return [...FIRST.filter((file) => chosen.has(file)), ...chosen.difference(new Set(FIRST))];
}

function named(all: readonly string[], name: string): string[] {
  const folder = name.endsWith('/') ? name : `${name}/`;
  const found = all.filter((file) => file === name || file.startsWith(folder));
  if (found.length === 0) throw new Error(`No test file is called ${name} or lies in it`);
  return found;
}

/** Resolves when the file's process has ended and all of its output was taken. */
async function run(file: string, report: Report): Promise<void> {
  const lines = report.file(file);
  const startedMs = performance.now();
  const child = spawn(process.execPath, [file], {
    cwd: ROOT,
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: join(ROOT, '.tap/compiled'),
      TAP_TIMEOUT: '120',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    // A group of its own, so that what it has started can be ended with it.
    detached: true,
  });
  running.add(child);
  let timedOut = false;
  let killing: NodeJS.Timeout | undefined;
  const deadline = setTimeout(() => {
    timedOut = true;
    child.kill('SIGALRM');
    killing = setTimeout(() => {
      signalGroup(child, 'SIGKILL');
      // A process in another group may hold it open.
      child.stdout.destroy();
    }, LAST_WORDS_MS);
  }, TIMEOUT_MS);
  child.stdout.setEncoding('utf8').on('data', (text: string) => lines.write(text));
  const [exitCode, signal] = await new Promise<[number | null, NodeJS.Signals | null]>(
    (resolve, reject) => {
      child.once('error', reject);
      child.once('close', (...end) => resolve(end));
    },
  );
  clearTimeout(deadline);
  clearTimeout(killing);
  running.delete(child);
  lines.end({ exitCode, signal, timedOut, elapsedMs: performance.now() - startedMs });
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (error) {
    // It has ended by itself.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

async function main(): Promise<void> {
  const report = new Report((text) => process.stdout.write(text));
  const files = selected(process.argv.slice(2));
  const isAlone = (file: string) => file.startsWith(ALONE);
  const beside = files.filter((file) => !isAlone(file)).values();
  const job = async () => {
    for (const file of beside) await run(file, report);
  };
  await Promise.all(Array.from({ length: JOBS }, job));
  for (const file of files.filter(isAlone)) await run(file, report);
  report.end();
  process.exitCode = report.ok ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    for (const child of running) signalGroup(child, signal);
    process.kill(process.pid, signal);
  });
}
await main();
