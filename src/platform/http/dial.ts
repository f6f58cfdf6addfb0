/**
 * Opens TCP connections to hosts with several addresses, the one rule of all outgoing clients (RFC
 * 8305): a further attempt starts every 250 ms, or as soon as one fails, and the first connection
 * wins. Node gives up each attempt after 250 ms instead, so a host that needs longer for a handshake
 * would never be reached if it also has an address that cannot be.
 */
import { type LookupAddress, lookup } from 'node:dns';
import { isIP, connect as netConnect, type Socket } from 'node:net';
import { type Clock, systemClock } from '../../../streams/platform/clock.ts';

/** Delay between the starts of two attempts, ms (RFC 8305, section 5). */
const NEXT_ATTEMPT_MS = 250;
/** Most addresses of one host that are tried. */
const ADDRESSES_MAX = 16;

/**
 * Time that Node gives each attempt in connections that it opens by itself, ms: those of `fetch` in
 * agents and commands. It includes one lost packet, which is sent again after 1 s.
 */
export const SEQUENTIAL_ATTEMPT_MS = 2_000;

/** The host to connect to. */
export interface DialTarget {
  readonly addresses: readonly LookupAddress[];
  readonly port: number;
  /** Time for all attempts together, ms. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** For tests: opens one socket. */
  readonly open?: (address: string, port: number) => Socket;
}

/** An attempt that failed, or was still open at the timeout. */
interface FailedFamily {
  readonly family: 'IPv4' | 'IPv6';
  /** Code of Node's error; `ETIMEDOUT` at the timeout. */
  readonly code: string;
}

/** No address of the host accepted a connection. */
export class NotConnected extends Error {
  /** Code of the failure, the first one if they differ. */
  readonly code: string;
  /** One for each family and code, in the order of attempts. */
  readonly failures: readonly FailedFamily[];
  readonly timeoutMs: number;

  constructor(failures: readonly FailedFamily[], timeoutMs: number) {
    const words = failures.map(({ family, code }) => `${family}: ${code}`);
    super(`No connection within ${timeoutMs / 1000} s (${words.join(', ') || 'no address'})`);
    this.name = 'NotConnected';
    this.code = failures[0]?.code ?? 'ETIMEDOUT';
    this.failures = failures;
    this.timeoutMs = timeoutMs;
  }
}

/** Called once, with a connected socket or a `NotConnected`. */
export type Dialled = (error: Error | null, socket: Socket | null) => void;

/** Connects to the first address that accepts a connection. */
export function dial(target: DialTarget, done: Dialled): void {
  new Dialling(target, done).next();
}

class Dialling {
  readonly #target: DialTarget;
  readonly #done: Dialled;
  readonly #clock: Clock;
  readonly #waiting: LookupAddress[];
  readonly #open = new Map<Socket, LookupAddress>();
  readonly #failures: FailedFamily[] = [];
  readonly #cancelEnd: () => void;
  #cancelNext: () => void = () => {};
  #isOver = false;

  constructor(target: DialTarget, done: Dialled) {
    const { addresses, clock = systemClock, timeoutMs, signal } = target;
    this.#target = target;
    this.#done = done;
    this.#clock = clock;
    this.#waiting = alternated(addresses).slice(0, ADDRESSES_MAX);
    this.#cancelEnd = clock.wakeAfter(timeoutMs, this.#giveUp);
    signal?.addEventListener('abort', this.#giveUp, { once: true });
    if (signal?.aborted) this.#giveUp();
  }

  /** Starts the next attempt, and the one after it in time. */
  next(): void {
    this.#cancelNext();
    if (this.#isOver) return;
    const address = this.#waiting.shift();
    if (address) this.#attempt(address);
    else if (this.#open.size === 0) this.#end(null);
    if (this.#isOver || this.#waiting.length === 0) return;
    this.#cancelNext = this.#clock.wakeAfter(NEXT_ATTEMPT_MS, () => this.next());
  }

  #attempt(address: LookupAddress): void {
    const { port, open = openSocket } = this.#target;
    const socket = open(address.address, port);
    this.#open.set(socket, address);
    socket.once('connect', () => this.#end(socket));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (!this.#open.delete(socket)) return;
      this.#record(address, error.code ?? 'ECONNRESET');
      this.next();
    });
  }

  readonly #giveUp = (): void => {
    for (const address of [...this.#open.values(), ...this.#waiting]) {
      this.#record(address, 'ETIMEDOUT');
    }
    this.#end(null);
  };

  #record({ family }: LookupAddress, code: string): void {
    const name = family === 6 ? 'IPv6' : 'IPv4';
    const isKnown = this.#failures.some((one) => one.family === name && one.code === code);
    if (!isKnown) this.#failures.push({ family: name, code });
  }

  #end(socket: Socket | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelEnd();
    this.#cancelNext();
    this.#target.signal?.removeEventListener('abort', this.#giveUp);
    for (const other of this.#open.keys()) if (other !== socket) other.destroy();
    this.#open.clear();
    const error = socket ? null : new NotConnected(this.#failures, this.#target.timeoutMs);
    this.#done(error, socket);
  }
}

/** The families take turns, beginning with the first address (RFC 8305, section 4). */
function alternated(addresses: readonly LookupAddress[]): LookupAddress[] {
  const first = addresses.filter(({ family }) => family === addresses[0]?.family);
  const second = addresses.filter(({ family }) => family !== addresses[0]?.family);
  const count = Math.max(first.length, second.length);
  return Array.from({ length: count }, (_, i) => [first[i], second[i]])
    .flat()
    .filter((address) => address !== undefined);
}

function openSocket(host: string, port: number): Socket {
  return netConnect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 });
}

/** Resolves a host name to its addresses. */
export type Resolve = (
  host: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

/** Resolution by the operating system, which also knows the hosts file. */
export const systemResolve: Resolve = (host, done) => lookup(host, { all: true }, done);

/** A host by name or address, and the time to resolve and to connect to it. */
export interface HostToDial extends Omit<DialTarget, 'addresses'> {
  readonly host: string;
  readonly resolve?: Resolve;
}

/** Resolves the host, then connects to it. The errors of `resolve` are passed on. */
export function dialHost({ host, resolve = systemResolve, ...target }: HostToDial, done: Dialled) {
  const family = isIP(host);
  if (family !== 0) return dial({ ...target, addresses: [{ address: host, family }] }, done);
  resolve(host, (error, addresses) => {
    if (error) done(error, null);
    else dial({ ...target, addresses }, done);
  });
}
