/**
 * `npm test -- [options] [FILE or FOLDER ...]`: a few processes each run one test file after
 * another, side by side as far as the CPU allows (`turns.ts`). Each file is reported like by `node
 * FILE`, without the time to load the program for each. Files below `test/long` run only if they
 * are named: `npm run test:long`, or all by `npm test test`.
 */
import { existsSync, globSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { changedSince, readCode, selectChanged } from './changed.ts';
import { cpuMs } from './cpu.ts';
import { joinsService, runFiles, TestProcess } from './process.ts';
import { Report } from './report.ts';
import { type FileTimes, readRecord, timesTable, writeRecord } from './times.ts';
import { lanesOf, oneByOne } from './turns.ts';

const USAGE = `npm test -- [options] [FILE or FOLDER ...]
  --changed [REV] only the tests that changes since a revision may break; default: since HEAD
  --times         prints CPU and wall seconds by room and file, beside the recorded ones
  --top N         lists only the N slowest files
  --record        writes the times of a run of all files to test/times.json`;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RECORD = join(ROOT, 'test/times.json');
/** Files that measure this machine's CPU. Nothing else may load it while they run. */
const ALONE = 'test/long/e2e/alone/';
/** Soaks, whose code `npm test` runs for a shorter time. */
const LONG = 'test/long/';
/** Assumed for one without a record: it starts early, because nothing else may run at the end. */
const NEW_LONG: FileTimes = { wallMs: 60_000, cpuMs: 30_000 };

function optionsOf(args: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: withRevision(args),
    allowPositionals: true,
    options: {
      changed: { type: 'string' },
      times: { type: 'boolean', default: false },
      top: { type: 'string' },
      record: { type: 'boolean', default: false },
    },
  });
  const top = values.top === undefined ? undefined : Number(values.top);
  if (top !== undefined && !(top > 0)) throw new Error(`--top must be a number, not ${values.top}`);
  const { changed, record } = values;
  return { changed, times: values.times || record, top, record, positionals };
}

/** Gives `--changed` its value: the next argument, if that is neither a path nor an option. */
function withRevision(args: readonly string[]): string[] {
  const place = args.indexOf('--changed');
  if (place < 0) return [...args];
  const next = args[place + 1];
  const isRevision = next !== undefined && !next.startsWith('-') && !existsSync(join(ROOT, next));
  return [
    ...args.slice(0, place),
    `--changed=${isRevision ? next : 'HEAD'}`,
    ...args.slice(place + (isRevision ? 2 : 1)),
  ];
}

/** Paths of the named test files, or of all except the long ones. */
function named(wanted: readonly string[]): string[] {
  const all = globSync('test/**/*.test.ts', { cwd: ROOT }).sort();
  if (wanted.length === 0) return all.filter((file) => !file.startsWith(LONG));
  const files = wanted.map(normalize).flatMap((name) => {
    const folder = name.endsWith('/') ? name : `${name}/`;
    const found = all.filter((file) => file === name || file.startsWith(folder));
    if (found.length === 0) throw new Error(`No test file has the path ${name} or is below it`);
    return found;
  });
  return [...new Set(files)];
}

function selected(wanted: readonly string[], since: string | undefined): readonly string[] {
  const files = named(wanted);
  if (since === undefined) return files;
  const changed = changedSince(ROOT, since);
  const selection = selectChanged(files, changed, readCode(ROOT));
  print(`changed since ${since}: ${changed.length} files\n`);
  for (const reason of selection.reasons) print(`${reason}\n`);
  return selection.files;
}

function print(text: string): void {
  process.stdout.write(text);
}

async function main(): Promise<void> {
  const options = optionsOf(process.argv.slice(2));
  const files = selected(options.positionals, options.changed);
  const recorded = readRecord(RECORD);
  const report = new Report(print);
  const started = { wallMs: performance.now(), cpuMs: cpuMs() };
  const isAlone = (file: string) => file.startsWith(ALONE);
  const lanes = lanesOf(
    files.filter((file) => !isAlone(file)),
    {
      timesOf: (file) => recorded.files.get(file) ?? (file.startsWith(LONG) ? NEW_LONG : undefined),
      isJoined: joinsService,
    },
  );
  await Promise.all(lanes.map((next) => runFiles(next, report)));
  await runFiles(oneByOne(files.filter(isAlone)), report);
  if (options.times) {
    const runCpuMs = cpuMs() - started.cpuMs;
    const runWallMs = performance.now() - started.wallMs;
    print(timesTable(report.times, { recorded, top: options.top, runCpuMs, runWallMs }));
  }
  if (options.record) writeRecord(RECORD, report.times);
  report.end();
  // A change that reaches no test does not fail.
  process.exitCode = report.ok || files.length === 0 ? 0 : 1;
}

// The reader of the report has exited, as in `npm test | head`, so the processes end too.
process.stdout.once('error', (error: NodeJS.ErrnoException) => {
  for (const child of TestProcess.running) child.signal('SIGKILL');
  if (error.code !== 'EPIPE') throw error;
  process.exit(1);
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    for (const child of TestProcess.running) child.signal(signal);
    process.kill(process.pid, signal);
  });
}
if (process.argv.includes('--help')) print(`${USAGE}\n`);
else await main();
