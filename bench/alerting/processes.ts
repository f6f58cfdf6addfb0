/**
 * A peer as a child process: started, polled until ready, measured, and ended by its process id.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ComponentName, componentPath } from '../../test/support/components.ts';
import type { Scope } from '../support/scope.ts';

export interface PeerProcess {
  readonly pid: number;
  /** User and system CPU time so far, seconds. */
  cpuSeconds(): number;
  /** SIGKILL; resolves when the process has ended. */
  kill(): Promise<void>;
}

export interface PeerProgram {
  readonly name: ComponentName;
  readonly args: readonly string[];
  /** Returns 200 once the program is up. */
  readonly readyUrl: string;
}

const START_MS_MAX = 30_000;
/** `sysconf(_SC_CLK_TCK)` of every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/**
 * Starts the program and waits until it is up; it is killed with the scope. If it does not start,
 * throws with its output.
 */
export async function startPeer(scope: Scope, program: PeerProgram): Promise<PeerProcess> {
  const child = spawn(componentPath(program.name), program.args, {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-4_000);
  });
  const kill = (): Promise<void> => end(child);
  scope.teardown(kill);
  const startedMs = performance.now();
  while (!(await isUp(program.readyUrl))) {
    const isLate = performance.now() - startedMs > START_MS_MAX;
    if (isLate || child.exitCode !== null) throw new Error(`${program.name}: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const pid = child.pid ?? 0;
  return { pid, kill, cpuSeconds: () => cpuSecondsOf(pid) };
}

/** CPU time of any process of this machine, including threads. */
export function cpuSecondsOf(pid: number): number {
  // The name, in parentheses, may contain spaces; utime and stime are fields 14 and 15.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

async function isUp(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => undefined);
  await answer?.arrayBuffer();
  return answer?.ok ?? false;
}
