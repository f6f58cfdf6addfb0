/**
 * The simulated world: one queue of all future events in virtual time, with ties broken by the
 * seed. A run never waits for an outside event, so a seed replays exactly. Events of a killed
 * process are dropped: its time has stopped.
 */
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import { Dice } from './dice.ts';

/** The process that an event belongs to; after its death, its waits never resolve. */
export interface Owner {
  readonly isAlive: boolean;
  /** Elapsed time until which it is frozen, ms; its due events happen then. */
  readonly frozenUntilMs: number;
}

interface Happening {
  dueMs: number;
  readonly tie: number;
  readonly run: () => void;
  readonly owner: Owner | undefined;
  isCancelled: boolean;
}

/** Requested immediates that have not run. */
const immediates = new Set<unknown>();

/**
 * Records every immediate from now on; the program uses them to wait for the next turn of the event
 * loop. Returns the undo. A turn costs about as much as the work in it, so `pass` takes one only if
 * an immediate is pending.
 */
export function recordImmediates(): () => void {
  const { setImmediate: ask, clearImmediate: cancel } = globalThis;
  const asking = (run: (...args: unknown[]) => void, ...args: unknown[]): NodeJS.Immediate => {
    const immediate = ask(() => {
      immediates.delete(immediate);
      run(...args);
    });
    immediates.add(immediate);
    return immediate;
  };
  globalThis.setImmediate = asking as typeof setImmediate;
  globalThis.clearImmediate = (immediate) => {
    immediates.delete(immediate);
    cancel(immediate);
  };
  return () => {
    globalThis.setImmediate = ask;
    globalThis.clearImmediate = cancel;
  };
}

/** Minimum number of events per turn; a turn reveals unhandled rejections. */
const TURN_EVERY = 8;

/** Start of calendar time, Unix ms; elapsed time starts at 0. */
export const START_MS = Date.UTC(2026, 0, 1);

export class World {
  readonly seed: number;
  readonly dice: Dice;
  /** Number of injected faults by kind. */
  readonly faults = new Map<string, number>();
  /** Trace lines, kept only on request because they cost more than the run. */
  readonly lines: { readonly elapsedMs: number; readonly text: string }[] = [];
  readonly isTraced: boolean;
  readonly #order: Dice;
  readonly #queue: Happening[] = [];
  #elapsedMs = 0;
  #happenings = 0;

  constructor(seed: number, { isTraced = false }: { isTraced?: boolean } = {}) {
    this.seed = seed;
    this.isTraced = isTraced;
    this.dice = new Dice(seed);
    this.#order = this.dice.fork('order');
  }

  /** Since the start, ms. */
  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** True calendar time, Unix ms, which the clocks of VMs and people show. */
  get nowMs(): number {
    return START_MS + this.#elapsedMs;
  }

  /** Number of events so far. */
  get happenings(): number {
    return this.#happenings;
  }

  /** Schedules `run` in `delayMs`; it is dropped if its owner has died. */
  in(delayMs: number, run: () => void, owner?: Owner): CancelWakeUp {
    const dueMs = this.#elapsedMs + Math.max(0, delayMs);
    const happening = { dueMs, tie: this.#order.roll(), run, owner, isCancelled: false };
    this.#push(happening);
    return () => {
      happening.isCancelled = true;
    };
  }

  /** Resolves after `delayMs`; never for an owner that has died. */
  wait(delayMs: number, owner?: Owner): Promise<void> {
    return new Promise((resolve) => void this.in(delayMs, resolve, owner));
  }

  /** Runs everything that is due within the next `ms`. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#elapsedMs + ms;
    for (let next = this.#queue[0]; next && next.dueMs <= endMs; next = this.#queue[0]) {
      this.#pop();
      if (next.isCancelled || next.owner?.isAlive === false) continue;
      if (next.owner && next.owner.frozenUntilMs > Math.max(next.dueMs, this.#elapsedMs)) {
        next.dueMs = next.owner.frozenUntilMs;
        this.#push(next);
        continue;
      }
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      this.#happenings++;
      next.run();
      // After all its consequences: in a turn, or once no promise has work left.
      const isTurnDue = immediates.size > 0 || this.#happenings % TURN_EVERY === 0;
      await new Promise<void>(isTurnDue ? setImmediate : process.nextTick);
    }
    this.#elapsedMs = Math.max(this.#elapsedMs, endMs);
  }

  /** Passes time until the promise is settled. Throws if that takes more than `maxMs`. */
  async until<T>(promise: Promise<T>, maxMs: number): Promise<T> {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    promise.then(settle, settle);
    const endMs = this.#elapsedMs + maxMs;
    while (!isSettled) {
      if (this.#elapsedMs >= endMs) throw new Error(`Not settled within ${maxMs} ms`);
      await this.pass(Math.min(1000, Math.max(1, (this.#queue[0]?.dueMs ?? 0) - this.#elapsedMs)));
    }
    return promise;
  }

  /** Time passes in which nothing happens; due events happen afterwards. */
  leap(ms: number): void {
    this.#elapsedMs += ms;
  }

  count(fault: string): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1);
  }

  trace(text: () => string): void {
    if (this.isTraced) this.lines.push({ elapsedMs: this.#elapsedMs, text: text() });
  }

  #push(happening: Happening): void {
    const queue = this.#queue;
    let at = queue.push(happening) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(happening, queue[parent] as Happening)) break;
      queue[at] = queue[parent] as Happening;
      at = parent;
    }
    queue[at] = happening;
  }

  #pop(): void {
    const queue = this.#queue;
    const last = queue.pop();
    if (last === undefined || queue.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= queue.length) break;
      const right = queue[child + 1];
      if (right && isBefore(right, queue[child] as Happening)) child++;
      if (!isBefore(queue[child] as Happening, last)) break;
      queue[at] = queue[child] as Happening;
      at = child;
    }
    queue[at] = last;
  }
}

function isBefore(a: Happening, b: Happening): boolean {
  return a.dueMs === b.dueMs ? a.tie < b.tie : a.dueMs < b.dueMs;
}

/** A process's clock: its wall-clock time may be wrong, its elapsed time starts at its creation. */
export class ProcessClock implements Clock {
  readonly #world: World;
  readonly #owner: Owner;
  readonly #skew: { readonly ms: number };
  readonly #startedMs: number;

  /** @param skew of the machine: offset of its wall clock from true time */
  constructor(world: World, owner: Owner, skew: { readonly ms: number }) {
    this.#world = world;
    this.#owner = owner;
    this.#skew = skew;
    this.#startedMs = world.elapsedMs;
  }

  now(): number {
    return Math.floor(this.#world.nowMs + this.#skew.ms);
  }

  elapsed(): number {
    return this.#world.elapsedMs - this.#startedMs;
  }

  wakeAfter(delayMs: number, wake: () => void): CancelWakeUp {
    // Like the machine's timers: whole milliseconds, at least one.
    return this.#world.in(Math.max(1, Math.ceil(delayMs)), wake, this.#owner);
  }
}
