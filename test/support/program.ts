/**
 * The program as a user starts it: `bin/svc.js serve` as a child process with its own data folder,
 * called over HTTP with the keys from demo.json. It is ended by its process id, even if the test
 * fails.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../../src/cli/program.ts';

export { dataFolder } from './places.ts';

const program = fileURLToPath(new URL('../../bin/svc.js', import.meta.url));

/** Compile cache of `npm test`. A killed program never writes its own. */
const compiled = process.env.NODE_COMPILE_CACHE
  ? { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }
  : {};

export interface Demo {
  readonly baseUrl: string;
  readonly projectName: string;
  readonly apiKey: string;
  readonly collectorKey: string;
  /** Present until the first sign-in. */
  readonly signInUrl?: string;
}

/** Origin at which browsers have their session: on loopback a host name of the installation. */
export function pagesOf({ baseUrl, signInUrl }: Demo): string {
  return new URL(signInUrl ?? baseUrl).origin;
}

export interface Answer {
  readonly status: number;
  // Tests read it by the shape they expect.
  readonly body: Record<string, unknown>;
  readonly headers: Headers;
}

/** A service from its callers' view. */
export interface ServiceUnderTest {
  readonly demo: Demo;
  readonly log: () => string;
  /** Calls an RPC method with the read-and-write key, or another. */
  call(method: string, request: unknown, key?: string): Promise<Answer>;
  get(path: string): Promise<{ status: number; text: string }>;
}

export interface Program extends ServiceUnderTest {
  readonly pid: number;
  /** Sends SIGTERM. Resolves with the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

type Teardown = { teardown(fn: () => unknown): unknown };

/**
 * Starts the program and waits until it is ready. Throws with its log if it ends or does not become
 * ready.
 * @param reachedAt address for this process, if it differs from the public address
 */
export async function startProgram(
  t: Teardown,
  folder: string,
  settings: Readonly<Record<string, string>> = {},
  reachedAt?: string,
): Promise<Program> {
  const child = spawn(process.execPath, [program, 'serve'], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      ...compiled,
      SVC_DATA: folder,
      SVC_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: 'off',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stdout.on('data', (chunk) => (text += chunk));
  child.stderr.on('data', (chunk) => (text += chunk));
  const exited = once(child, 'exit');
  // A test that times out has no teardown, and none of its processes may outlive it.
  process.once('exit', () => child.kill('SIGKILL'));
  t.teardown(() => end(child, 'SIGKILL', exited));
  const demo = await untilReady(child, { log: () => text, folder, reachedAt });
  const origin = reachedAt ?? demo.baseUrl;
  return {
    demo,
    pid: child.pid ?? 0,
    log: () => text,
    ...callsOf(origin, demo.apiKey),
    stop: () => end(child, 'SIGTERM', exited),
    kill: async () => void (await end(child, 'SIGKILL', exited)),
  };
}

/** Calls to a service, with `apiKey` unless another key is given. */
export function callsOf(origin: string, apiKey: string): Pick<ServiceUnderTest, 'call' | 'get'> {
  return {
    call: (method, request, key = apiKey) => call(origin, method, request, key),
    async get(path) {
      const answer = await fetch(origin + path);
      return { status: answer.status, text: await answer.text() };
    },
  };
}

export interface Ended {
  readonly code: number | null;
  /** Both outputs, in order of arrival. */
  readonly text: string;
  readonly stdout: string;
}

/** Runs the command to its end, for starts that are refused. It is killed after two minutes. */
export async function runToEnd(
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...compiled, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 600_000,
    killSignal: 'SIGKILL',
  });
  let [text, stdout] = ['', ''];
  child.stdout.on('data', (chunk) => {
    text += chunk;
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => (text += chunk));
  await once(child, 'close');
  return { code: child.exitCode, text, stdout };
}

/**
 * Runs the command in this process, with real sockets and files but without the start of a process.
 * For files that also start the program.
 */
export async function runInProcess(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  let [text, stdout] = ['', ''];
  // The command sets it for its whole process, which here also runs other tests.
  const umask = process.umask(0o022);
  try {
    const code = await runProgram(args, {
      environment,
      isTerminal: false,
      log: () => {},
      exitNow: () => {},
      stdout(chunk) {
        text += chunk;
        stdout += chunk;
      },
      stderr(chunk) {
        text += chunk;
      },
      onSignal: () => () => {},
    });
    return { code, text, stdout };
  } finally {
    process.umask(umask);
  }
}

/**
 * Deadline of a wait, s: longer than any limit of the service, for a busy machine. Tests of speed
 * measure it themselves.
 */
const UNTIL_SECONDS = 180;
/** Pause between two polls of `until`, ms. */
const POLL_MS = 50;

/**
 * Polls until `probe` returns a value. After `seconds`, throws with the name of the event.
 * @param seconds less than the default only where the caller tries again
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  seconds: number = UNTIL_SECONDS,
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const error = new Error(`Not within ${seconds} s: ${what}`);
  const deadline = setTimeout(() => late.reject(error), seconds * 1000);
  try {
    for (;;) {
      // A probe that hangs counts as late, too.
      const value = await Promise.race([probe(), late.promise]);
      if (value !== undefined) return value;
      await Promise.race([sleep(POLL_MS), late.promise]);
    }
  } finally {
    clearTimeout(deadline);
  }
}

/** Waits for a line of the program's log, which arrives after what it reports has happened. */
export function untilLogged({ log }: { log(): string }, line: RegExp): Promise<boolean> {
  return until(`the log has ${line}`, () => line.test(log()) || undefined).catch((error: Error) => {
    throw new Error(`${error.message}\n${log()}`, { cause: error });
  });
}

interface Started {
  readonly log: () => string;
  readonly folder: string;
  readonly reachedAt: string | undefined;
}

async function untilReady(child: ChildProcess, { log, folder, reachedAt }: Started): Promise<Demo> {
  const file = join(folder, 'demo.json');
  const demo = await until('the program listens', () => {
    if (child.exitCode !== null) throw new Error(`The program ended:\n${log()}`);
    if (!log().includes('demo.json') || !existsSync(file)) return undefined;
    const written = JSON.parse(readFileSync(file, 'utf8')) as Demo;
    // The file of an earlier run names another port, which the banner of this run does not.
    return log().includes(written.baseUrl) ? written : undefined;
  }).catch((error: Error) => {
    throw new Error(`${error.message}\n${log()}`);
  });
  await until('the program is ready', async () => {
    const answer = await fetch(`${reachedAt ?? demo.baseUrl}/readyz`);
    return answer.ok ? true : undefined;
  });
  return demo;
}

async function call(
  baseUrl: string,
  method: string,
  request: unknown,
  key: string,
): Promise<Answer> {
  const answer = await fetch(`${baseUrl}/svc.${method}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'connect-protocol-version': '1',
    },
    body: JSON.stringify(request),
  });
  const text = await answer.text();
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  return { status: answer.status, body, headers: answer.headers };
}

async function end(
  child: ChildProcess,
  signal: NodeJS.Signals,
  exited: Promise<unknown[]>,
): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) child.kill(signal);
  await exited;
  return child.exitCode;
}
