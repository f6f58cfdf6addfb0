/**
 * Sweeps over the delivery rows: deliveries that are due but lost their wake-up are queued, and
 * attempts left open by a dead process are ended. A sweep runs every half minute, and earlier when an
 * attempt elsewhere counts as lost or a rule's version was applied. Many rows are handled over many
 * turns of the event loop.
 */
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import type { Host } from '../platform/host/host-port.ts';
import { TimeSlices } from '../platform/time-slices.ts';
import { kindOf } from './attempt.ts';
import type { Notifier } from './notifier-port.ts';
import { outstandingDeliveries, type RecordedAttempt, type WakeUp } from './wake-ups.ts';

export interface SweepsDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly notifier: Pick<Notifier, 'limitsOf'>;
  /** True when this process has an attempt of the delivery under way. */
  readonly isOpen: (delivery: string) => boolean;
  readonly onDue: (wakeUp: WakeUp) => void;
  readonly onLost: (attempt: RecordedAttempt) => Promise<void>;
  readonly onFault: (what: string, error: unknown) => void;
}

/** How often rows are swept for lost wake-ups and dead attempts, ms. */
const SWEEP_MS = 30_000;
/** An attempt counts as lost this long after its deadline: clocks differ, and commits take time. */
const LOST_GRACE_MS = 5_000;

export class Sweeps {
  readonly #deps: SweepsDeps;
  readonly #slices: TimeSlices;
  #stopped = true;
  #sweeping: Promise<void> = Promise.resolve();
  #cancel: CancelWakeUp | undefined;
  /** True when a delivery waits for its rule's pending version. */
  #isHolding = false;
  /** A version was applied since the last sweep began: deliveries that waited for it are due. */
  #isReleased = false;

  constructor(deps: SweepsDeps) {
    this.#deps = deps;
    this.#slices = new TimeSlices(deps.clock);
  }

  /** Resolves after the first sweep, or rejects with its fault. Later faults go to `onFault`. */
  async start(): Promise<void> {
    this.#stopped = false;
    this.#after(await this.#sweep());
  }

  /** Resolves when no sweep is under way, and starts no more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#sweeping;
  }

  /** Notes that a delivery waits for a rule's version. */
  hold(): void {
    this.#isHolding = true;
  }

  /** Notes that a version was applied: sweeps soon if a delivery waits for one. */
  release(): void {
    if (!this.#isHolding) return;
    this.#isHolding = false;
    this.#isReleased = true;
    if (!this.#cancel) return;
    this.#cancel();
    this.#after(0);
  }

  #after(ms: number): void {
    if (this.#stopped) return;
    this.#cancel = this.#deps.clock.wakeAfter(this.#isReleased ? 0 : ms, () => {
      this.#cancel = undefined;
      this.#isReleased = false;
      const swept = this.#sweep().catch((error: unknown) => {
        this.#deps.onFault('sweep', error);
        return SWEEP_MS;
      });
      this.#sweeping = swept.then((nextMs) => this.#after(nextMs));
    });
  }

  /** A faulty row delays no other. Returns the wait before the next sweep, ms. */
  async #sweep(): Promise<number> {
    const { host, isOpen, onDue, onLost } = this.#deps;
    const { due, sending } = await outstandingDeliveries(host);
    for (const wakeUp of due) await this.#handle(wakeUp, () => onDue(wakeUp));
    let nextMs = SWEEP_MS;
    for (const attempt of sending.filter(({ delivery }) => !isOpen(delivery))) {
      const lostInMs = this.#lostInMs(attempt);
      if (lostInMs > 0) nextMs = Math.min(nextMs, lostInMs);
      else await this.#handle(attempt, () => onLost(attempt));
    }
    return nextMs;
  }

  /** Another process may own a young attempt. Its start may be in the future: clocks differ. */
  #lostInMs({ project, delivery, startedMs }: RecordedAttempt): number {
    const { clock, host, notifier } = this.#deps;
    const view = host.view(project);
    const row = view.instance('delivery', delivery);
    if (!row) throw new Error(`The delivery ${delivery} is being attempted but does not exist`);
    const lostAfterMs = notifier.limitsOf(kindOf(view, row.context)).attemptMs + LOST_GRACE_MS;
    return lostAfterMs - Math.abs(clock.now() - startedMs);
  }

  async #handle({ delivery }: WakeUp, work: () => void | Promise<void>): Promise<void> {
    await this.#slices.yieldIfDue();
    if (this.#stopped) return;
    try {
      await work();
    } catch (error) {
      this.#deps.onFault(`handling ${delivery}`, error);
    }
  }
}
