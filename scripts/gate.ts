/**
 * `npm run gate`: everything that a change must pass, as run by `.ci/run` once the machine has its
 * components. First the checks run beside the programs that search for faults by chance, then all
 * tests, side by side as far as the CPU allows, then the attack on threads. A step's output is
 * printed when it ends; that of the tests as it arrives. The times of the steps
 * follow. The last line is `N passed, N failed`; a failed step counts as a failure.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { componentTable } from '../test/support/components.ts';
import { endedChildrenCpuMs } from './test/cpu.ts';

/** One program of the gate. */
export interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Its output is printed as it arrives, and its last line has the counts of the gate. */
  readonly isTests?: boolean;
}

/** How a step ended. */
export interface StepEnd {
  readonly name: string;
  readonly isOk: boolean;
  readonly wallMs: number;
  /** CPU time of its process and of the children that have ended. */
  readonly cpuMs: number;
  /** Counts of the tests, from the last line of their step. */
  readonly counts?: { readonly passed: number; readonly failed: number };
}

const COUNTS = /^(\d+) passed, (\d+) failed(?:, \d+ skipped)?$/;

/**
 * Runs sequences of steps in parallel. A step starts when the previous one of its sequence has
 * ended.
 */
export async function runSequences(
  sequences: readonly (readonly Step[])[],
  print: (text: string) => void,
): Promise<StepEnd[]> {
  const ends: StepEnd[] = [];
  const runAll = async (steps: readonly Step[]) => {
    for (const step of steps) ends.push(await runStep(step, print));
  };
  await Promise.all(sequences.map(runAll));
  return ends;
}

/** The end of the report: times, then counts. */
export function summary(ends: readonly StepEnd[]): string {
  const times = ends.map(({ name, isOk, wallMs, cpuMs }) => {
    const seconds = `${secondsOf(wallMs)} s ${secondsOf(cpuMs)} CPU s`;
    return `${isOk ? 'ok    ' : 'not ok'}${seconds}  ${name}\n`;
  });
  const cpuMs = ends.reduce((sum, end) => sum + end.cpuMs, 0);
  const counts = ends.find((end) => end.counts)?.counts ?? { passed: 0, failed: 0 };
  // Failed tests are already counted themselves.
  const failedSteps = ends.filter((end) => !end.isOk && !end.counts?.failed).length;
  return `\n${times.join('')}${secondsOf(cpuMs).trim()} CPU s in all\n${counts.passed} passed, ${counts.failed + failedSteps} failed\n`;
}

function secondsOf(ms: number): string {
  return (ms / 1000).toFixed(0).padStart(6);
}

/** CPU time of children that `runStep` has already counted, ms. */
let countedCpuMs = endedChildrenCpuMs();

/** CPU time of the child that has just ended, ms. */
function takeCpuMs(): number {
  const before = countedCpuMs;
  countedCpuMs = endedChildrenCpuMs();
  return countedCpuMs - before;
}

async function runStep(step: Step, print: (text: string) => void): Promise<StepEnd> {
  const { name, command, env = {}, isTests = false } = step;
  const [program = '', ...args] = command;
  print(`== begins: ${name}\n`);
  const startedMs = performance.now();
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: string[] = [];
  const take = (chunk: string) => {
    chunks.push(chunk);
    if (isTests) print(chunk);
  };
  child.stdout.setEncoding('utf8').on('data', take);
  child.stderr.setEncoding('utf8').on('data', take);
  let cpuMs = 0;
  child.once('exit', () => {
    cpuMs = takeCpuMs();
  });
  const isOk = await new Promise<boolean>((resolve) => {
    child.once('error', (error) => {
      chunks.push(`${error.message}\n`);
      resolve(false);
    });
    child.once('close', (code) => resolve(code === 0));
  });
  const wallMs = performance.now() - startedMs;
  const output = chunks.join('');
  if (!isTests) print(`== ${isOk ? 'passed' : 'FAILED'}: ${name}\n${output}`);
  const [, passed, failed] = COUNTS.exec(output.trimEnd().split('\n').at(-1) ?? '') ?? [];
  if (!isTests || passed === undefined) return { name, isOk, wallMs, cpuMs };
  return { name, isOk, wallMs, cpuMs, counts: { passed: Number(passed), failed: Number(failed) } };
}

function npm(name: string, ...args: readonly string[]): Step {
  return {
    name: ['npm run', name, ...args].join(' '),
    command: ['npm', 'run', '--silent', name, '--', ...args],
  };
}

type Sequences = readonly (readonly Step[])[];

/**
 * The stages, one after another.
 * @param shared folder of traces and suites beside the checkout; a clone has none
 */
function stagesOf(
  shared: string | undefined,
): Readonly<Record<'checks' | 'tests' | 'alone', Sequences>> {
  const traces = shared === undefined ? [] : [npm('replay:traces', join(shared, 'data/traces'))];
  const required = shared === undefined ? 'components' : 'all';
  const tests: Step = {
    name: 'npm test, with the long tests',
    command: ['npm', 'test', '--silent', '--', '--times', '--top', '10', 'test'],
    env: { SVC_TEST_REQUIRE: required, SVC_TEST_SEEDS: '100' },
    isTests: true,
  };
  return {
    checks: [
      [
        npm('verify'),
        ...traces,
        npm('simulate', '--planted', 'all'),
        npm('simulate', '--minutes', '1'),
      ],
      // As long as all the others.
      [npm('attack', '--minutes', '3', '--except', 'threads')],
    ],
    // They read the dashboard that the checks build, and share the CPU with each other.
    tests: [[tests]],
    // The threads of queries yield to other programs, so this class needs the machine to itself.
    alone: [[npm('attack', '--minutes', '3', '--only', 'threads', '--busy-machine')]],
  };
}

if (import.meta.main) {
  const shared = componentTable.get('shared folder')?.find();
  const print = (text: string) => void process.stdout.write(text);
  if (shared === undefined)
    print('No traces and suites beside the checkout; their tests are skipped\n');
  const ends: StepEnd[] = [];
  for (const stage of Object.values(stagesOf(shared))) {
    ends.push(...(await runSequences(stage, print)));
  }
  print(summary(ends));
  process.exitCode = ends.every(({ isOk }) => isOk) ? 0 : 1;
}
