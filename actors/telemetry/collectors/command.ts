/**
 * Runs another program with a deadline, a bound on its output, and a process group of its own, so
 * that its children (virsh starts ssh for remote hosts) end with it. Parses the counters that
 * programs print.
 *
 * At the deadline the group gets SIGTERM, and a second later SIGKILL. A process stuck in the kernel
 * (a dead network file system) survives even that. The caller gets its result anyway, and `gone`
 * resolves when the process has really ended.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '../../../streams/platform/clock.ts';

/** One run of a program. It is started without a shell; arguments are passed unchanged. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly deadlineMs: number;
  /** Maximum output, bytes; more ends the program. Default 64 MiB: a few thousand VMs. */
  readonly outputBytesMax?: number;
  readonly signal?: AbortSignal;
}

/** How it ended, and its output up to the bound, as UTF-8. */
export type CommandOutcome = CommandEnd & {
  readonly stdout: string;
  readonly stderr: string;
  readonly gone: Promise<void>;
};

type CommandEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly because: 'deadline' | 'aborted' | 'output' }
  /** The program does not exist. */
  | { readonly kind: 'missing' }
  /** It could not be started, or was ended from outside. */
  | { readonly kind: 'failed'; readonly error: string };

/** Runs a command. It never rejects: a failed start is an outcome. Tests pass a fake. */
export type RunCommand = (command: Command, clock: Clock) => Promise<CommandOutcome>;

/**
 * Delay between SIGTERM and SIGKILL, and between SIGKILL and giving up on the end of the process,
 * ms.
 */
const GRACE_MS = 1_000;
const OUTPUT_BYTES_MAX = 64 * 2 ** 20;

/** Never rejects. Text is in the C locale, regardless of the locale of this process. */
export const runCommand: RunCommand = (command, clock) => {
  const { promise, resolve } = Promise.withResolvers<CommandOutcome>();
  const gone = Promise.withResolvers<void>();
  const output: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
  const wakeUps: (() => void)[] = [];
  let killedBecause: 'deadline' | 'aborted' | 'output' | undefined;
  let bytes = 0;

  const child = start(command);
  if (child instanceof Error) {
    return Promise.resolve({ ...failed(child.message), stdout: '', stderr: '', gone: GONE });
  }
  const finish = (end: CommandEnd): void => {
    for (const cancel of wakeUps) cancel();
    command.signal?.removeEventListener('abort', abort);
    const text = (name: 'stdout' | 'stderr'): string => Buffer.concat(output[name]).toString();
    resolve({ ...end, stdout: text('stdout'), stderr: text('stderr'), gone: gone.promise });
  };
  const kill = (because: 'deadline' | 'aborted' | 'output'): void => {
    if (killedBecause) return;
    killedBecause = because;
    signalGroup(child, 'SIGTERM');
    wakeUps.push(clock.wakeAfter(GRACE_MS, () => signalGroup(child, 'SIGKILL')));
    wakeUps.push(clock.wakeAfter(2 * GRACE_MS, () => abandon(child, finish, because)));
  };
  const abort = (): void => kill('aborted');

  child.on('error', (error: NodeJS.ErrnoException) => {
    if (child.pid !== undefined) return;
    gone.resolve();
    finish(error.code === 'ENOENT' ? { kind: 'missing' } : failed(error.message));
  });
  for (const name of ['stdout', 'stderr'] as const) {
    // Without a free descriptor the child has no pipes, whatever its type says, and 'error'
    // follows.
    child[name]?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= (command.outputBytesMax ?? OUTPUT_BYTES_MAX)) output[name].push(chunk);
      else kill('output');
    });
  }
  child.on('exit', () => gone.resolve());
  child.on('close', (code, signal) => {
    if (killedBecause) finish({ kind: 'killed', because: killedBecause });
    else finish(code === null ? failed(`ended by ${signal}`) : { kind: 'exited', code });
  });
  wakeUps.push(clock.wakeAfter(command.deadlineMs, () => kill('deadline')));
  command.signal?.addEventListener('abort', abort);
  if (command.signal?.aborted) abort();
  return promise;
};

/**
 * The child; an error if it could not be started, as without memory or with arguments that are too
 * long.
 */
function start({ file, args }: Command) {
  try {
    return spawn(file, args, {
      detached: true,
      env: { ...passedOn(process.env), LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (error) {
    // spawn throws nothing else.
    return error as Error;
  }
}

/**
 * Variables that virsh, ssh and their libraries need. Settings of the service, which may hold
 * logins, and whatever else its environment has, are not passed on.
 */
const PASSED_ON =
  /^(PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TZ|SSH_AUTH_SOCK|KRB5CCNAME|KRB5_CONFIG|XDG_\w+|LIBVIRT_\w+|VIRSH_\w+)$/;

/** The part of an environment that a command of another program gets. */
export function passedOn(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => PASSED_ON.test(name)));
}

const GONE = Promise.resolve();

function failed(error: string): CommandEnd {
  return { kind: 'failed', error };
}

/**
 * The group id is the child's pid: it was started detached. A group that no longer exists has
 * ended.
 */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function abandon(
  child: ChildProcess,
  finish: (end: CommandEnd) => void,
  because: 'deadline' | 'aborted' | 'output',
): void {
  child.stdout?.destroy();
  child.stderr?.destroy();
  child.unref();
  finish({ kind: 'killed', because });
}

/**
 * undefined for anything but digits. Above 2^53 (8 PiB, 104 days of nanoseconds) the last digits
 * are lost; the value stays finite.
 */
export function parseCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,20}$/.test(text) ? Number(text) : undefined;
}
