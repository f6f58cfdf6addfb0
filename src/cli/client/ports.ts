/**
 * The client ports of this process: the terminal, the home folder, a browser, child processes, clock
 * and randomness. A test hands in its own and plays the person at the terminal.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, homedir } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { systemClock } from '../../../streams/platform/clock.ts';
import { systemRandom } from '../../../streams/platform/random.ts';
import type { ChildCommand, ChildEnd, ClientPorts, StopSignal } from '../command.ts';

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
async function ask(prompt: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const ended = once(lines, 'close').then(() => '');
  try {
    return await Promise.race([lines.question(prompt), ended]);
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
  // Heard from before the child is there: a signal that came in between would end us alone.
  const forget = onSignal((signal: StopSignal) => {
    // On a terminal Ctrl-C reaches the child by itself; a second one would mean "at once" to many.
    if (signal === 'SIGINT' && isInteractive) return;
    child.kill(signal);
  });
  const child = spawn(file, args, { stdio: 'inherit', env: { ...environment } });
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
