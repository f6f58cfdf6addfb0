/**
 * The deliverer: takes wake-ups, gives each destination its lane, and runs attempts. An attempt is
 * opened by a commit that rechecks everything, sent under a deadline that began with that commit,
 * and ended by a second commit. What its process did not live to record is `unknown` and tried
 * again under the same delivery id. At least once, never more often than rows say.
 */
import type { DeliveryContext } from '../../machines/delivery/delivery.ts';
import type { DestinationKind } from '../../machines/delivery/destination.ts';
import type { Commit } from '../../streams/platform/commit/commit.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import { isPassing } from '../platform/retryable.ts';
import { Turns } from '../platform/time-slices.ts';
import {
  type AttemptDeps,
  type DeliveryContents,
  kindOf,
  openAttempt,
  sendAttempt,
} from './attempt.ts';
import { Bodies } from './bodies.ts';
import type { AttemptResult } from './destination-queue.ts';
import { Lanes, type Start } from './destination-queues.ts';
import { Discards } from './discards.ts';
import { Excerpts, type ExcerptsDeps } from './excerpts.ts';
import type { AttemptOutcome } from './notifier-port.ts';
import { isBounce, isOurs, recordLost, recordOutcome } from './outcome.ts';
import { Sweeps } from './sweeps.ts';
import { DELIVERIES_STREAM, parseWakeUp, type WakeUp, wakeOnCommit } from './wake-ups.ts';

export type { DeliveryContents } from './attempt.ts';

export interface DelivererDeps extends Omit<AttemptDeps, 'contents' | 'bodies' | 'excerpts'> {
  readonly stream: Stream;
  readonly contents: DeliveryContents;
  /** Keeps excerpts of answers in one write. */
  readonly keepExcerpts: ExcerptsDeps['keep'];
  readonly onAttempt: (outcome: AttemptOutcome['kind'] | 'suppressed', durationMs: number) => void;
}

const RETRY_MS = 500;
/** Slack takes one message a second (HOOK-19), ms. */
const SPACING_MS: Readonly<Partial<Record<DestinationKind, number>>> = { slack: 1_000 };

/** Events of a destination after which its failures of before say nothing of it. */
const MENDED: ReadonlySet<string> = new Set(['retargeted', 'resumed']);

/** What the end of an attempt says to its lane. */
interface Ended {
  readonly result: AttemptResult;
  /** For how long the endpoint wants no attempt, ms. */
  readonly restMs?: number;
}

const NOTHING_SENT: Ended = { result: 'neutral' };

export class Deliverer {
  readonly #deps: DelivererDeps & AttemptDeps;
  readonly #lanes = new Lanes();
  readonly #sweeps: Sweeps;
  readonly #turns: Turns;
  readonly #discards: Discards;
  readonly #excerpts: Excerpts;
  readonly #attempts = new Set<Promise<void>>();
  /** Deliveries this process has opened an attempt of, until its outcome is committed. */
  readonly #open = new Set<string>();
  /** Kinds of destination that this process cannot send to, and has said so. */
  readonly #untellable = new Set<DestinationKind>();
  #stopped = false;
  #cancelWake: (() => void) | undefined;

  constructor(deps: DelivererDeps) {
    const { clock, contents, onFault } = deps;
    this.#excerpts = new Excerpts({ clock, onFault, keep: deps.keepExcerpts });
    this.#deps = { ...deps, excerpts: this.#excerpts, bodies: new Bodies(contents) };
    this.#turns = new Turns(clock);
    this.#sweeps = new Sweeps({
      ...deps,
      isOpen: (delivery) => this.#open.has(delivery),
      onDue: (wakeUp) => this.#enqueue(wakeUp),
      onLost: (attempt) => this.#persist(() => recordLost(this.#deps, attempt)),
    });
    this.#discards = new Discards({ clock, onFault, discard: (ids) => contents.discard(ids) });
  }

  /** Runs until `signal`, then waits for attempts under way (`ATTEMPT_MS` each) to be recorded. */
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
      host.onApplied(({ commit }) => this.#follow(commit)),
    ];
    const stop = (): void => {
      this.#stopped = true;
      void this.#sweeps.stop();
      void consumer.close();
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (signal.aborted) return;
      await this.#discardLeftOver();
      await this.#sweeps.start();
      for await (const message of consumer) {
        this.#takeWakeUp(message.data);
        message.ack().catch((error: unknown) => onFault('acknowledging a wake-up', error));
      }
    } finally {
      this.#stopped = true;
      signal.removeEventListener('abort', stop);
      this.#cancelWake?.();
      await consumer.close();
      await Promise.all([...this.#attempts, this.#sweeps.stop()]);
      for (const end of undo) end();
      this.#discards.flush();
      this.#excerpts.flush();
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
    const view = this.#deps.host.view(project);
    const row = view.instance('delivery', delivery);
    if (!row || row.final || this.#open.has(delivery)) return;
    const context = row.context as unknown as DeliveryContext;
    const kind = kindOf(view, context);
    if (!this.#canSend(kind)) return;
    const { destination, incident, recipient } = context;
    const job = { project, delivery, incident, recipient };
    const slots = kind === 'email' ? 'mail' : 'web';
    this.#lanes.add(destination, job, { slots, spacingMs: SPACING_MS[kind] });
    this.#pump();
  }

  /**
   * What this process is not set up to send waits, for one that is or for its 24 hours, and is told
   * once: an attempt that cannot succeed would only use up its schedule.
   */
  #canSend(kind: DestinationKind): boolean {
    if (this.#deps.notifier.sendsTo(kind)) return true;
    if (!this.#untellable.has(kind)) {
      this.#untellable.add(kind);
      const error = new Error('What is for it waits until it expires');
      this.#deps.onFault(`sending to ${kind}, which this service is not set up for,`, error);
    }
    return false;
  }

  /** Starts what may start, and comes back when a lane may let the next one through. */
  #pump(): void {
    this.#cancelWake?.();
    if (this.#stopped) return;
    const { clock } = this.#deps;
    for (let start = this.#next(); start; start = this.#next()) this.#begin(start);
    const wakeAtMs = this.#lanes.wakeAtMs(clock.elapsed());
    if (wakeAtMs === undefined) return;
    this.#cancelWake = clock.wakeAfter(wakeAtMs - clock.elapsed(), () => this.#pump());
  }

  #next(): Start | undefined {
    return this.#lanes.next(this.#deps.clock.elapsed());
  }

  #begin(start: Start): void {
    const { clock, onFault } = this.#deps;
    const attempt = this.#attempt(start.job)
      .catch((error: unknown): Ended => {
        onFault(`delivery ${start.job.delivery}`, error);
        return NOTHING_SENT;
      })
      .then(({ result, restMs }) => {
        this.#attempts.delete(attempt);
        this.#lanes.end(start, result, clock.elapsed(), restMs);
        this.#pump();
      });
    this.#attempts.add(attempt);
  }

  async #attempt(job: WakeUp): Promise<Ended> {
    const { clock, onAttempt } = this.#deps;
    this.#open.add(job.delivery);
    try {
      const opened = await openAttempt(this.#deps, job);
      if (opened.kind === 'suppressed') onAttempt('suppressed', 0);
      if (opened.kind === 'held') this.#sweeps.hold();
      if (opened.kind !== 'open') return this.#comeToNothing(job);
      const startedMs = clock.elapsed();
      const outcome = await sendAttempt(this.#deps, opened.attempt);
      onAttempt(outcome.kind, clock.elapsed() - startedMs);
      await this.#persist(() => recordOutcome(this.#deps, opened.attempt, outcome));
      return endedBy(outcome);
    } finally {
      this.#open.delete(job.delivery);
    }
  }

  /** It may have ended while its body was being kept: after the others were forgotten. */
  #comeToNothing({ project, delivery }: WakeUp): Ended {
    const row = this.#deps.host.view(project).instance('delivery', delivery);
    if (row?.final) this.#discards.add(delivery);
    return NOTHING_SENT;
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

  /**
   * A body is kept for attempts to come: with the delivery's end, whatever ended it, it goes. So
   * does the lane of a destination; that of one that was mended begins anew.
   */
  #follow({ project, decisions }: Commit): void {
    const nowMs = this.#deps.clock.elapsed();
    for (const { machine, instance, event, final, to } of decisions.flatMap(({ steps }) => steps)) {
      if (machine === 'delivery' && final) this.#discards.add(instance);
      if (machine === 'alertRule' && to === 'active') this.#sweeps.release();
      if (machine !== 'destination') continue;
      if (final) this.#lanes.retire(project, instance, nowMs);
      if (!MENDED.has(event.type)) continue;
      this.#lanes.reset(project, instance);
      this.#pump();
    }
  }

  /** Bodies of deliveries that ended while nobody looked. */
  async #discardLeftOver(): Promise<void> {
    const { contents, host, onFault } = this.#deps;
    try {
      for (const id of contents.stored()) {
        await this.#turns.breathe();
        if (host.findInstance('delivery', id)?.final) this.#discards.add(id);
      }
    } catch (error) {
      onFault('looking for bodies that are left over', error);
    }
  }
}

function endedBy(outcome: AttemptOutcome): Ended {
  if (outcome.kind === 'accepted') return { result: 'healthy' };
  // A server of ours that asks for less gets less.
  if (isBounce(outcome) || (isOurs(outcome) && !outcome.slows)) return NOTHING_SENT;
  const restMs = outcome.kind === 'failed' && outcome.slows ? (outcome.retryAfterMs ?? 0) : 0;
  return { result: 'failing', restMs };
}
