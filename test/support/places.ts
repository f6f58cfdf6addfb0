/**
 * Resources of this machine, assigned so that no two tests share one: folders, ports, networks,
 * names. A test's own server listens on port 0 and reports its address. A port is reserved here
 * only if it must be known before its program starts, as in a configuration file.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Teardown = { teardown(end: () => unknown): unknown };

/** Creates a data folder, removed with the test. */
export function dataFolder(t: Teardown): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-e2e-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Ports below the ranges that Linux and macOS use for connections and for port 0, so that neither
 * takes a reserved one.
 */
const FIRST_PORT = 10_000;
const PORTS = 22_000;
/** Ports to try before the machine counts as full. */
const LOOKS_MAX = 1_000;
/** Attempts to start on other ports after another program has taken one. */
const STARTS_MAX = 5;

/**
 * Reserves a port of 127.0.0.1 for a program that is about to start. No other process of any test
 * run gets it before this one ends. The reservation is a UDP socket with the same number: the
 * system gives it to only one process, and frees it however the process ends. Throws if none of
 * `LOOKS_MAX` ports is free.
 * @param begin offset in the range at which the search begins, by default random
 */
export async function reservePort(begin = Math.floor(Math.random() * PORTS)): Promise<number> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    const port = FIRST_PORT + ((begin + look) % PORTS);
    if ((await isReserved(port)) && (await isFree(port))) return port;
  }
  throw new Error(
    `None of ${LOOKS_MAX} ports from ${FIRST_PORT + begin} is free: stop the programs that use them`,
  );
}

/** True if nothing listens on the port of 127.0.0.1. */
async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen({ port, host: '127.0.0.1', exclusive: true });
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

/** Reserves the port for this process. True if it succeeded. */
async function isReserved(port: number): Promise<boolean> {
  const socket = createSocket('udp4');
  // The reservation does not keep the process alive.
  socket.unref();
  socket.bind({ port, address: '127.0.0.1', exclusive: true });
  try {
    await once(socket, 'listening');
    return true;
  } catch {
    socket.close();
    return false;
  }
}

/** Another program, which does not use reservations, has taken the port. */
export class PortTaken extends Error {
  constructor(program: string, log: string) {
    super(`${program} found its port taken by another program:\n${log}`);
    this.name = 'PortTaken';
  }
}

/** True if a program's output reports a taken port, in the wording of Go, Node or nginx. */
export function saysPortTaken(log: string): boolean {
  return /address already in use|EADDRINUSE/i.test(log);
}

/**
 * Starts something on reserved ports, and retries on others if `start` throws `PortTaken`.
 * @param count number of ports that it needs
 */
export async function onOwnPorts<T>(
  count: number,
  start: (ports: readonly number[]) => Promise<T>,
): Promise<T> {
  for (let left = STARTS_MAX; ; left--) {
    const ports: number[] = [];
    while (ports.length < count) ports.push(await reservePort());
    try {
      return await start(ports);
    } catch (error) {
      if (!(error instanceof PortTaken) || left === 1) throw error;
    }
  }
}

/**
 * Arguments that run a command in a network of its own, with only a loopback: for programs whose
 * ports are fixed. Needs the component `network namespaces`. `inNetworkOf` gives access to that
 * network.
 */
export const ownNetwork: readonly string[] = [
  'unshare',
  '--map-root-user',
  '--net',
  'sh',
  '-c',
  'ip link set lo up && exec "$@"',
  'own-network',
];

/** Arguments that run a command in the network of a process. */
export function inNetworkOf(pid: number): readonly string[] {
  return ['nsenter', '--target', String(pid), '--user', '--preserve-credentials', '--net'];
}

let machines = 0;

/** A name for a container or a machine, unique on this machine. */
export function machineName(): string {
  return `svc-${process.pid}-${++machines}`;
}
