/**
 * Members of a cluster as a user starts them: `bin/svc.js serve` on three nats-servers, each member
 * with its own process and data folder, all with one master key. Each has its own line to each
 * nats-server, which can be cut. Every process is ended by its id, even if the test fails.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import {
  clusterSpec,
  leaseSubject,
  memberSubject,
  shareOf,
} from '../../streams/platform/membership/roster.ts';
import { componentPath } from './components.ts';
import { type NatsCluster, startNatsCluster } from './nats-cluster.ts';
import { reservePort } from './places.ts';
import { type Demo, dataFolder, until } from './program.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export interface Member {
  /** Number of the member, from 1. */
  readonly number: number;
  readonly baseUrl: string;
  readonly folder: string;
  readonly pid: number;
  /** Log of all its runs. */
  log(): string;
  isReady(): Promise<boolean>;
  /** Starts it, or restarts it on the same folder and address. Resolves once it is ready. */
  start(): Promise<void>;
  /** Sends SIGTERM. Resolves with the exit code. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL. Resolves once the process has ended. */
  kill(): Promise<void>;
  suspend(): void;
  resume(): void;
  /** Cuts its lines to all nats-servers. */
  cut(): void;
  mend(): void;
}

export interface MemberCluster {
  readonly nats: NatsCluster;
  /** Folder of all nats-servers. */
  readonly natsFolder: string;
  /** In the order in which they were added. */
  readonly members: readonly Member[];
  /** Keys of the project demo, created by the first member. */
  readonly demo: Demo;
  /** File of the shared master key. */
  readonly keyFile: string;
  /** Adds a member without starting it. */
  add(options?: MemberOptions): Promise<Member>;
  /** Removes a member that has ended. */
  remove(member: Member): void;
  /** Current owner of a project; undefined: it has none, or it is unknown. */
  ownerOf(project: string): Promise<Member | undefined>;
}

export interface MemberOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** Lead of its calendar clock, ms. */
  readonly clockShiftMs?: number;
  /** Size of a disk of its own below its data folder, MiB, which needs tmpfs mounts. */
  readonly diskMib?: number;
}

export interface MemberDisks extends Pick<MemberOptions, 'diskMib'> {
  /** Size of one disk for all nats-servers, MiB, which needs tmpfs mounts. */
  readonly natsDiskMib?: number;
}

type Teardown = { teardown(end: () => unknown): unknown };

const program = fileURLToPath(new URL('../../bin/svc.js', import.meta.url));
const shiftedClock = new URL('./shifted-clock.ts', import.meta.url).href;
const compiled = process.env.NODE_COMPILE_CACHE
  ? { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }
  : {};

/** Creates a file with a new master key. */
export function masterKeyFile(t: Teardown): string {
  const path = join(dataFolder(t), 'master.key');
  writeFileSync(path, randomBytes(32).toString('base64'), { mode: 0o600 });
  return path;
}

/** Starts three nats-servers and `members` members, and waits until all are ready. */
export async function startMembers(
  t: Teardown,
  members: number,
  settings: Readonly<Record<string, string>> = {},
  { diskMib, natsDiskMib }: MemberDisks = {},
): Promise<MemberCluster> {
  const folder = dataFolder(t);
  if (natsDiskMib !== undefined) mountDisk(t, folder, natsDiskMib);
  const program = componentPath('nats-server 2.15.1');
  const nats = await startNatsCluster({ program, folder, isMonitored: true });
  const monitors = nats.servers.map(({ monitorUrl }) => monitorUrl).join(',');
  t.teardown(() => nats.kill());
  const all: Member[] = [];
  let numbers = 0;
  const keyFile = masterKeyFile(t);
  const add = async (options: MemberOptions = {}): Promise<Member> => {
    const member = await prepareMember(t, nats, {
      ...options,
      number: ++numbers,
      ...(diskMib !== undefined && { diskMib }),
      settings: {
        SVC_MASTER_KEY_FILE: keyFile,
        SVC_NATS_MONITOR_URL: monitors,
        ...settings,
        ...options.settings,
      },
    });
    all.push(member);
    return member;
  };
  const first = await add({ settings: { SVC_DEMO: 'on' } });
  await first.start();
  const file = join(first.folder, 'demo.json');
  await until('demo.json', () => existsSync(file) || undefined);
  const demo = JSON.parse(readFileSync(file, 'utf8')) as Demo;
  const others = await Promise.all(Array.from({ length: members - 1 }, () => add()));
  await Promise.all(others.map((member) => member.start()));
  return {
    nats,
    natsFolder: folder,
    members: all,
    demo,
    keyFile,
    add,
    remove: (member) => void all.splice(all.indexOf(member), 1),
    ownerOf: (project) => ownerOf(nats, all, project),
  };
}

type Prepared = MemberOptions & { readonly number: number };

async function prepareMember(
  t: Teardown,
  nats: NatsCluster,
  { number, settings, clockShiftMs, diskMib }: Prepared,
): Promise<Member> {
  const folder = dataFolder(t);
  if (diskMib !== undefined) mountDisk(t, folder, diskMib);
  const lines = await Promise.all(nats.urls.map((url) => startTcpProxy(Number(new URL(url).port))));
  t.teardown(() => {
    for (const line of lines) line.close();
  });
  const port = await reservePort();
  const life = new Life({
    arguments: clockShiftMs === undefined ? [] : ['--import', shiftedClock],
    environment: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      ...compiled,
      SVC_DATA: folder,
      SVC_LISTEN: `127.0.0.1:${port}`,
      SVC_METRICS_LISTEN: 'off',
      SVC_NATS_URL: lines.map((line) => `nats://127.0.0.1:${line.port}`).join(','),
      ...(diskMib !== undefined && { SVC_DISK_RESERVE: '64' }),
      ...(clockShiftMs !== undefined && { SHIFTED_CLOCK_MS: String(clockShiftMs) }),
      ...settings,
    },
  });
  t.teardown(() => life.end('SIGKILL'));
  return memberOf({ number, folder, baseUrl: `http://127.0.0.1:${port}`, life, lines });
}

/** Mounts a disk of its own on the folder until the test ends; needs tmpfs mounts. */
export function mountDisk(t: Teardown, folder: string, sizeMib: number): void {
  componentPath('tmpfs mounts');
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMib}m,mode=700`, 'svc-test', folder]);
  t.teardown(() => execFileSync('umount', ['--lazy', folder]));
}

function memberOf({
  life,
  lines,
  ...facts
}: Pick<Member, 'number' | 'folder' | 'baseUrl'> & {
  readonly life: Life;
  readonly lines: readonly TcpProxy[];
}): Member {
  const isReady = async (): Promise<boolean> => {
    const signal = AbortSignal.timeout(5_000);
    const answer = await fetch(`${facts.baseUrl}/readyz`, { signal }).catch(() => undefined);
    return answer?.ok === true;
  };
  return {
    ...facts,
    get pid() {
      return life.pid;
    },
    log: () => life.log,
    isReady,
    async start() {
      life.begin();
      const check = async () => {
        if (!life.isRunning) throw new Error(`Member ${facts.number} ended:\n${life.log}`);
        return (await isReady()) || undefined;
      };
      await until(`member ${facts.number} is ready`, check).catch((error) => {
        throw new Error(`${error.message}\n${life.log.slice(-4_000)}`);
      });
    },
    stop: () => life.end('SIGTERM'),
    kill: async () => void (await life.end('SIGKILL')),
    suspend: () => life.signal('SIGSTOP'),
    resume: () => life.signal('SIGCONT'),
    cut: () => {
      for (const line of lines) line.cut();
    },
    mend: () => {
      for (const line of lines) line.mend();
    },
  };
}

/** Successive processes of a member. */
class Life {
  readonly #arguments: readonly string[];
  readonly #environment: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #exited: Promise<unknown> = Promise.resolve();
  log = '';

  constructor(options: {
    readonly arguments: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
  }) {
    this.#arguments = options.arguments;
    this.#environment = options.environment;
    // A test that times out has no teardown, and none of its processes may outlive it.
    process.once('exit', () => this.signal('SIGKILL'));
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && !hasEnded(this.#child);
  }

  begin(): void {
    const child = spawn(process.execPath, [...this.#arguments, program, 'serve'], {
      env: { ...this.#environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const keep = (chunk: Buffer) => {
      this.log += chunk;
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    this.#child = child;
    this.#exited = once(child, 'exit');
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#child && !hasEnded(this.#child)) this.#child.kill(signal);
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    this.signal(signal);
    await this.#exited;
    return this.#child?.exitCode ?? null;
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Reads the lease and the record of its owner, which names its process. */
async function ownerOf(
  { urls }: NatsCluster,
  members: readonly Member[],
  project: string,
): Promise<Member | undefined> {
  const nats = await connect({ servers: [...urls], timeout: 5_000 });
  try {
    const { streams } = await jetstreamManager(nats, { checkAPI: false, timeout: 5_000 });
    const row = async (subject: string): Promise<Record<string, unknown>> => {
      const message = await streams.getMessage(clusterSpec.name, { last_by_subj: subject });
      return message === null ? {} : message.json();
    };
    const { owner } = await row(leaseSubject(shareOf(project)));
    const { pid } = await row(memberSubject(String(owner)));
    return members.find((member) => member.pid === pid);
  } catch {
    // There is no leader at the moment.
    return undefined;
  } finally {
    await nats.close();
  }
}
