/**
 * The program as a person starts it in a terminal. It writes to a terminal of its own (through
 * `script`), so the banner shows the link with which the first owner signs in.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { componentPath } from './components.ts';
import { until } from './program.ts';

const program = fileURLToPath(new URL('../../bin/svc.js', import.meta.url));

export interface ProgramOnTerminal {
  /** Everything on the terminal so far. */
  readonly displayed: () => string;
  /** Sign-in link from the banner. */
  readonly signInUrl: string;
  readonly origin: string;
  /** Sends SIGTERM to the program. Resolves once it has ended. */
  stop(): Promise<void>;
}

type Teardown = { teardown(fn: () => unknown): unknown };

/**
 * Starts a program that ends with the test. Throws with its output if no banner appears within 30
 * s.
 */
export async function startProgramOnTerminal(
  t: Teardown,
  folder: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<ProgramOnTerminal> {
  // With "exec", the program is the direct child of "script", whose children are read below.
  const command = `exec '${process.execPath}' '${program}' serve`;
  const terminal = spawn(componentPath('script'), ['-qefc', command, '/dev/null'], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      SHELL: '/bin/sh',
      SVC_DATA: folder,
      SVC_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: 'off',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let displayed = '';
  terminal.stdout.on('data', (chunk) => (displayed += chunk));
  terminal.stderr.on('data', (chunk) => (displayed += chunk));
  const ended = once(terminal, 'exit');
  const end = (signal: 'SIGTERM' | 'SIGKILL') => {
    for (const id of childrenOf(terminal.pid)) process.kill(id, signal);
  };
  // A test that times out has no teardown, and none of its processes may outlive it.
  process.once('exit', () => end('SIGKILL'));
  const stop = async (): Promise<void> => {
    if (terminal.exitCode !== null) return;
    end('SIGTERM');
    await ended;
  };
  t.teardown(stop);
  const signInUrl = await until('the banner with its link', () => {
    if (terminal.exitCode !== null) throw new Error(`The program ended:\n${displayed}`);
    return displayed.includes('Ctrl-C')
      ? /http\S+\/auth\/link#\S+/.exec(displayed)?.[0]
      : undefined;
  }).catch((error: Error) => {
    throw new Error(`${error.message}\n${displayed}`);
  });
  return { displayed: () => displayed, signInUrl, origin: new URL(signInUrl).origin, stop };
}

/** Ids of the child processes of a process; empty if it has ended. */
function childrenOf(id: number | undefined): number[] {
  try {
    const listed = readFileSync(`/proc/${id}/task/${id}/children`, 'utf8');
    return listed.trim().split(/\s+/).filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
