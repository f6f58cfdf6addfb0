/**
 * What tests take of this machine, handed out so that no two of them get the same: folders, ports,
 * networks, names. A server of the test's own listens on port 0 and says where it is. A port is taken
 * here only where it has to be known before its program starts, as in a configuration file.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Teardown = { teardown(end: () => unknown): unknown };

/** A fresh data folder, removed with the test. */
export function dataFolder(t: Teardown): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-e2e-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Ports below those that Linux and macOS give to connections and to listeners of port 0, so that
 * neither takes a reserved one.
 */
const FIRST_PORT = 10_000;
const PORTS = 22_000;
/** Ports to look at before the machine counts as full. */
const LOOKS_MAX = 1_000;
/** Starts on other ports, when another program has taken one of them. */
const STARTS_MAX = 5;

/**
 * A port of 127.0.0.1 for a program that is about to start; no other process of any test run gets it
 * before this one ends. A UDP socket of the same number is what keeps it: the system gives that to one
 * process, and takes it back however the process ends. Throws when none of many is free.
 * @param begin the place in the range at which it begins to look, by default any
 */
export async function reservePort(begin = Math.floor(Math.random() * PORTS)): Promise<number> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    const port = FIRST_PORT + ((begin + look) % PORTS);
    if ((await isReserved(port)) && (await isFree(port))) return port;
  }
  throw new Error(
    `None of ${LOOKS_MAX} ports from ${FIRST_PORT + begin} is free: end what has them`,
  );
}

/** Whether nothing listens on the port of 127.0.0.1. */
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

/** True when this process has reserved it now. */
async function isReserved(port: number): Promise<boolean> {
  const socket = createSocket('udp4');
  // What it keeps does not keep the process.
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

/** A program found its port taken: by a program that knows nothing of reservations. */
export class PortTaken extends Error {
  constructor(program: string, log: string) {
    super(`${program} found its port taken by another program:\n${log}`);
    this.name = 'PortTaken';
  }
}

/** Whether a program's words say so, in the language of Go, Node or nginx. */
export function saysPortTaken(log: string): boolean {
  return /address already in use|EADDRINUSE/i.test(log);
}

/**
 * Starts something on ports of its own, and again on others when `start` throws `PortTaken`.
 * @param count of ports that it needs
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
 * Arguments before a command's that give it a network of its own, with a loopback and nothing else: for
 * programs whose ports are fixed. Needs the component `network namespaces`. `inNetworkOf` reaches it.
 */
export const ownNetwork: readonly string[] = [
  ...['unshare', '--map-root-user', '--net'],
  ...['sh', '-c', 'ip link set lo up && exec "$@"', 'own-network'],
];

/** Arguments before a command's that run it in the network of a process. */
export function inNetworkOf(pid: number): readonly string[] {
  return ['nsenter', '--target', String(pid), '--user', '--preserve-credentials', '--net'];
}

let machines = 0;

/** A name for a container or a machine that nothing else on this machine has. */
export function machineName(): string {
  return `svc-${process.pid}-${++machines}`;
}
