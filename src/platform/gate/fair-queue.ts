/**
 * Fair scheduling between projects: a queue with one line per project, served round robin; turns on
 * the main thread; and the calls of one class that run or wait. A project with many requests waits
 * behind itself; the first request of another project is at most one round behind.
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Slots } from './call-classes.ts';

export class FairQueue<T> {
  /** The first project of the map is next; each queue is oldest first and never empty. */
  readonly #queues = new Map<string, Set<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(project: string, entry: T): void {
    const queue = this.#queues.get(project);
    if (queue === undefined) this.#queues.set(project, new Set([entry]));
    else queue.add(entry);
    this.#size++;
  }

  /**
   * Removes and returns the oldest entry of the next project that `may` have one. That project
   * moves to the end; projects that may not keep their position.
   */
  next(may: (project: string) => boolean = () => true): T | undefined {
    for (const [project, queue] of this.#queues) {
      if (!may(project)) continue;
      const [entry] = queue;
      this.#queues.delete(project);
      if (entry === undefined) return undefined;
      queue.delete(entry);
      if (queue.size > 0) this.#queues.set(project, queue);
      this.#size--;
      return entry;
    }
    return undefined;
  }

  /** Removes an entry that no longer waits; false if it already had its turn. */
  remove(project: string, entry: T): boolean {
    const queue = this.#queues.get(project);
    if (queue?.delete(entry) !== true) return false;
    if (queue.size === 0) this.#queues.delete(project);
    this.#size--;
    return true;
  }
}

/** Maximum number of turns in one round of the event loop, while its time lasts. */
const ROUND_TURNS_MAX = 8;
/**
 * Time after which no further turn starts in the round, ms; with the last one it stays below 25 ms.
 */
const ROUND_MS = 8;

export class FairTurns {
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #queue = new FairQueue<() => void>();
  /** true: a turn was given in this round of the event loop, or turns are pending. */
  #isBusy = false;
  #roundStartMs: number | undefined;

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock;
  }

  /** Number of pending turns. */
  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Resolves at the tenant's turn; at once if no other tenant had one in this round. The turn lasts
   * until the caller awaits something. An unused turn costs nothing, so a wait is never cancelled.
   */
  take(tenant: string): Promise<void> {
    if (!this.#isBusy) {
      this.#isBusy = true;
      this.#plan();
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#queue.push(tenant, resolve));
  }

  /** Plans the turns of the next round. Each turn does all its work before the next one. */
  #plan(): void {
    const count = Math.min(Math.max(this.#queue.size, 1), ROUND_TURNS_MAX);
    this.#roundStartMs = undefined;
    for (let i = 1; i <= count; i++) setImmediate(() => this.#give(i === count));
  }

  #give(isLast: boolean): void {
    const nowMs = this.#clock.elapsed();
    this.#roundStartMs ??= nowMs;
    if (nowMs - this.#roundStartMs < ROUND_MS) this.#queue.next()?.();
    if (!isLast) return;
    if (this.#queue.size > 0) this.#plan();
    else this.#isBusy = false;
  }
}

/** A waiting call. */
export interface WaitingCall {
  readonly caller: string;
  /** Memory it holds while it waits, bytes. */
  readonly bytes: number;
  /** Starts the call; a slot is already taken for it. */
  readonly start: () => void;
}

export class CallQueue {
  readonly #running = new Tally();
  readonly #waiting = new Tally();
  readonly #waitingBytes = new Tally();
  readonly #queue = new FairQueue<WaitingCall>();

  get running(): number {
    return this.#running.total;
  }

  get waiting(): number {
    return this.#waiting.total;
  }

  get isEmpty(): boolean {
    return this.running === 0 && this.waiting === 0;
  }

  /** Takes a slot for a call of the caller, unless it has to wait for one. */
  tryRun(caller: string, slots: Slots): boolean {
    this.startWaiting(slots);
    const mayRun = this.running < slots.running && this.#running.of(caller) < slots.ofCaller;
    if (mayRun) this.#running.add(caller);
    return mayRun;
  }

  /** Queues a call, unless the queue is full or the caller has its share of it. */
  tryWait(call: WaitingCall, slots: Slots): 'waits' | 'callerHasItsShare' | 'full' {
    const { caller, bytes } = call;
    const [tally, more] = slots.unit === 'bytes' ? [this.#waitingBytes, bytes] : [this.#waiting, 1];
    if (tally.total + more > slots.waiting) return 'full';
    if (tally.of(caller) + more > slots.waitingOfCaller) return 'callerHasItsShare';
    this.#waiting.add(caller);
    this.#waitingBytes.add(caller, bytes);
    this.#queue.push(caller, call);
    return 'waits';
  }

  /** Removes a call from the queue; false if it already runs. */
  leave(call: WaitingCall): boolean {
    const waited = this.#queue.remove(call.caller, call);
    if (waited) this.#stopWaiting(call);
    return waited;
  }

  /** Releases a slot, and passes on as many as the current limits allow. */
  end(caller: string, slots: Slots): void {
    this.#running.remove(caller);
    this.startWaiting(slots);
  }

  /** True if the caller has as many running calls as it may have. */
  hasItsShare(caller: string, slots: Slots): boolean {
    return this.#running.of(caller) >= slots.ofCaller;
  }

  /** Starts waiting calls while there are slots; limits may have been raised. */
  startWaiting(slots: Slots): void {
    while (this.running < slots.running) {
      const next = this.#queue.next((caller) => this.#running.of(caller) < slots.ofCaller);
      if (next === undefined) return;
      this.#stopWaiting(next);
      this.#running.add(next.caller);
      next.start();
    }
  }

  #stopWaiting({ caller, bytes }: WaitingCall): void {
    this.#waiting.remove(caller);
    this.#waitingBytes.remove(caller, bytes);
  }
}

/** Counts of calls or bytes, per caller and in total. */
class Tally {
  readonly #ofCallers = new Map<string, number>();
  total = 0;

  of(caller: string): number {
    return this.#ofCallers.get(caller) ?? 0;
  }

  add(caller: string, count = 1): void {
    this.#ofCallers.set(caller, this.of(caller) + count);
    this.total += count;
  }

  remove(caller: string, count = 1): void {
    const left = this.of(caller) - count;
    if (left > 0) this.#ofCallers.set(caller, left);
    else this.#ofCallers.delete(caller);
    this.total -= count;
  }
}
