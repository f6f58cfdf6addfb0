/**
 * The deliverer: takes wake-ups, gives each destination its lane, and runs attempts. An attempt is
 * opened by a commit that rechecks everything, sent under a deadline that began with that commit,
 * and ended by a second commit. What its process did not live to record is `unknown` and tried
 * again under the same delivery id. At least once, never more often than rows say.
 */
import type { DeliveryContext } from '../../machines/delivery.ts';
import type { Commit } from '../../streams/commit/commit.ts';
import { pause } from '../../streams/pause.ts';
import type { Stream } from '../../streams/stream.ts';
import type { AttemptOutcome } from '../notifier-port.ts';
import { isPassing } from '../passing.ts';
import {
  type AttemptDeps,
  openAttempt,
  recordLost,
  recordOutcome,
  sendAttempt,
} from './attempt.ts';
import { Discards } from './discards.ts';
import type { AttemptResult } from './lane.ts';
import { Lanes, type Start } from './lanes.ts';
import {
  DELIVERIES_STREAM,
  outstandingDeliveries,
  parseWakeUp,
  type RecordedAttempt,
  type WakeUp,
  wakeOnCommit,
} from './wake-ups.ts';

export type { DeliveryContents } from './attempt.ts';

export interface DelivererDeps extends AttemptDeps {
  readonly stream: Stream;
  readonly onAttempt: (outcome: AttemptOutcome['kind'] | 'suppressed', durationMs: number) => void;
}

/** How often rows are swept for lost wake-ups and dead attempts, ms. */
const SWEEP_MS = 30_000;
/** An attempt is over after 10 s; with clocks that differ and its commit, nobody's after this, ms. */
const LOST_AFTER_MS = 15_000;
const RETRY_MS = 500;

export class Deliverer {
  readonly #deps: DelivererDeps;
  readonly #lanes = new Lanes();
  readonly #discards: Discards;
  readonly #attempts = new Set<Promise<void>>();
  /** Deliveries this process has opened an attempt of, until its outcome is committed. */
  readonly #open = new Set<string>();
  #stopped = false;
  #cancelProbe: (() => void) | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #cancelSweep: (() => void) | undefined;

  constructor(deps: DelivererDeps) {
    this.#deps = deps;
    const { clock, contents, onFault } = deps;
    this.#discards = new Discards({ clock, onFault, discard: (ids) => contents.discard(ids) });
  }

  /** Runs until `signal`, then waits for attempts under way (10 s at most each) to be recorded. */
  async run(signal: AbortSignal): Promise<void> {
    const { host, stream, onFault } = this.#deps;
    this.#stopped = false;
    const consumer = await stream.consume({
      stream: DELIVERIES_STREAM,
      durable: 'deliverer',
      ackWaitMs: 30_000,
      maxAckPending: 256,
    });
    const undo = [
      wakeOnCommit(host, stream, (error) => onFault('wake-up', error)),
      host.onApplied(({ commit }) => this.#forgetEnded(commit)),
    ];
    const stop = (): void => void consumer.close();
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (signal.aborted) return;
      this.#discardLeftOver();
      this.#sweepAfter(await this.#sweep());
      for await (const message of consumer) {
        this.#takeWakeUp(message.data);
        message.ack().catch((error: unknown) => onFault('acknowledging a wake-up', error));
      }
    } finally {
      this.#stopped = true;
      signal.removeEventListener('abort', stop);
      this.#cancelProbe?.();
      this.#cancelSweep?.();
      await consumer.close();
      await Promise.all([...this.#attempts, this.#sweeping]);
      for (const end of undo) end();
      this.#discards.flush();
    }
  }

  /** Attempts under way now. */
  inFlight(): number {
    return this.#lanes.inFlight;
  }

  /** Destinations with something to send, or with failures to remember. */
  lanes(): number {
    return this.#lanes.size;
  }

  #takeWakeUp(data: Uint8Array): void {
    try {
      this.#enqueue(parseWakeUp(data));
    } catch (error) {
      this.#deps.onFault('wake-up that cannot be read', error);
    }
  }

  #enqueue({ project, delivery }: WakeUp): void {
    const row = this.#deps.host.view(project).instance('delivery', delivery);
    if (!row || row.final || this.#open.has(delivery)) return;
    const { destination, incident } = row.context as unknown as DeliveryContext;
    this.#lanes.add(destination, { project, delivery, incident });
    this.#pump();
  }

  /** Starts what may start, and comes back when a breaker lets a probe through. */
  #pump(): void {
    this.#cancelProbe?.();
    if (this.#stopped) return;
    const { clock } = this.#deps;
    for (let start = this.#next(); start; start = this.#next()) this.#begin(start);
    const probeAtMs = this.#lanes.probeAtMs(clock.elapsed());
    if (probeAtMs === undefined) return;
    this.#cancelProbe = clock.wakeAfter(probeAtMs - clock.elapsed(), () => this.#pump());
  }

  #next(): Start | undefined {
    return this.#lanes.next(this.#deps.clock.elapsed());
  }

  #begin(start: Start): void {
    const { clock, onFault } = this.#deps;
    const attempt = this.#attempt(start.job)
      .catch((error: unknown): AttemptResult => {
        onFault(`delivery ${start.job.delivery}`, error);
        return 'neutral';
      })
      .then((result) => {
        this.#attempts.delete(attempt);
        this.#lanes.end(start, result, clock.elapsed());
        this.#pump();
      });
    this.#attempts.add(attempt);
  }

  async #attempt(job: WakeUp): Promise<AttemptResult> {
    const { clock, onAttempt } = this.#deps;
    this.#open.add(job.delivery);
    try {
      const opened = await openAttempt(this.#deps, job);
      if (opened.kind === 'suppressed') onAttempt('suppressed', 0);
      if (opened.kind !== 'open') return 'neutral';
      const startedMs = clock.elapsed();
      const outcome = await sendAttempt(this.#deps, opened.attempt);
      onAttempt(outcome.kind, clock.elapsed() - startedMs);
      await this.#persist(() => recordOutcome(this.#deps, opened.attempt, outcome));
      return outcome.kind === 'accepted' ? 'healthy' : 'failing';
    } finally {
      this.#open.delete(job.delivery);
    }
  }

  /** Repeats until the stream answers: the outcome of an attempt made is not to be lost. */
  async #persist(submit: () => Promise<void>): Promise<void> {
    while (true) {
      try {
        return await submit();
      } catch (error) {
        if (!isPassing(error) || this.#stopped) throw error;
        this.#deps.onFault('recording an attempt', error);
        await pause(this.#deps.clock, RETRY_MS);
      }
    }
  }

  #sweepAfter(ms: number): void {
    if (this.#stopped) return;
    this.#cancelSweep = this.#deps.clock.wakeAfter(ms, () => {
      const swept = this.#sweep().catch((error: unknown) => {
        this.#deps.onFault('sweep', error);
        return SWEEP_MS;
      });
      this.#sweeping = swept.then((nextMs) => this.#sweepAfter(nextMs));
    });
  }

  /**
   * Rows are the truth: takes up what is due, and what a dead process left as being sent. A row
   * that cannot be taken up is told and keeps no other waiting. Answers when to sweep again, ms.
   */
  async #sweep(): Promise<number> {
    const { due, sending } = await outstandingDeliveries(this.#deps.host);
    for (const wakeUp of due) await this.#tellFault(wakeUp, () => this.#enqueue(wakeUp));
    const others = sending.filter(({ delivery }) => !this.#open.has(delivery));
    for (const attempt of others.filter((each) => this.#isLost(each))) {
      if (this.#stopped) break;
      await this.#tellFault(attempt, () => this.#persist(() => recordLost(this.#deps, attempt)));
    }
    return others.every((each) => this.#isLost(each)) ? SWEEP_MS : LOST_AFTER_MS;
  }

  /** Another process may still be at it while it is young, on either side of now: clocks differ. */
  #isLost({ startedMs }: RecordedAttempt): boolean {
    return Math.abs(this.#deps.clock.now() - startedMs) >= LOST_AFTER_MS;
  }

  async #tellFault({ delivery }: WakeUp, work: () => void | Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#deps.onFault(`taking up ${delivery}`, error);
    }
  }

  /**
   * A body is kept for attempts to come: with the delivery's end, whatever ended it, it goes. So
   * does the lane of a destination.
   */
  #forgetEnded({ project, decisions }: Commit): void {
    for (const { machine, instance, final } of decisions.flatMap(({ steps }) => steps)) {
      if (machine === 'delivery' && final) this.#discards.add(instance);
      if (machine === 'destination' && final) this.#lanes.retire(project, instance);
    }
  }

  /** Bodies of deliveries that ended while nobody looked. */
  #discardLeftOver(): void {
    const { contents, host, onFault } = this.#deps;
    try {
      for (const id of contents.stored()) {
        if (host.findInstance('delivery', id)?.final) this.#discards.add(id);
      }
    } catch (error) {
      onFault('looking for bodies that are left over', error);
    }
  }
}
