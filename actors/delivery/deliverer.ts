/**
 * The deliverer: takes wake-ups, gives each destination its lane, and runs attempts. An attempt is
 * opened by a commit that rechecks everything, sent under a deadline that began with that commit,
 * and ended by a second commit. What its process did not live to record is `unknown` and tried
 * again under the same delivery id. At least once, never more often than rows say.
 */
import type { DeliveryContext } from '../../machines/delivery.ts';
import { retryDelayMs } from '../../machines/retry-schedule.ts';
import type { Clock } from '../../streams/clock.ts';
import { pause } from '../../streams/pause.ts';
import { fraction, type Random, ulid } from '../../streams/random.ts';
import { type Stream, StreamUnavailable } from '../../streams/stream.ts';
import type { Draft, Host, ProjectView } from '../host-port.ts';
import type { AttemptOutcome, Notifier } from '../notifier-port.ts';
import { Lane, type LaneJob } from './lane.ts';
import { recheck } from './recheck.ts';
import {
  DELIVERIES_STREAM,
  outstandingDeliveries,
  parseWakeUp,
  type WakeUp,
  wakeOnCommit,
} from './wake-ups.ts';

/** What an attempt is made of besides its row; secrets and bodies are never in a commit. */
export interface DeliveryContents {
  /** The stored body of a delivery, rendered and stored at the first call. */
  body(
    view: ProjectView,
    delivery: DeliveryContext,
    id: string,
  ): { bytes: Uint8Array; digest: string };
  /** The destination's address and signing secrets, current first. */
  target(view: ProjectView, destination: string): { url: string; secrets: readonly string[] };
  /** Forgets the stored body of a delivery that has ended. */
  discard(id: string): void;
}

export interface DelivererDeps {
  readonly host: Host;
  readonly stream: Stream;
  readonly clock: Clock;
  readonly random: Random;
  readonly notifier: Notifier;
  readonly contents: DeliveryContents;
  /** Counted and logged by the caller. */
  readonly onFault: (what: string, error: unknown) => void;
  readonly onAttempt: (outcome: AttemptOutcome['kind'] | 'suppressed', durationMs: number) => void;
}

/** Attempts in flight in this process, and of one project, at most. */
const PROCESS_IN_FLIGHT_MAX = 64;
const PROJECT_IN_FLIGHT_MAX = 32;
/** One attempt: 10 s in all from the commit that opened it. */
const ATTEMPT_MS = 10_000;
/** How often rows are swept for lost wake-ups and dead attempts, ms. */
const SWEEP_MS = 30_000;
const RETRY_MS = 500;

type Opened =
  | { readonly kind: 'open'; readonly attemptId: string; readonly context: DeliveryContext }
  | { readonly kind: 'notDue' };

export class Deliverer {
  readonly #deps: DelivererDeps;
  readonly #lanes = new Map<string, Lane>();
  readonly #byProject = new Map<string, number>();
  readonly #attempts = new Set<Promise<void>>();
  /** Deliveries this process has opened an attempt of, until its outcome is committed. */
  readonly #open = new Set<string>();
  #inFlight = 0;
  #stopped = false;
  #cancelProbe: (() => void) | undefined;

  constructor(deps: DelivererDeps) {
    this.#deps = deps;
  }

  /** Runs until `signal`, then waits for attempts under way (10 s at most each) to be recorded. */
  async run(signal: AbortSignal): Promise<void> {
    const { host, stream, onFault } = this.#deps;
    this.#stopped = false;
    const undo = wakeOnCommit(host, stream, (error) => onFault('wake-up', error));
    const consumer = await stream.consume({
      stream: DELIVERIES_STREAM,
      durable: 'deliverer',
      ackWaitMs: 30_000,
      maxAckPending: 256,
    });
    const stop = (): void => void consumer.close();
    signal.addEventListener('abort', stop, { once: true });
    const cancelSweep = this.#sweepEvery(SWEEP_MS);
    try {
      await this.#sweep();
      for await (const message of consumer) {
        try {
          this.#enqueue(parseWakeUp(message.data));
        } catch (error) {
          onFault('wake-up that cannot be read', error);
        }
        await message.ack();
      }
    } finally {
      this.#stopped = true;
      signal.removeEventListener('abort', stop);
      cancelSweep();
      this.#cancelProbe?.();
      undo();
      await consumer.close();
      await Promise.all(this.#attempts);
    }
  }

  /** Attempts under way now. */
  inFlight(): number {
    return this.#inFlight;
  }

  #enqueue({ project, delivery }: WakeUp): void {
    const row = this.#deps.host.view(project).instance('delivery', delivery);
    if (!row || row.final || this.#open.has(delivery)) return;
    const { destination, incident } = row.context as unknown as DeliveryContext;
    const lane = this.#lanes.get(destination) ?? new Lane();
    this.#lanes.set(destination, lane);
    lane.add({ project, delivery, incident });
    this.#pump();
  }

  /** Starts what may start: lanes take turns, so that none with a backlog starves another. */
  #pump(): void {
    if (this.#stopped) return;
    let started = true;
    while (started && this.#inFlight < PROCESS_IN_FLIGHT_MAX) {
      started = false;
      for (const [destination, lane] of this.#lanes) {
        if (this.#inFlight >= PROCESS_IN_FLIGHT_MAX) break;
        if (this.#startOne(lane)) started = true;
        if (lane.isIdle()) this.#lanes.delete(destination);
      }
    }
    this.#armProbe();
  }

  #startOne(lane: Lane): boolean {
    const now = this.#deps.clock.elapsed();
    const job = lane.take(now);
    if (!job) return false;
    const ofProject = this.#byProject.get(job.project) ?? 0;
    if (ofProject >= PROJECT_IN_FLIGHT_MAX) {
      lane.end(job, 'neutral', now);
      lane.add(job);
      return false;
    }
    this.#byProject.set(job.project, ofProject + 1);
    this.#inFlight++;
    const attempt = this.#attempt(job)
      .catch((error: unknown) => {
        this.#deps.onFault(`delivery ${job.delivery}`, error);
        return 'neutral' as const;
      })
      .then((result) => this.#ended(lane, job, result));
    this.#attempts.add(attempt);
    attempt.finally(() => this.#attempts.delete(attempt)).catch(() => {});
    return true;
  }

  #ended(lane: Lane, job: LaneJob, result: 'healthy' | 'failing' | 'neutral'): void {
    this.#inFlight--;
    const left = (this.#byProject.get(job.project) ?? 1) - 1;
    if (left === 0) this.#byProject.delete(job.project);
    else this.#byProject.set(job.project, left);
    lane.end(job, result, this.#deps.clock.elapsed());
    this.#pump();
  }

  async #attempt(job: LaneJob): Promise<'healthy' | 'failing' | 'neutral'> {
    const { clock, contents, host, notifier, onAttempt } = this.#deps;
    this.#open.add(job.delivery);
    try {
      const opened = await this.#openAttempt(job);
      if (opened.kind === 'notDue') {
        onAttempt('suppressed', 0);
        return 'neutral';
      }
      const { attemptId, context } = opened;
      const startedElapsedMs = clock.elapsed();
      const view = host.view(job.project);
      const outcome = await notifier.attempt({
        deliveryId: job.delivery,
        attemptId,
        event: eventName(context.event),
        body: contents.body(view, context, job.delivery).bytes,
        ...contents.target(view, context.destination),
        timestampUnix: Math.floor(clock.now() / 1000),
        deadlineElapsedMs: startedElapsedMs + ATTEMPT_MS,
      });
      onAttempt(outcome.kind, clock.elapsed() - startedElapsedMs);
      await this.#persist(() => this.#recordOutcome(job, outcome));
      return outcome.kind === 'accepted' ? 'healthy' : 'failing';
    } finally {
      this.#open.delete(job.delivery);
    }
  }

  /** One commit: recheck, and open the attempt or end the delivery with the reason. */
  async #openAttempt(job: LaneJob): Promise<Opened> {
    const { clock, contents, host, random } = this.#deps;
    const attemptId = `att_${ulid(clock.now(), random)}`;
    const view = host.view(job.project);
    const row = view.instance('delivery', job.delivery);
    if (!row || row.final) return { kind: 'notDue' };
    const context = row.context as unknown as DeliveryContext;
    const reason = recheck(view, context);
    const digest = reason ? null : contents.body(view, context, job.delivery).digest;
    const { answer } = await host.submit({
      project: job.project,
      by: { kind: 'service', name: 'deliverer' },
      decide: (draft) => openInDraft(draft, job.delivery, attemptId, digest),
    });
    if (answer) return { kind: 'open', attemptId, context };
    if (host.view(job.project).instance('delivery', job.delivery)?.final)
      contents.discard(job.delivery);
    return { kind: 'notDue' };
  }

  async #recordOutcome(job: LaneJob, outcome: AttemptOutcome): Promise<void> {
    const { contents, host, random } = this.#deps;
    const jitter = fraction(random);
    const { answer: ended } = await host.submit({
      project: job.project,
      by: { kind: 'service', name: 'deliverer' },
      decide(draft) {
        const delivery = draft.instance('delivery', job.delivery);
        if (delivery?.value !== 'sending') return false;
        const context = delivery.context as unknown as DeliveryContext;
        const event = outcomeEvent(outcome, context, draft.at, jitter);
        const after = draft.send('delivery', job.delivery, event);
        pauseIfGone(draft, context.destination, outcome);
        return after.instance.final;
      },
    });
    if (ended) contents.discard(job.delivery);
  }

  /** Repeats until the stream answers: the outcome of an attempt made is not to be lost. */
  async #persist(submit: () => Promise<void>): Promise<void> {
    while (true) {
      try {
        return await submit();
      } catch (error) {
        if (!(error instanceof StreamUnavailable) || this.#stopped) throw error;
        this.#deps.onFault('recording an attempt', error);
        await pause(this.#deps.clock, RETRY_MS);
      }
    }
  }

  #sweepEvery(ms: number): () => void {
    let cancel = (): void => {};
    const again = (): void => {
      cancel = this.#deps.clock.wakeAfter(ms, () => {
        this.#sweep().catch((error: unknown) => this.#deps.onFault('sweep', error));
        again();
      });
    };
    again();
    return () => cancel();
  }

  /** Rows are the truth: takes up what is due, and what a dead process left as being sent. */
  async #sweep(): Promise<void> {
    const { due, sending } = outstandingDeliveries(this.#deps.host);
    for (const lost of sending) {
      if (!this.#open.has(lost.delivery)) await this.#persist(() => this.#recordLost(lost));
    }
    for (const wakeUp of due) this.#enqueue(wakeUp);
  }

  async #recordLost({ project, delivery }: WakeUp): Promise<void> {
    const jitter = fraction(this.#deps.random);
    await this.#deps.host.submit({
      project,
      by: { kind: 'service', name: 'deliverer' },
      decide(draft) {
        const row = draft.instance('delivery', delivery);
        if (row?.value !== 'sending') return;
        const context = row.context as unknown as DeliveryContext;
        const delayMs = delayOf(context, draft.at, jitter);
        draft.send('delivery', delivery, { type: 'attemptLost', at: draft.at, delayMs });
      },
    });
  }

  #armProbe(): void {
    this.#cancelProbe?.();
    const now = this.#deps.clock.elapsed();
    const times = [...this.#lanes.values()].map((lane) => lane.probeAtMs(now) ?? Infinity);
    const next = Math.min(Infinity, ...times);
    if (next === Infinity) return;
    this.#cancelProbe = this.#deps.clock.wakeAfter(next - now, () => this.#pump());
  }
}

/** True when the attempt is open; false when the delivery ended or is no longer due. */
function openInDraft(
  draft: Draft,
  id: string,
  attemptId: string,
  bodyDigest: string | null,
): boolean {
  const delivery = draft.instance('delivery', id);
  if (delivery?.value !== 'queued' && delivery?.value !== 'rechecking') return false;
  const { at } = draft;
  if (delivery.value === 'queued') draft.send('delivery', id, { type: 'attemptDue', at });
  const reason = recheck(draft, delivery.context as unknown as DeliveryContext);
  if (reason) draft.send('delivery', id, { type: 'suppressed', at, reason });
  else if (bodyDigest === null) return false;
  else draft.send('delivery', id, { type: 'cleared', at, attemptId, bodyDigest });
  return !reason;
}

function outcomeEvent(
  outcome: AttemptOutcome,
  context: DeliveryContext,
  at: number,
  jitter: number,
): { type: string; at: number } & Record<string, unknown> {
  const httpStatus = outcome.httpStatus ?? null;
  switch (outcome.kind) {
    case 'accepted':
      return { type: 'accepted', at, httpStatus };
    case 'refused':
      return { type: 'refused', at, httpStatus, error: outcome.error };
    case 'failed': {
      const { unknown, error, retryAfterMs } = outcome;
      const delayMs = delayOf(context, at, jitter, retryAfterMs);
      return { type: 'attemptFailed', at, unknown, httpStatus, error, delayMs };
    }
  }
}

/** Wait before the next attempt, ms; null when it would come after the 24 hours. */
function delayOf(
  context: DeliveryContext,
  at: number,
  jitter: number,
  retryAfterMs?: number,
): number | null {
  const attempt = context.attempts.length;
  const ageMs = at - context.createdMs;
  return (
    retryDelayMs({
      attempt,
      jitter,
      ageMs,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    }) ?? null
  );
}

/** 410, or an endpoint that can only be mended by its owner: leave it alone until resumed. */
function pauseIfGone(draft: Draft, destination: string, outcome: AttemptOutcome): void {
  if (outcome.kind !== 'refused' || !outcome.pauseDestination) return;
  draft.send('destination', destination, {
    type: 'paused',
    at: draft.at,
    reason: outcome.error,
    by: 'deliverer',
  });
}

function eventName(event: DeliveryContext['event']): string {
  return event === 'TEST' ? 'test' : `incident.${event.toLowerCase()}`;
}
