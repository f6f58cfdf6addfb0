/**
 * Sweeps over the rows, which are the truth: what is due and whose wake-up was lost is taken up,
 * and what a dead process left as being sent is ended. Every half minute; sooner when an attempt
 * under way elsewhere can be called lost, or when what waited for a rule's version may go on. Many
 * rows are taken up over many turns of the event loop.
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
  /** Has this process an attempt of the delivery under way? */
  readonly isOpen: (delivery: string) => boolean;
  readonly onDue: (wakeUp: WakeUp) => void;
  readonly onLost: (attempt: RecordedAttempt) => Promise<void>;
  readonly onFault: (what: string, error: unknown) => void;
}

/** How often rows are swept for lost wake-ups and dead attempts, ms. */
const SWEEP_MS = 30_000;
/** With clocks that differ and its commit, an attempt is nobody's so long after its end, ms. */
const LOST_GRACE_MS = 5_000;

export class Sweeps {
  readonly #deps: SweepsDeps;
  readonly #slices: TimeSlices;
  #stopped = true;
  #sweeping: Promise<void> = Promise.resolve();
  #cancel: CancelWakeUp | undefined;
  /** Something waits for its rule's pending version. */
  #isHolding = false;
  /** A version was applied since the last sweep began: what waited for it is due. */
  #isReleased = false;

  constructor(deps: SweepsDeps) {
    this.#deps = deps;
    this.#slices = new TimeSlices(deps.clock);
  }

  /** Resolves after the first sweep; rejects with its fault. The others are told to `onFault`. */
  async start(): Promise<void> {
    this.#stopped = false;
    this.#after(await this.#sweep());
  }

  /** Resolves when none is under way, and none comes. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#sweeping;
  }

  /** Something waits for the version of a rule to be applied. */
  hold(): void {
    this.#isHolding = true;
  }

  /** A version was applied: sweeps soon if anything waits, after the sweep under way. */
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

  /** A row that cannot be taken up keeps no other waiting. Answers when to sweep again, ms. */
  async #sweep(): Promise<number> {
    const { host, isOpen, onDue, onLost } = this.#deps;
    const { due, sending } = await outstandingDeliveries(host);
    for (const wakeUp of due) await this.#takeUp(wakeUp, () => onDue(wakeUp));
    let nextMs = SWEEP_MS;
    for (const attempt of sending.filter(({ delivery }) => !isOpen(delivery))) {
      const lostInMs = this.#lostInMs(attempt);
      if (lostInMs > 0) nextMs = Math.min(nextMs, lostInMs);
      else await this.#takeUp(attempt, () => onLost(attempt));
    }
    return nextMs;
  }

  /** Another process may still be at it while it is young, on either side of now: clocks differ. */
  #lostInMs({ project, delivery, startedMs }: RecordedAttempt): number {
    const { clock, host, notifier } = this.#deps;
    const view = host.view(project);
    const row = view.instance('delivery', delivery);
    if (!row) throw new Error(`The delivery ${delivery} is being attempted but does not exist`);
    const lostAfterMs = notifier.limitsOf(kindOf(view, row.context)).attemptMs + LOST_GRACE_MS;
    return lostAfterMs - Math.abs(clock.now() - startedMs);
  }

  async #takeUp({ delivery }: WakeUp, work: () => void | Promise<void>): Promise<void> {
    await this.#slices.yieldIfDue();
    if (this.#stopped) return;
    try {
      await work();
    } catch (error) {
      this.#deps.onFault(`taking up ${delivery}`, error);
    }
  }
}
