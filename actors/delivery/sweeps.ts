/**
 * Sweeps over the delivery rows of a project's owner. Due attempts that were lost are dispatched,
 * and attempts that a dead process left open are ended. A sweep runs every half minute, and earlier
 * when an attempt of another process counts as lost, or when this process starts to act for other
 * projects. Many rows are handled over many turns of the event loop.
 */
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { TimeSlices } from '../../streams/platform/operators.ts';
import type { Host, Instance } from '../platform/host/host-port.ts';
import { kindOf } from './attempt.ts';
import { outstandingDeliveries, type RecordedAttempt } from './due-attempts.ts';
import type { Notifier } from './notifier-port.ts';

/** The rows to sweep, and the handlers of the results. */
export interface SweepsDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly ownership: Ownership;
  readonly notifier: Pick<Notifier, 'limitsOf'>;
  /** True if this process has an attempt of the delivery in progress. */
  readonly isOpen: (delivery: string) => boolean;
  readonly onBegin: () => void;
  readonly onDue: (row: Instance<'delivery'>) => void;
  readonly onLost: (attempt: RecordedAttempt) => Promise<void>;
  readonly onFault: (what: string, error: unknown) => void;
}

/** Interval between sweeps for lost messages and dead attempts, ms. */
const SWEEP_MS = 30_000;
/**
 * Time after its deadline at which an attempt counts as lost, ms, because clocks differ and commits
 * take time.
 */
const LOST_GRACE_MS = 5_000;

/** Runs from the start until `stop`. Sweeps never overlap. */
export class Sweeps {
  readonly #deps: SweepsDeps;
  readonly #slices: TimeSlices;
  #isStopped = true;
  #sweeping: Promise<void> = Promise.resolve();
  #cancel: CancelWakeUp | undefined;
  #unfollow: (() => void) | undefined;
  /**
   * Time when this process first saw an attempt whose start is in the future, elapsed ms, by
   * attempt.
   */
  #seen: ReadonlyMap<string, number> = new Map();
  /**
   * True if this process has started or stopped acting for something since the last sweep began.
   */
  #isChanged = false;

  constructor(deps: SweepsDeps) {
    this.#deps = deps;
    this.#slices = new TimeSlices(deps.clock);
  }

  /** Resolves after the first sweep, or rejects with its fault. Later faults go to `onFault`. */
  async start(): Promise<void> {
    this.#isStopped = false;
    this.#unfollow = this.#deps.ownership.onChange(() => this.#recordChange());
    this.#after(await this.#sweep());
  }

  /** Starts no more sweeps, and resolves when none is in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    this.#unfollow?.();
    await this.#sweeping;
  }

  #recordChange(): void {
    this.#isChanged = true;
    if (!this.#cancel) return;
    this.#cancel();
    this.#after(0);
  }

  #after(ms: number): void {
    if (this.#isStopped) return;
    this.#cancel = this.#deps.clock.wakeAfter(this.#isChanged ? 0 : ms, () => {
      this.#cancel = undefined;
      const swept = this.#sweep().catch((error: unknown) => {
        this.#deps.onFault('sweep', error);
        return SWEEP_MS;
      });
      this.#sweeping = swept.then((nextMs) => this.#after(nextMs));
    });
  }

  /** A faulty row does not delay others. Returns the wait before the next sweep, ms. */
  async #sweep(): Promise<number> {
    const { host, ownership, isOpen, onBegin, onDue, onLost, onFault } = this.#deps;
    this.#isChanged = false;
    onBegin();
    const { due, sending } = await outstandingDeliveries(
      host,
      (project) => ownership.owns(project),
      (row) => onFault('sweep of a project', row),
    );
    for (const row of due) await this.#handle(row.instance, () => onDue(row));
    let nextMs = SWEEP_MS;
    const elsewhere = sending.filter(({ delivery }) => !isOpen(delivery));
    this.#seen = this.#seenOf(elsewhere);
    for (const attempt of elsewhere) {
      const lostInMs = this.#lostInMs(attempt);
      if (lostInMs > 0) nextMs = Math.min(nextMs, lostInMs);
      else await this.#handle(attempt.delivery, () => onLost(attempt));
    }
    return nextMs;
  }

  /** Attempts that started in the future: the clock of a member was ahead, or has been set back. */
  #seenOf(sending: readonly RecordedAttempt[]): ReadonlyMap<string, number> {
    const { clock } = this.#deps;
    const ahead = sending.filter(({ startedMs }) => startedMs > clock.now());
    return new Map(
      ahead.map(({ attemptId }) => [attemptId, this.#seen.get(attemptId) ?? clock.elapsed()]),
    );
  }

  /** Another process may own a recent attempt. */
  #lostInMs({ project, delivery, attemptId, startedMs }: RecordedAttempt): number {
    const { clock, host, notifier } = this.#deps;
    const view = host.view(project);
    const row = view.instance('delivery', delivery);
    if (!row) throw new Error(`The delivery ${delivery} has an open attempt but does not exist`);
    const lostAfterMs = notifier.limitsOf(kindOf(view, row.context)).attemptMs + LOST_GRACE_MS;
    const seenMs = this.#seen.get(attemptId);
    const ageMs = seenMs === undefined ? clock.now() - startedMs : clock.elapsed() - seenMs;
    return lostAfterMs - ageMs;
  }

  async #handle(delivery: string, work: () => void | Promise<void>): Promise<void> {
    await this.#slices.yieldIfDue();
    if (this.#isStopped) return;
    try {
      await work();
    } catch (error) {
      this.#deps.onFault(`handling ${delivery}`, error);
    }
  }
}
