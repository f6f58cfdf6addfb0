/**
 * `npm test [FILE or FOLDER ...]`: a few processes each run one test file after another, those that
 * take longest first, so that the end waits for none of them (`test-turns.ts`). Each file is reported as `node FILE`
 * would report it, without the time that each would need to load the program. Those below `test/long`
 * are run only when they are named: `npm run test:long`, or all by `npm test test`.
 *
 * A few files that drive browsers and other programs may fail because the others keep the machine
 * busy. They are run once more, alone. What passes then is reported as unsteady, with its first failure.
 */
import { globSync } from 'node:fs';
import { normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runFiles, TestProcess } from './test-process.ts';
import { Report } from './test-report.ts';
import { lanesOf, oneByOne } from './test-turns.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Files that measure this machine's own CPU: nothing else may load it meanwhile. */
const ALONE = 'test/e2e/alone/';
/** Soaks, whose code `npm test` runs for a shorter time: left out unless they are named. */
const LONG = 'test/long/';

/** Files that may be run once more: those that drive browsers, machines and whole clusters. */
const AGAIN = ['test/dashboard/', 'test/e2e/', LONG];
/** When more have failed, it is not the machine. */
const AGAIN_MAX = 3;

/** Those that take longest: many wait most of their time, and with others beside them it is free. */
const FIRST = [
  'test/long/dashboard/everywhere/accessibility.test.ts',
  'test/long/telemetry/collectors/lab.test.ts',
  'test/long/e2e/members.test.ts',
  'test/long/e2e/silence.test.ts',
  'test/long/e2e/faults.test.ts',
  'test/platform/commit/model.test.ts',
  'test/long/sdk/go.test.ts',
  'test/identity/revocation.test.ts',
  'test/long/platform/commit-kill.test.ts',
  'test/service/service.test.ts',
  'test/long/e2e/agent.test.ts',
  'test/long/e2e/virtual-machine.test.ts',
  'test/long/e2e/scrape.test.ts',
  'test/long/platform/jetstream.test.ts',
  'test/long/sdk/package.test.ts',
  'test/platform/stream-contract.test.ts',
  'test/long/e2e/ci.test.ts',
  'test/long/scripts/test-batch.test.ts',
  'test/vms/agent.test.ts',
  'test/long/telemetry/history/kill.test.ts',
];

function selected(wanted: readonly string[]): string[] {
  const all = globSync('test/**/*.test.ts', { cwd: ROOT }).sort();
  const files =
    wanted.length === 0
      ? all.filter((file) => !file.startsWith(LONG))
      : wanted.flatMap((name) => named(all, normalize(name)));
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

async function main(): Promise<void> {
  const report = new Report((text) => process.stdout.write(text));
  const files = selected(process.argv.slice(2));
  const isAlone = (file: string) => file.startsWith(ALONE);
  const lanes = lanesOf(files.filter((file) => !isAlone(file)));
  await Promise.all(lanes.map((nextFile) => runFiles(nextFile, report)));
  await runFiles(oneByOne(files.filter(isAlone)), report);
  const failed = report.failedFiles;
  const mayPass = failed.every((file) => AGAIN.some((folder) => file.startsWith(folder)));
  if (mayPass && failed.length <= AGAIN_MAX) {
    for (const file of failed) report.takeBack(file);
    await runFiles(oneByOne(failed), report);
  }
  report.end();
  process.exitCode = report.ok ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    for (const child of TestProcess.running) child.signal(signal);
    process.kill(process.pid, signal);
  });
}
await main();
