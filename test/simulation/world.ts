/**
 * The simulated world: one queue of everything that is to happen, in virtual time, with ties broken
 * by the seed. Nothing in a run waits for anything else, so a seed replays exactly. What belongs to
 * a process that was killed is dropped: for it, time has stopped.
 */
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import { Dice } from './dice.ts';

/** Whose time it is; what it waits for never comes once it is dead. */
export interface Owner {
  readonly isAlive: boolean;
  /** It stands still until this elapsed time, ms; what falls due for it happens then. */
  readonly frozenUntilMs: number;
}

interface Happening {
  dueMs: number;
  readonly tie: number;
  readonly run: () => void;
  readonly owner: Owner | undefined;
  isCancelled: boolean;
}

/** Immediates that have been asked for and have not run. */
const immediates = new Set<unknown>();

/**
 * Notes each immediate from now on, by which the program waits for the next turn of the event loop.
 * Returns the undo. A turn costs as much as most of what happens in one, so that `pass` takes one only
 * where somebody waits for it.
 */
export function noteImmediates(): () => void {
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

/** A turn comes after so many happenings at least: then rejections are found that nobody handled. */
const TURN_EVERY = 8;

/** Where calendar time begins, Unix ms; elapsed time begins at 0. */
export const START_MS = Date.UTC(2026, 0, 1);

export class World {
  readonly seed: number;
  readonly dice: Dice;
  /** What was injected, by kind. */
  readonly faults = new Map<string, number>();
  /** Lines of what happened, kept only where asked for: they cost more than the run. */
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

  /** True calendar time, Unix ms: what the clocks of VMs and people show. */
  get nowMs(): number {
    return START_MS + this.#elapsedMs;
  }

  /** How much has happened. */
  get happenings(): number {
    return this.#happenings;
  }

  /** Has `run` happen in `delayMs`, unless its owner is dead by then. */
  in(delayMs: number, run: () => void, owner?: Owner): CancelWakeUp {
    const dueMs = this.#elapsedMs + Math.max(0, delayMs);
    const happening = { dueMs, tie: this.#order.roll(), run, owner, isCancelled: false };
    this.#push(happening);
    return () => {
      happening.isCancelled = true;
    };
  }

  /** Resolves after `delayMs`; never for an owner who is dead by then. */
  wait(delayMs: number, owner?: Owner): Promise<void> {
    return new Promise((resolve) => void this.in(delayMs, resolve, owner));
  }

  /** Everything that is due within the next `ms` happens. */
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
      // After everything that follows from it: in a turn, or once no promise has anything to do.
      const isTurnDue = immediates.size > 0 || this.#happenings % TURN_EVERY === 0;
      await new Promise<void>(isTurnDue ? setImmediate : process.nextTick);
    }
    this.#elapsedMs = Math.max(this.#elapsedMs, endMs);
  }

  /** Passes time until the promise is settled. Throws when it is not within `maxMs`. */
  async until<T>(promise: Promise<T>, maxMs: number): Promise<T> {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    promise.then(settle, settle);
    const endMs = this.#elapsedMs + maxMs;
    while (!isSettled) {
      if (this.#elapsedMs >= endMs) throw new Error(`Nothing came of it within ${maxMs} ms`);
      await this.pass(Math.min(1000, Math.max(1, (this.#queue[0]?.dueMs ?? 0) - this.#elapsedMs)));
    }
    return promise;
  }

  /** Time goes by in which nothing happens at all: what falls due meanwhile happens afterwards. */
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

/** A process's clock: its calendar time may be wrong, its elapsed time begins with it. */
export class ProcessClock implements Clock {
  readonly #world: World;
  readonly #owner: Owner;
  readonly #skew: { readonly ms: number };
  readonly #startedMs: number;

  /** @param skew of the machine: what its calendar time is ahead of the true one */
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
    // As the machine's timers do: whole milliseconds, and never in no time at all.
    return this.#world.in(Math.max(1, Math.ceil(delayMs)), wake, this.#owner);
  }
}
