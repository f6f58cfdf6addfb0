/**
 * `npm run cluster`: three nats-servers and three members of the service on this machine, below
 * `data/cluster`, until Ctrl-C or until this process is killed. The ports are fixed, so that a
 * second start finds the data of the first one; `--port-base` moves them:
 *
 *     nats-1..3    clients 4222..4224, routes 6222..6224   data/cluster/nats-N, nats-N.log beside
 *     it
 *     member-1..3  API 8080..8082, metrics 9464..9466      data/cluster/member-N
 *
 * `scripts/cluster.ts member N` is one member, in this process. The Procfile starts these.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  accessSync,
  constants,
  createWriteStream,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = join('data', 'cluster');
const KEY = join(FOLDER, 'master.key');
const NUMBERS = [1, 2, 3] as const;
const READY_MS = 120_000;
/** A member has ten seconds for requests in flight, and then for its storage. */
const STOP_MS = 30_000;

/** First port of each kind; the other two follow it. */
interface Ports {
  /** Set by `--port-base`; absent: the documented ports, as in the servers' configuration. */
  readonly base?: number;
  readonly api: number;
  readonly metrics: number;
  readonly clients: number;
  readonly routes: number;
}

const DOCUMENTED_PORTS: Ports = { api: 8080, metrics: 9464, clients: 4222, routes: 6222 };

/** The ports of the cluster. Throws unless all of them are ports that any user may open. */
function portsFrom(text: string | undefined): Ports {
  if (text === undefined) return DOCUMENTED_PORTS;
  const base = Number(text);
  if (!Number.isInteger(base) || base < 1024 || base + 11 > 65_535) {
    throw new CannotStart(`--port-base is ${text}. Name a port from 1024 to 65524`);
  }
  return { base, api: base, metrics: base + 3, clients: base + 6, routes: base + 9 };
}

const port = (first: number, number: number): number => first + number - 1;

function natsUrls(first: number): string {
  return NUMBERS.map((number) => `nats://127.0.0.1:${port(first, number)}`).join(',');
}

const USAGE = `Usage: npm run cluster [-- [--nats-server PROGRAM] [--in FOLDER] [--port-base PORT]]

Starts three nats-servers and three members of the service; Ctrl-C stops them.

  --nats-server PROGRAM  nats-server 2.10.27 or newer; default: the one in PATH
  --in FOLDER            everything is in data/cluster below it; default: this checkout
  --port-base PORT       first of twelve consecutive ports, in place of 8080, 9464, 4222 and 6222
`;

/** Command that starts a member by hand in the checkout, e.g. after it was killed. */
function startOf(number: number, { base }: Ports): string {
  const where = resolve() === resolve(ROOT) ? '' : ` --in ${resolve()}`;
  const ports = base === undefined ? '' : ` --port-base ${base}`;
  return `node_modules/.bin/node scripts/cluster.ts member ${number}${where}${ports}`;
}

/** A file of the cluster, as a path from the checkout. */
function displayed(name: string): string {
  const path = join(FOLDER, name);
  return resolve() === resolve(ROOT) ? path : resolve(path);
}

class CannotStart extends Error {}

/** Settings of a member. The first one makes the project demo and monitors this machine. */
function memberFlags(number: number, ports: Ports): string[] {
  const isFirst = number === 1;
  return [
    '--data',
    join(FOLDER, `member-${number}`),
    '--master-key-file',
    KEY,
    '--nats-url',
    natsUrls(ports.clients),
    '--listen',
    `127.0.0.1:${port(ports.api, number)}`,
    '--metrics-listen',
    `127.0.0.1:${port(ports.metrics, number)}`,
    '--demo',
    isFirst ? 'on' : 'off',
    ...(isFirst ? [] : ['--collect', 'none']),
  ];
}

/** One key for all members, made by the one that starts first. */
function makeKey(): void {
  mkdirSync(FOLDER, { recursive: true, mode: 0o700 });
  const own = `${KEY}.${process.pid}`;
  writeFileSync(own, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  try {
    // Fails if it exists, so that no member ever sees a part of it, or another key.
    linkSync(own, KEY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(own, { force: true });
  }
}

interface Running {
  readonly name: string;
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
}

/** A runner's Ctrl-C reaches only this process, which passes it on in order. */
function start(name: string, program: string, args: readonly string[], hint: string): Running {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const exited = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      say(`${name} has ended (${signal ?? `code ${code}`})${isStopping ? '' : `: ${hint}`}`);
      resolve();
    });
    child.once('error', (error) => {
      say(`${name} cannot be started: ${error.message}`);
      resolve();
    });
  });
  return { name, child, exited };
}

/**
 * Stops the remaining processes when this process was killed and its end of the pipe is closed:
 * first the members, which sign off from the others through the servers.
 */
const WATCH = `
while read -r kind pid; do
  case $kind in
    member) members="$members $pid" ;;
    server) servers="$servers $pid" ;;
    stopped) exit 0 ;;
  esac
done
kill -TERM $members 2> /dev/null
for second in $(seq ${STOP_MS / 1000}); do
  left=
  for pid in $members; do kill -0 $pid 2> /dev/null && left=1; done
  [ -z "$left" ] && break
  sleep 1
done
kill -TERM $servers 2> /dev/null
`;

/** Returns a function that reports an orderly stop to the watcher. */
function watchOver(servers: readonly Running[], members: readonly Running[]): () => void {
  const watcher = spawn('sh', ['-c', WATCH], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // The cluster also runs without it.
  watcher.on('error', () => {});
  watcher.stdin.on('error', () => {});
  for (const { child } of members) watcher.stdin.write(`member ${child.pid}\n`);
  for (const { child } of servers) watcher.stdin.write(`server ${child.pid}\n`);
  return () => void watcher.stdin.end('stopped\n');
}

let isStopping = false;

/** Flags that replace the ports of the server's configuration. */
function serverPorts(number: number, { base, clients, routes }: Ports): string[] {
  if (base === undefined) return [];
  return [
    '--port',
    String(port(clients, number)),
    '--cluster',
    `nats://127.0.0.1:${port(routes, number)}`,
    '--routes',
    natsUrls(routes),
  ];
}

/** Servers log much that is rarely needed, so it goes to a file. */
function startServer(nats: string, number: number, ports: Ports): Running {
  const config = join(ROOT, 'docs', 'operations', 'nats-cluster', `local-${number}.conf`);
  const name = `nats-${number}`;
  const path = join(FOLDER, `${name}.log`);
  const where = resolve() === resolve(ROOT) ? relative(ROOT, config) : config;
  const moved = serverPorts(number, ports);
  const again = `"${[nats, '--config', where, ...moved].join(' ')}" starts it again`;
  const args = ['--config', config, ...moved];
  const server = start(name, nats, args, `see ${displayed(`${name}.log`)}; ${again}`);
  const log = createWriteStream(path);
  server.child.stdout?.pipe(log);
  server.child.stderr?.pipe(log);
  return server;
}

/** The lines of a member are printed with its name. */
function startMember(number: number, ports: Ports): Running {
  const script = fileURLToPath(import.meta.url);
  const name = `member-${number}`;
  const moved = ports.base === undefined ? [] : ['--port-base', String(ports.base)];
  const args = [script, 'member', String(number), '--in', resolve(), ...moved];
  const member = start(name, process.execPath, args, `"${startOf(number, ports)}" starts it again`);
  const { stdout, stderr } = member.child;
  for (const output of [stdout, stderr]) {
    let rest = '';
    output?.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) process.stdout.write(`${name.padEnd(8)} | ${line}\n`);
    });
  }
  return member;
}

function isRunning({ child }: Running): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

async function stop(running: readonly Running[]): Promise<void> {
  for (const one of running) if (isRunning(one)) one.child.kill('SIGTERM');
  const late = sleep(STOP_MS, undefined, { ref: false });
  for (const one of running) {
    await Promise.race([one.exited, late]);
    if (isRunning(one)) one.child.kill('SIGKILL');
    await one.exited;
  }
}

function say(sentence: string): void {
  process.stdout.write(`cluster  | ${sentence}\n`);
}

/** Path of nats-server: the option's, or the one in PATH. Throws with instructions to get it. */
function findNats(named: string | undefined): string {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const candidates = named ? [named] : folders.map((folder) => join(folder, 'nats-server'));
  const found = candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (found !== undefined) return found;
  throw new CannotStart(
    `${named ?? 'nats-server'} is not a program here. Install nats-server 2.10.27 or newer (Debian's ` +
      'package nats-server, or one file from its releases), or name it: npm run cluster -- --nats-server PATH',
  );
}

async function assertPortsFree({ api, metrics, clients, routes }: Ports): Promise<void> {
  for (const first of [clients, routes, api, metrics]) {
    for (const number of NUMBERS) {
      const server = createServer().listen(port(first, number), '127.0.0.1');
      const isFree = await Promise.race([
        once(server, 'listening').then(() => true),
        once(server, 'error').then(() => false),
      ]).catch(() => false);
      server.close();
      if (isFree) continue;
      const what = `Port ${port(first, number)} of 127.0.0.1 is taken`;
      throw new CannotStart(
        `${what}. Stop the program that uses it, or the running cluster; or choose others with --port-base`,
      );
    }
  }
}

async function untilReady(
  members: readonly Running[],
  { api }: Ports,
  stopped: AbortSignal,
): Promise<boolean> {
  const endMs = performance.now() + READY_MS;
  const waiting = new Set(NUMBERS.map((number) => number as number));
  while (waiting.size > 0 && !stopped.aborted && performance.now() < endMs) {
    for (const number of waiting) {
      const member = members[number - 1];
      const answer = await fetch(`http://127.0.0.1:${port(api, number)}/readyz`).catch(() => null);
      if (answer?.ok) say(`member-${number} is ready`);
      if (answer?.ok || member === undefined || !isRunning(member)) waiting.delete(number);
    }
    await sleep(500);
  }
  return waiting.size === 0;
}

function showAddresses(members: readonly Running[], { api }: Ports): void {
  for (const number of NUMBERS) {
    const member = members[number - 1];
    const state = member && isRunning(member) ? `process ${member.child.pid}` : 'it has ended';
    say(`member-${number}: http://127.0.0.1:${port(api, number)} (${state})`);
  }
  try {
    const text = readFileSync(join(FOLDER, 'member-1', 'demo.json'), 'utf8');
    const { signInUrl } = JSON.parse(text) as { readonly signInUrl?: string };
    if (signInUrl) say(`to sign in, open this link, which works once: ${signInUrl}`);
  } catch {
    // Without the demo project there is no link.
  }
  say(
    `to list the members and their shares: npx svc admin members --data ${displayed('member-1')}`,
  );
  say(`the logs of the nats-servers: ${displayed('nats-1.log')}, and beside it`);
  say('Ctrl-C stops everything');
}

async function runCluster(named: string | undefined, ports: Ports): Promise<number> {
  const nats = findNats(named);
  await assertPortsFree(ports);
  makeKey();
  const stopping = new AbortController();
  const signalled = new Promise<void>((resolve) => {
    const onSignal = () => {
      stopping.abort();
      resolve();
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  });
  const servers = NUMBERS.map((number) => startServer(nats, number, ports));
  const members = NUMBERS.map((number) => startMember(number, ports));
  const stopped = watchOver(servers, members);
  try {
    say('starting three nats-servers and three members, about 20 s');
    const isReady = await untilReady(members, ports, stopping.signal);
    if (!stopping.signal.aborted) {
      if (!isReady) say('some members are not ready after two minutes: see their lines above');
      showAddresses(members, ports);
    }
    const ended = Promise.all([...servers, ...members].map(({ exited }) => exited));
    await Promise.race([signalled, ended]);
    return members.every(isRunning) || stopping.signal.aborted ? 0 : 1;
  } finally {
    isStopping = true;
    say('stopping the members, then the nats-servers');
    await stop(members);
    await stop(servers);
    stopped();
  }
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = {
    'nats-server': text,
    in: text,
    'port-base': text,
    help: { type: 'boolean' },
  } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new CannotStart(error instanceof Error ? error.message : String(error));
  }
}

async function main(args: readonly string[]): Promise<number> {
  try {
    if (args[0] === 'member') {
      const { in: folder = ROOT, 'port-base': base } = parse(args.slice(2));
      const ports = portsFrom(base);
      process.chdir(folder);
      makeKey();
      const { main: svc } = await import('../src/main.ts');
      return await svc(['serve', ...memberFlags(Number(args[1]), ports)]);
    }
    const { 'nats-server': nats, in: folder = ROOT, 'port-base': base, help } = parse(args);
    if (!help) {
      const program = nats === undefined ? undefined : resolve(nats);
      const ports = portsFrom(base);
      process.chdir(folder);
      return await runCluster(program, ports);
    }
    process.stdout.write(USAGE);
    return 0;
  } catch (error) {
    if (!(error instanceof CannotStart)) throw error;
    process.stderr.write(`npm run cluster: ${error.message}\n`);
    return 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
