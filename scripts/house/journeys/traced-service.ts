/**
 * A checkout's service as a user starts it, with a record of every function that it enters. It is
 * called only over its public API, so the checkout may be an old one.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

const READY_MS_MAX = 60_000;
/** Lines of the trace are written at once, but another thread may still be about to write one. */
const SETTLE_MS = 200;

export interface Demo {
  readonly baseUrl: string;
  readonly projectName: string;
  readonly apiKey: string;
  readonly collectorKey: string;
  readonly signInUrl: string;
}

/** A function that was entered: `path:line`. */
export interface Entry {
  readonly atNs: bigint;
  readonly place: string;
}

export class TracedService {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly demo: Demo;

  private constructor(child: ChildProcess, folder: string, demo: Demo) {
    this.#child = child;
    this.#folder = folder;
    this.demo = demo;
  }

  /** Ready when it resolves. Throws, with its output, if it is not ready within a minute. */
  static async start(
    root: string,
    settings: Readonly<Record<string, string>>,
  ): Promise<TracedService> {
    const folder = mkdtempSync(join(tmpdir(), 'house-'));
    const hook = pathToFileURL(fileURLToPath(new URL('./trace-hook.ts', import.meta.url)));
    const child = spawn(process.execPath, [join(root, 'bin/svc.js'), 'serve'], {
      env: {
        PATH: process.env.PATH ?? '',
        HOME: folder,
        NODE_COMPILE_CACHE: join(folder, 'cache'),
        NODE_OPTIONS: `--disable-warning=ExperimentalWarning --import=${hook}`,
        HOUSE_ROOT: root,
        HOUSE_TRACE: join(folder, 'trace'),
        SVC_DATA: join(folder, 'data'),
        SVC_LISTEN: '127.0.0.1:0',
        SVC_DEMO: 'on',
        SVC_METRICS_LISTEN: 'off',
        SVC_COLLECT: 'none',
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    process.once('exit', () => child.kill('SIGKILL'));
    const path = join(folder, 'data', 'demo.json');
    const ready = async (): Promise<boolean> => {
      if (!existsSync(path) || child.exitCode !== null) return false;
      const { baseUrl } = JSON.parse(readFileSync(path, 'utf8')) as Demo;
      return fetch(`${baseUrl}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    };
    for (let waitedMs = 0; !(await ready()); waitedMs += 100) {
      if (waitedMs < READY_MS_MAX && child.exitCode === null) await pause(100);
      else throw new Error(`The service of ${root} did not become ready:\n${output}`);
    }
    return new TracedService(child, folder, JSON.parse(readFileSync(path, 'utf8')) as Demo);
  }

  /** Calls an RPC. Throws unless the response is 200. */
  async call(
    method: string,
    request: object,
    headers: Readonly<Record<string, string>> = { authorization: `Bearer ${this.demo.apiKey}` },
  ): Promise<Record<string, unknown>> {
    const answer = await fetch(`${this.demo.baseUrl}/svc.${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(request),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} answered ${answer.status}: ${text}`);
    return JSON.parse(text);
  }

  /** Every function entered while `act` ran, in order of time. */
  async during(act: () => Promise<unknown>): Promise<Entry[]> {
    await pause(SETTLE_MS);
    const fromNs = process.hrtime.bigint();
    await act();
    const toNs = process.hrtime.bigint();
    await pause(SETTLE_MS);
    return readFileSync(join(this.#folder, 'trace'), 'utf8')
      .split('\n')
      .flatMap((line) => {
        const [at = '', place = ''] = line.split(' ');
        const atNs = BigInt(at);
        return place !== '' && atNs >= fromNs && atNs <= toNs ? [{ atNs, place }] : [];
      })
      .sort((a, b) => (a.atNs < b.atNs ? -1 : 1));
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    if (this.#child.exitCode === null) await exited;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
