/**
 * The client ports of this process: terminal, home folder, browser, child processes, clock and
 * randomness. A test passes its own ports and plays the user at the terminal.
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

/** Prompts on standard error, because standard output may be redirected to a file. */
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
  // Without a display, xdg-open would start a text browser in this very terminal.
  const hasDisplay = process.env.DISPLAY ?? process.env.WAYLAND_DISPLAY;
  if (command === 'xdg-open' && !hasDisplay) return false;
  const child = spawn(command, [url], {
    stdio: 'ignore',
    detached: true,
    env: withoutSettings(process.env),
  });
  const started = await Promise.race([
    once(child, 'spawn').then(() => true),
    once(child, 'error').then(() => false),
  ]);
  child.unref();
  return started;
}

/** A browser outlives the command, and needs no key of it. */
function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !name.startsWith('SVC_')),
  );
}

/** Offset of the exit code of a command that was ended by a signal, as in shells. */
const SIGNAL_BASE = 128;

async function runChild(
  { command: [file = '', ...args], environment, onSignal }: ChildCommand,
  isInteractive: boolean,
): Promise<ChildEnd> {
  // Registered before the child exists: a signal in between would end only this process.
  const forget = onSignal((signal: StopSignal) => {
    // On a terminal the child receives Ctrl-C directly; a second one would mean "at once" to many
    // programs.
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
