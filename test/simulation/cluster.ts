/**
 * The members of a deployment, one or several, on one stream server. Callers ask here. One member,
 * picked as a load balancer would, returns an answer, a refusal, or nothing.
 */
import { SAMPLES_STREAM } from '../../actors/telemetry/sample-log.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';
import { decodeEntry, encodeEntry } from '../../streams/telemetry/entry-codec.ts';
import type { Wire } from './connection.ts';
import type { Dice } from './dice.ts';
import type { Outside } from './endpoints.ts';
import type { FaultRates } from './faults.ts';
import type { LogServer } from './log-server.ts';
import type { Vault } from './machine.ts';
import type { Mailbox } from './mailbox.ts';
import { Member, type Trouble } from './member.ts';
import type { Planted } from './planted.ts';
import { type Doors, isInjected } from './process.ts';
import type { World } from './world.ts';

export type Answer<T> =
  | { readonly kind: 'answered'; readonly value: T }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** The outcome is unknown. */
  | { readonly kind: 'silence' };

export interface ClusterOptions {
  readonly world: World;
  readonly server: LogServer;
  readonly members: number;
  readonly outside: Outside;
  readonly mailbox: Mailbox;
  readonly planted: Planted | undefined;
  readonly onBug: (what: string, error: unknown) => void;
}

/** Number of newest entries among which an expired lease is looked up. */
const STALE_AMONG = 150;
/** Maximum age of a stale tick, ms. */
const STALE_MS_MAX = 20_000;
/** Longest time without a leader, ms. */
const LEADERLESS_MS_MAX = 15_000;

export class Cluster {
  readonly members: readonly Member[];
  /** Periods in which the server, or one of its streams, did not answer. */
  readonly leaderless: Trouble[] = [];
  /** True if members are replaced by those of a newer program. */
  readonly isUpgraded: boolean;
  readonly #options: ClusterOptions;
  readonly #dice: Dice;
  #isWell = false;

  constructor(options: ClusterOptions, faults: FaultRates) {
    const { world, server, members } = options;
    this.#options = options;
    this.#dice = world.dice.fork('cluster');
    const isUpgraded = members > 1 && world.dice.fork('upgrade').chance(0.3);
    this.isUpgraded = options.planted?.upgrades ?? isUpgraded;
    const vault: Vault = { sealed: new Map(), bodies: new Map() };
    this.members = Array.from({ length: members }, (_, i) => {
      const name = `member-${i + 1}`;
      const dice = world.dice.fork(`wire of ${name}`);
      const wire: Wire = { name, world, server, dice, faults, outageUntilMs: 0 };
      return new Member({ ...options, wire, vault });
    });
  }

  /**
   * Replaces the members one after another within that time. Sometimes one keeps the old program,
   * because an upgrade may be interrupted.
   */
  upgrade(withinMs: number): void {
    if (!this.isUpgraded) return;
    const { world } = this.#options;
    const dice = world.dice.fork('order of upgrades');
    const order = [...this.members].sort(() => dice.roll() - 0.5);
    if (dice.chance(0.3)) order.pop();
    const everyMs = withinMs / (order.length + 1);
    for (const [i, member] of order.entries()) {
      world.in(everyMs * (i + dice.roll()), () => member.upgrade());
    }
  }

  /** Starts the members and the faults, and keeps the members running until `shutDown`. */
  start(faults: FaultRates): void {
    for (const member of this.members) member.start(faults);
    this.#often(faults.leaderEveryMs, () => this.#loseLeader());
    this.#often(faults.staleTickEveryMs, () => this.#writeStaleTick());
    this.#often(faults.endpointEveryMs, () => this.#options.outside.change());
  }

  /** Stops all faults. */
  heal(): void {
    const { outside, server } = this.#options;
    this.#isWell = true;
    server.clock.set(0);
    for (const stream of server.all()) stream.leaderlessUntilMs = 0;
    outside.heal();
    for (const member of this.members) member.heal();
  }

  /** Stops all members gracefully. */
  async shutDown(): Promise<void> {
    await Promise.all(this.members.map((member) => member.shutDown()));
  }

  /** Discards every process after the run has been judged. */
  async discard(): Promise<void> {
    for (const member of this.members) member.discard();
    for (let i = 0; i < 3; i++) await new Promise<void>((resolve) => setImmediate(resolve));
    for (const { machine } of this.members) machine.close();
  }

  /** Advances time while no process runs. */
  leap(ms: number): void {
    const { world } = this.#options;
    const fromMs = world.elapsedMs;
    world.leap(ms);
    this.leaderless.push({ fromMs, untilMs: world.elapsedMs });
  }

  /** True if a stream had no leader during that stretch of elapsed time. */
  isLeaderlessIn(fromMs: number, untilMs: number): boolean {
    return this.leaderless.some((each) => each.fromMs < untilMs && each.untilMs > fromMs);
  }

  /** The ports of one member among those that are up. */
  someDoors(dice: Dice): Doors | undefined {
    const up = this.members.flatMap(({ doors }) => (doors ? [doors] : []));
    return up.length === 0 ? undefined : dice.pick(up);
  }

  /**
   * Asks one member, or any member if none is given. Returns `silence` when the member is down or
   * does not answer in time. A frozen member receives the request when it thaws.
   */
  async ask<T>(
    request: (doors: Doors) => Promise<T>,
    patienceMs: number,
    member = this.#dice.pick(this.members),
  ): Promise<Answer<T>> {
    const { world } = this.#options;
    const { process } = member;
    const doors = process?.doors;
    if (!doors) return { kind: 'silence' };
    const answer = world.wait(this.#dice.between(0, 2), process).then(() =>
      request(doors).then(
        (value): Answer<T> => ({ kind: 'answered', value }),
        (error: unknown): Answer<T> => this.#refusal(error),
      ),
    );
    const silence = world.wait(patienceMs).then((): Answer<T> => ({ kind: 'silence' }));
    return Promise.race([answer, silence]);
  }

  #refusal<T>(error: unknown): Answer<T> {
    if (error instanceof Refusal) {
      const comesBack = error.reason === 'NOT_READY' || error.reason === 'TOO_MANY_REQUESTS';
      return comesBack ? { kind: 'silence' } : { kind: 'refused', refusal: error };
    }
    if (!(error instanceof StreamUnavailable) && !isInjected(error)) {
      this.#options.onBug('a request', error);
    }
    return { kind: 'silence' };
  }

  /** One stream, or all of them, until a new leader with another clock is elected. */
  #loseLeader(): void {
    const { world, server } = this.#options;
    const dice = this.#dice;
    const all = server.all();
    if (all.length === 0) return;
    const lost = dice.chance(0.5) ? all : [dice.pick(all)];
    const untilMs = world.elapsedMs + dice.between(500, LEADERLESS_MS_MAX);
    world.count('stream leader lost');
    for (const stream of lost) stream.leaderlessUntilMs = untilMs;
    this.leaderless.push({ fromMs: world.elapsedMs, untilMs });
    const skewMs = Math.round(dice.between(-3_000, 3_000));
    const names = lost.map(({ spec }) => spec.name).join(', ');
    world.trace(() => `${names}: no leader until ${Math.round(untilMs)}, then ${skewMs} ms ahead`);
    world.in(untilMs - world.elapsedMs, () => {
      if (!this.#isWell) server.clock.set(skewMs);
    });
  }

  /** A process with an expired lease writes a tick by a clock that is behind. */
  #writeStaleTick(): void {
    const { world, server } = this.#options;
    if (!server.has(SAMPLES_STREAM)) return;
    const stream = server.get(SAMPLES_STREAM);
    if (stream.leaderlessUntilMs > world.elapsedMs) return;
    const epochs = new Map<string, number>();
    for (const { subject, data } of stream.messages.slice(-STALE_AMONG).reverse()) {
      const entry = decodeEntry(data);
      if (entry.kind === 'batch') continue;
      const { epoch = 0 } = entry;
      const newest = epochs.get(subject) ?? epoch;
      epochs.set(subject, newest);
      if (epoch >= newest) continue;
      world.count('stale tick');
      world.trace(() => `a tick of epoch ${epoch} is written, after those of ${newest}`);
      const atMs = Math.round(world.nowMs - this.#dice.between(0, STALE_MS_MAX));
      const tick = encodeEntry({ kind: 'tick', atMs, epoch });
      const arrival = { sentElapsedMs: world.elapsedMs, twice: false, idsFirst: true };
      stream.store({ stream: SAMPLES_STREAM, subject, data: tick }, arrival);
      return;
    }
  }

  #often(everyMs: number, happen: () => void): void {
    if (everyMs === Number.POSITIVE_INFINITY) return;
    const again = (): void => {
      if (this.#isWell) return;
      happen();
      this.#options.world.in(2 * everyMs * this.#dice.roll(), again);
    };
    this.#options.world.in(2 * everyMs * this.#dice.roll(), again);
  }
}
