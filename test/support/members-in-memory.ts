/**
 * Members of a cluster over one log in memory, each with a clock and a connection of its own, which
 * a test can suspend, skew, cut or slow down.
 */
import { type Clock, VirtualClock } from '../../streams/platform/clock.ts';
import { Fitness } from '../../streams/platform/membership/fitness.ts';
import { joinCluster } from '../../streams/platform/membership/member.ts';
import type { Membership } from '../../streams/platform/membership/membership.ts';
import { SHARES, type Share } from '../../streams/platform/membership/roster.ts';
import {
  type Append,
  partitionOf,
  type Stream,
  type StreamMessage,
  StreamUnavailable,
} from '../../streams/platform/stream.ts';
import { FaultyLog } from './faulty-stream.ts';

export const START_MS = Date.UTC(2026, 10, 1);

/**
 * A member's own clock: ahead of the world's by `skewMs`. Its timers wait while it is suspended.
 */
export class OwnClock implements Clock {
  isSuspended = false;
  /** Offset by which the clock was set while running, ms. */
  setMs = 0;
  readonly #world: VirtualClock;
  readonly #skewMs: number;
  #due: (() => void)[] = [];

  constructor(world: VirtualClock, skewMs: number) {
    this.#world = world;
    this.#skewMs = skewMs;
  }

  now = () => this.#world.now() + this.#skewMs + this.setMs;
  elapsed = () => this.#world.elapsed();

  wakeAfter(delayMs: number, wake: () => void) {
    let isCancelled = false;
    const run = () => {
      if (isCancelled) return;
      if (this.isSuspended) this.#due.push(run);
      else wake();
    };
    const cancel = this.#world.wakeAfter(delayMs, run);
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  resume(): void {
    this.isSuspended = false;
    for (const wake of this.#due.splice(0)) wake();
  }

  /** Resolves when the member runs. */
  running(): Promise<void> {
    return this.isSuspended ? new Promise((resolve) => this.#due.push(resolve)) : Promise.resolve();
  }
}

/** A member's connection to the stream, which can be cut and has a latency: `delayMs` each way. */
function connect(log: FaultyLog, world: VirtualClock, clock: OwnClock) {
  const inner = log.connect();
  const wire = {
    isCut: false,
    readsNothing: false,
    /** First message of a read from the beginning, though the stream does not have it. */
    shows: undefined as StreamMessage | undefined,
    delayMs: () => 0,
    refuses: (_: Append) => false,
  };
  const leg = (ms: number) =>
    new Promise<void>((resolve) => (ms === 0 ? resolve() : void world.wakeAfter(ms, resolve)));
  const call = async <R>(act: () => Promise<R>): Promise<R> => {
    if (wire.isCut) throw new StreamUnavailable('Not connected', 'refused');
    // In flight it belongs to the network: suspending the member does not stop it.
    await leg(wire.delayMs());
    const result = await act();
    await leg(wire.delayMs());
    await clock.running();
    if (wire.isCut) throw new StreamUnavailable('No answer', 'unknown');
    return result;
  };
  const read: Stream['read'] = (options) => {
    const reading = inner.read(options);
    return {
      close: () => reading.close(),
      async *[Symbol.asyncIterator]() {
        const isWhole = 'sequence' in options.from && options.from.sequence <= 1;
        if (wire.shows && isWhole) yield wire.shows;
        for await (const message of reading) {
          // Messages are pipelined: a slow one does not add its delay to all later ones.
          await leg(Math.floor(wire.delayMs() / 10));
          await clock.running();
          if (wire.isCut) throw new StreamUnavailable('The read broke off', 'refused');
          while (wire.readsNothing) await leg(100);
          yield message;
        }
      },
    };
  };
  const stream: Stream = {
    ensure: (spec) => call(() => inner.ensure(spec)),
    compare: (spec) => call(() => inner.compare(spec)),
    state: (name) =>
      call(async () => ({
        ...(await inner.state(name)),
        ...(name === 'EVENTS' && { lastSequence: events.last }),
      })),
    async append(append) {
      if (wire.refuses(append)) throw new StreamUnavailable('Refused', 'refused');
      return call(() => inner.append(append));
    },
    read,
    consume: (spec) => inner.consume(spec),
    truncate: async () => {},
    health: () => inner.health(),
    close: () => inner.close(),
  };
  return { stream, wire };
}

/** Last sequence of EVENTS. */
export const events = { last: 0 };

export interface Started {
  readonly clock: OwnClock;
  readonly wire: ReturnType<typeof connect>['wire'];
  member: Membership | undefined;
  /** Position in EVENTS that the member reports as applied. */
  applied: number;
  /** The fault that keeps it from acting, as its parts report it. */
  fault: string | undefined;
  /** Shares that it must never get. */
  barred: readonly Share[];
  /** Time since it heard of each data center, as it reports, ms. */
  heard: Readonly<Record<string, number>>;
}

let members = 0;

/**
 * The member has joined once `member` is set, and takes its shares at once, unless it stays
 * `joining`.
 */
export function start(
  log: FaultyLog,
  world: VirtualClock,
  more: {
    skewMs?: number;
    lock?: string;
    state?: 'acting' | 'joining';
    shows?: StreamMessage | undefined;
  } = {},
) {
  const clock = new OwnClock(world, more.skewMs ?? 0);
  const { stream, wire } = connect(log, world, clock);
  wire.shows = more.shows;
  const node = `node-${String(++members).padStart(4, '0')}`;
  const started: Started = {
    clock,
    wire,
    member: undefined,
    applied: 0,
    fault: undefined,
    barred: [],
    heard: {},
  };
  const fitness = new Fitness(clock, () => started.fault);
  const joining = joinCluster({
    stream,
    clock,
    self: {
      node,
      host: 'h',
      pid: members,
      startedMs: world.now(),
      version: '1',
      ...(more.lock !== undefined && { lock: more.lock }),
    },
  }).then((member) => {
    const rest = { address: null, decided: 0, floor: 1 };
    member.report(() => {
      const { applied, heard, barred } = started;
      const standsDown = fitness.standsDown();
      const unfit = standsDown === undefined ? barred : SHARES;
      return { ...rest, applied, heard, barred, unfit, ...(standsDown && { standsDown }) };
    });
    if (more.state !== 'joining') member.begin();
    started.member = member;
  });
  // The model restarts a member that cannot join.
  joining.catch(() => {});
  return started;
}

async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
}

export async function pass(world: VirtualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 50) {
    await world.advance(50);
    await settle();
  }
}

export function world() {
  const clock = new VirtualClock(START_MS);
  return { clock, log: new FaultyLog({ clock }) };
}

/** One project of each partition. */
const PROJECTS = new Map<Share, string>([['_system', '_system']]);
for (let i = 0; PROJECTS.size < SHARES.length; i++) PROJECTS.set(partitionOf(`p${i}`), `p${i}`);

export function owned({ member }: Started): Share[] {
  return SHARES.filter((share) => member?.owns(PROJECTS.get(share) as string));
}

/** Number of shares with exactly one owner, and the shares with several. */
export function shared(started: readonly Started[]) {
  const counts = Map.groupBy(started.flatMap(owned), (share) => share);
  const several = [...counts].filter(([, all]) => all.length > 1).map(([share]) => share);
  return { single: counts.size - several.length, several };
}
