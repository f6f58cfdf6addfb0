/**
 * The calls of one class and party: those that run, and those that wait for one to end. No caller has
 * more than its share of either, and the callers that wait take turns, so that whoever fills a queue
 * leaves room for the others of its project.
 */
import type { Slots } from './call-classes.ts';
import { FairQueue } from './fair-queue.ts';

/** A call that waits. */
export interface WaitingCall {
  readonly caller: string;
  /** Lets it run: a slot is taken for it already. */
  readonly start: () => void;
}

export class CallQueue {
  readonly #running = new Tally();
  readonly #waiting = new Tally();
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

  /** Puts a call into the queue, unless that is full, or the caller has its share of it. */
  tryWait(call: WaitingCall, slots: Slots): 'waits' | 'callerHasItsShare' | 'full' {
    if (this.waiting >= slots.waiting) return 'full';
    if (this.#waiting.of(call.caller) >= slots.waitingOfCaller) return 'callerHasItsShare';
    this.#waiting.add(call.caller);
    this.#queue.push(call.caller, call);
    return 'waits';
  }

  /** Takes a call out of the queue; false: it runs already. */
  leave(call: WaitingCall): boolean {
    const waited = this.#queue.remove(call.caller, call);
    if (waited) this.#waiting.remove(call.caller);
    return waited;
  }

  /** Gives a slot back, and hands on as many as the limits of now leave. */
  end(caller: string, slots: Slots): void {
    this.#running.remove(caller);
    this.startWaiting(slots);
  }

  /** Does the caller have as many running as it may have? */
  hasItsShare(caller: string, slots: Slots): boolean {
    return this.#running.of(caller) >= slots.ofCaller;
  }

  /** Starts calls that wait while there are slots: limits may have been raised meanwhile. */
  startWaiting(slots: Slots): void {
    while (this.running < slots.running) {
      const next = this.#queue.next((caller) => this.#running.of(caller) < slots.ofCaller);
      if (next === undefined) return;
      this.#waiting.remove(next.caller);
      this.#running.add(next.caller);
      next.start();
    }
  }
}

/** How many, of each caller and together. */
class Tally {
  readonly #ofCallers = new Map<string, number>();
  total = 0;

  of(caller: string): number {
    return this.#ofCallers.get(caller) ?? 0;
  }

  add(caller: string): void {
    this.#ofCallers.set(caller, this.of(caller) + 1);
    this.total++;
  }

  remove(caller: string): void {
    const left = this.of(caller) - 1;
    if (left > 0) this.#ofCallers.set(caller, left);
    else this.#ofCallers.delete(caller);
    this.total--;
  }
}
