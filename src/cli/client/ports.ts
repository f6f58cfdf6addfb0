/**
 * What client commands touch of their process beside output: the terminal, the home folder, a
 * browser, child processes, time and chance. In one place, so that a test can stand in for a person
 * at a terminal; `processPorts` is the real thing.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, homedir } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { type Clock, systemClock } from '../../../streams/platform/clock.ts';
import { type Random, systemRandom } from '../../../streams/platform/random.ts';
import type { StopSignal, Surroundings } from '../command.ts';

export interface ClientPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly homeFolder: string;
  /** true: a person can be asked, because standard input and standard error are a terminal. */
  readonly isInteractive: boolean;
  /** All of standard input: for what must be on no command line. */
  readonly readInput: () => Promise<string>;
  /** Asks on the terminal; one line without its end, '' when the input has ended. */
  readonly ask: (question: string) => Promise<string>;
  /** Opens a page in the person's browser; false when there is none to open. */
  readonly openBrowser: (url: string) => Promise<boolean>;
  /** Runs one command to its end with this environment and our own standard streams. */
  readonly runChild: (child: ChildCommand) => Promise<ChildEnd>;
}

export interface ChildCommand {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly onSignal: Surroundings['onSignal'];
}

export type ChildEnd =
  | { readonly exitCode: number }
  /** It could not be started; `missing`: there is no such command. */
  | { readonly problem: string; readonly missing: boolean };

/** The ports of this process. */
export function processPorts(): ClientPorts {
  const isInteractive = process.stdin.isTTY === true && process.stderr.isTTY === true;
  return {
    clock: systemClock,
    random: systemRandom,
    homeFolder: homedir(),
    isInteractive,
    readInput: () => text(process.stdin),
    ask,
    openBrowser,
    runChild: (child) => runChild(child, isInteractive),
  };
}

/** Asked on standard error: standard output may be going into a file. */
async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const ended = once(lines, 'close').then(() => '');
  try {
    return await Promise.race([lines.question(question), ended]);
  } finally {
    lines.close();
  }
}

async function openBrowser(url: string): Promise<boolean> {
  const command = process.platform === 'darwin' ? 'open' : 'xdg-open';
  // Without a display, xdg-open starts a text browser inside this very terminal.
  const hasDisplay = process.env.DISPLAY ?? process.env.WAYLAND_DISPLAY;
  if (command === 'xdg-open' && !hasDisplay) return false;
  const child = spawn(command, [url], { stdio: 'ignore', detached: true });
  const started = await Promise.race([
    once(child, 'spawn').then(() => true),
    once(child, 'error').then(() => false),
  ]);
  child.unref();
  return started;
}

/** Exit code of a command that a signal ended, as shells report it. */
const SIGNAL_BASE = 128;

async function runChild(
  { command: [file = '', ...args], environment, onSignal }: ChildCommand,
  isInteractive: boolean,
): Promise<ChildEnd> {
  const child = spawn(file, args, { stdio: 'inherit', env: { ...environment } });
  const forget = onSignal((signal: StopSignal) => {
    // On a terminal Ctrl-C reaches the child by itself; a second one would mean "at once" to many.
    if (signal === 'SIGINT' && isInteractive) return;
    child.kill(signal);
  });
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    if (signal !== null) return { exitCode: SIGNAL_BASE + constants.signals[signal] };
    return { exitCode: code ?? 1 };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { problem: message, missing: code === 'ENOENT' };
  } finally {
    forget();
  }
}
