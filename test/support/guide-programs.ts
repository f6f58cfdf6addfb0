/**
 * Programs of the SDK guide, run exactly as printed: TypeScript programs in a project with the
 * packed package, Go programs in a module that requires ours, both without the network.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  type SignedAttempt,
  signatureHeaders,
} from '../../src/delivery/notify/webhook/signatures.ts';
import { createClient } from '../../src/sdk/index.ts';
import type { DemoWorld } from './cli-against-service.ts';
import { codeBlock } from './code-blocks.ts';
import { dataFolder, until } from './program.ts';

const run = promisify(execFile);
const goModule = fileURLToPath(new URL('../../sdk/go', import.meta.url));

export type Environment = Readonly<Record<string, string>>;

/** Command to run, and the files beside it. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly folder: string;
}

/** A TypeScript program of the guide in a project made by `installPacked`. */
export function typescriptProgram(folder: string, name: string, page = 'sdk.md'): Command {
  const file = join(folder, `${name}.ts`);
  writeFileSync(file, codeBlock(page, `// ${name}.ts`));
  return { file: process.execPath, args: [file], folder };
}

/** Go settings: no network, no C compiler, and no files in the home folder. */
export function goEnvironment(cache: string): Environment {
  return {
    GOFLAGS: '-mod=mod',
    GOPROXY: 'off',
    GONOSUMDB: '*',
    GOTOOLCHAIN: 'local',
    CGO_ENABLED: '0',
    GOCACHE: cache,
    GOPATH: join(cache, 'path'),
    HOME: cache,
    PATH: process.env.PATH ?? '',
  };
}

/** The guide's Go programs, built together, by their names. @param folder empty */
export async function buildGoPrograms(
  go: string,
  folder: string,
  names: readonly string[],
  env: Environment,
): Promise<(name: string) => Command> {
  for (const name of names) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'main.go'), codeBlock('sdk.md', `// ${name}.go`));
  }
  const required = `require example.com/svc v0.0.0\nreplace example.com/svc => ${goModule}\n`;
  writeFileSync(join(folder, 'go.mod'), `module guide\n\ngo 1.19\n\n${required}`);
  const built = join(folder, 'built/');
  mkdirSync(built);
  await run(go, ['build', '-o', built, './...'], {
    cwd: folder,
    env: { ...env },
    timeout: 600_000,
    killSignal: 'SIGKILL',
  });
  return (name) => ({ file: join(built, name), args: [], folder });
}

/** Runs it to its end. Resolves with its lines. Throws with its output if it fails. */
export async function linesOf(
  { file, args, folder }: Command,
  env: Environment,
): Promise<string[]> {
  const { stdout } = await run(file, [...args], {
    cwd: folder,
    timeout: 600_000,
    killSignal: 'SIGKILL',
    env: { PATH: process.env.PATH ?? '', ...env },
  });
  return stdout.trimEnd().split('\n');
}

export interface Receiver {
  readonly url: string;
  /** Lines that it printed after its address. */
  readonly lines: () => string[];
}

/** Starts a receiver of the guide on a free port. It ends by its process id with the test. */
export async function startReceiver(
  t: { teardown(fn: () => unknown): unknown },
  { file, args, folder }: Command,
  env: Environment,
): Promise<Receiver> {
  const child = spawn(file, [...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH ?? '', PORT: '0', ...env },
  });
  let text = '';
  child.stdout.on('data', (chunk) => (text += chunk));
  child.stderr.on('data', (chunk) => (text += chunk));
  t.teardown(() => ended(child));
  const port = await until('the receiver listens', () => {
    if (child.exitCode !== null) throw new Error(`The receiver ended:\n${text}`);
    return /^listening .*?(\d{2,5})\b(?!\.)/m.exec(text.replaceAll('127.0.0.1', ''))?.[1];
  });
  return {
    url: `http://127.0.0.1:${port}/`,
    lines: () => text.trimEnd().split('\n').slice(1),
  };
}

/** Sends requests as the service does, now. Resolves with the status; 0 if the receiver hung up. */
export function senderTo(url: string) {
  return async (
    attempt: Partial<Omit<SignedAttempt, 'body'>> & {
      readonly secrets: readonly string[];
      readonly body?: string;
    },
  ): Promise<number> => {
    const body = attempt.body ?? '{"type":"incident.firing","data":{"value":0}}';
    const headers = signatureHeaders({
      deliveryId: 'dlv_1',
      attemptId: 'att_1',
      timestampUnix: Math.floor(Date.now() / 1000),
      ...attempt,
      body: Buffer.from(body),
    });
    return fetch(url, { method: 'POST', headers, body }).then(
      ({ status }) => status,
      () => 0,
    );
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/**
 * Environment of the guide's `source`: one round over two VMs of another hypervisor, one of which
 * reports its CPU.
 */
export function sourceEnvironment(
  t: { teardown(fn: () => unknown): unknown },
  { endpoint, demo }: Pick<DemoWorld, 'endpoint' | 'demo'>,
): Environment {
  const VMS_FILE = join(dataFolder(t), 'vms.json');
  const vms = [
    { id: 'vm-other', name: 'db', isOn: true, cpuSeconds: 12.5 },
    { id: 'vm-off', name: 'old', isOn: false },
  ];
  writeFileSync(VMS_FILE, JSON.stringify(vms));
  const key = { SVC_ENDPOINT: endpoint, SVC_API_KEY: demo.collectorKey, SVC_PROJECT: 'demo' };
  return { ...key, VMS_FILE, ROUNDS: '1' };
}

/** A VM of the demo from the inventory, once it is listed. */
export function observedSince({ endpoint, demo }: DemoWorld, vm: string): Promise<object> {
  const { monitoring } = createClient({ baseUrl: endpoint, token: demo.apiKey });
  return until(`${vm} in the inventory`, async () => {
    const request = { projectName: 'projects/demo', pageSize: 1_000 };
    const { vms } = await monitoring.listVMMonitoring(request);
    const found = vms.find(({ name }) => name === `projects/demo/vms/${vm}`);
    return found;
  });
}
