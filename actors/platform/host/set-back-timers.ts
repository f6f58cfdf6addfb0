/**
 * Delays that began while the clock was ahead. A timer is due at a calendar time, so after the
 * clock was set back, a retry that waits 30 s would wait an hour and 30 s. Such a timer is due once
 * its delay has passed after the step was noticed. Times that people or protocols set, such as the
 * end of a snooze, the expiry of a key or the end of a delivery's day, stay as they are.
 *
 *     the clock went back, or this program started
 *       -> timers of instances whose last step lies ahead, of the kinds below
 *       -> each is due after its delay, in elapsed time
 */
import type { MachineName } from '../../../machines/audit/registry.ts';
import { AHEAD_MS_MAX, type Clock } from '../../../streams/platform/clock.ts';
import type { DueTimer } from '../../../streams/platform/commit/projection.ts';
import type { RunningHost } from './host.ts';

/** Timers that measure a delay, by machine; the start of their ids. */
export type Delays = Readonly<Partial<Record<string, readonly string[]>>>;

const DELAYS: Delays & Partial<Record<MachineName, readonly string[]>> = {
  alertInstance: ['repeatDue'],
  delivery: ['xstate.after.groupWait.', 'xstate.after.retryDelay.'],
};

/** Timers that are due earlier than their rows say. */
export class SetBackTimers {
  readonly #host: Pick<RunningHost, 'timersSetAfter'>;
  readonly #clock: Clock;
  readonly #delays: Delays;
  readonly #onFound: (count: number, byMs: number) => void;
  /**
   * Calendar time minus elapsed time at the last check; a lower difference now means that the clock
   * was set back.
   */
  #offsetMs = Number.POSITIVE_INFINITY;
  /** By project, machine, instance and id: due in elapsed time, ms. */
  readonly #due = new Map<string, { readonly timer: DueTimer; readonly dueMs: number }>();

  /** @param onFound receives the number of timers, and how far the latest one was in the future */
  constructor(options: {
    readonly host: Pick<RunningHost, 'timersSetAfter'>;
    readonly clock: Clock;
    readonly delays?: Delays;
    readonly onFound?: (count: number, byMs: number) => void;
  }) {
    this.#host = options.host;
    this.#clock = options.clock;
    this.#delays = options.delays ?? DELAYS;
    this.#onFound = options.onFound ?? (() => {});
  }

  /** Finds these timers after the clock was set back, and at the first call. Cheap otherwise. */
  look(): void {
    const nowMs = this.#clock.now();
    const offsetMs = nowMs - this.#clock.elapsed();
    const isSetBack = offsetMs < this.#offsetMs - AHEAD_MS_MAX;
    this.#offsetMs = offsetMs;
    if (!isSetBack) return;
    const found = this.#host.timersSetAfter(nowMs + AHEAD_MS_MAX);
    let [count, byMs] = [0, 0];
    for (const { timer, stepMs } of found) {
      if (!this.#isDelay(timer) || this.#due.has(keyOf(timer))) continue;
      const delayMs = Math.max(0, timer.dueMs - stepMs);
      this.#due.set(keyOf(timer), { timer, dueMs: this.#clock.elapsed() + delayMs });
      count++;
      byMs = Math.max(byMs, stepMs - nowMs);
    }
    if (count > 0) this.#onFound(count, byMs);
  }

  /** Due timers of projects that `owns` accepts. */
  dueNow(owns: (project: string) => boolean): DueTimer[] {
    const nowMs = this.#clock.elapsed();
    return [...this.#due.values()]
      .filter(({ timer, dueMs }) => dueMs <= nowMs && owns(timer.project))
      .map(({ timer }) => timer);
  }

  /** Time until the next one is due, ms; undefined without any. */
  leftMs(owns: (project: string) => boolean): number | undefined {
    const left = [...this.#due.values()]
      .filter(({ timer }) => owns(timer.project))
      .map(({ dueMs }) => dueMs - this.#clock.elapsed());
    return left.length === 0 ? undefined : Math.max(0, Math.min(...left));
  }

  /** Forgets a timer that was fired, or that its instance no longer has. */
  forget(timer: DueTimer): void {
    this.#due.delete(keyOf(timer));
  }

  #isDelay({ machine, id }: DueTimer): boolean {
    const starts = this.#delays[machine] ?? [];
    return starts.some((start) => id.startsWith(start));
  }
}

/** Identity of a timer. */
export function keyOf({ project, machine, instance, id }: DueTimer): string {
  return `${project} ${machine} ${instance} ${id}`;
}
