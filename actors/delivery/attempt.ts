/**
 * One attempt of one delivery, in three steps: a commit that rechecks everything and opens it, the
 * send under a deadline that starts with that commit, and a commit with the outcome (`outcome.ts`).
 */
import type { DeliveryContext, DeliveryEvent } from '../../machines/delivery/delivery.ts';
import type { DestinationKind } from '../../machines/delivery/destination.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import { activePeople, isLockedOut } from '../alerting/eligible.ts';
import type { Draft, Host, ProjectView } from '../platform/host/host-port.ts';
import { nextTurn } from '../platform/time-slices.ts';
import { isHeld, recheck } from './audience.ts';
import type { AttemptOutcome, Notifier, Target } from './notifier-port.ts';
import type { OpenAttempt, WakeUp } from './wake-ups.ts';
import type { WriteBatch } from './write-batch.ts';

/** The parts of an attempt outside its row: secrets and bodies are never in a commit. */
export interface DeliveryContents extends BodySource {
  /** Target of the delivery, unsealed. Throws when its value is not in the sealed store. */
  target(view: ProjectView, delivery: DeliveryContext): Target;
  /** Ids of deliveries whose body is stored. */
  stored(): readonly string[];
  /** Deletes the stored bodies of deliveries that have ended. No-op for those without one. */
  discard(ids: readonly string[]): void;
}

/** The endpoint's redacted answer, stored beside the rows, never in a commit, so it can be deleted. */
export interface AnswerExcerpt {
  readonly deliveryId: string;
  readonly attemptId: string;
  readonly excerpt: string;
}

export interface AttemptDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly notifier: Notifier;
  readonly contents: Pick<DeliveryContents, 'target'>;
  readonly bodies: Pick<Bodies, 'of'>;
  readonly excerpts: Pick<WriteBatch<AnswerExcerpt>, 'add'>;
  /** Counts and logs the fault. */
  readonly onFault: (what: string, error: unknown) => void;
}

export const delivererActor: Actor = { kind: 'service', name: 'deliverer' };

/**
 * `notDue`: the delivery ended or moved on meanwhile, or another wake-up will retry it. `held`: due
 * when the rule's pending version is applied.
 */
export type Opened =
  | { readonly kind: 'open'; readonly attempt: Attempt }
  | { readonly kind: 'suppressed' }
  | { readonly kind: 'held' }
  | { readonly kind: 'notDue' };

export interface Attempt extends OpenAttempt {
  readonly context: DeliveryContext;
  readonly body: Uint8Array;
  /** Elapsed time, ms. */
  readonly deadlineMs: number;
}

/** One commit: rechecks, then opens the attempt or ends the delivery with the reason. */
export async function openAttempt(
  deps: AttemptDeps,
  { project, delivery }: WakeUp,
): Promise<Opened> {
  const { bodies, clock, host, random } = deps;
  const attemptId = `att_${ulid(clock.now(), random)}`;
  const view = host.view(project);
  const row = view.instance('delivery', delivery);
  if (!row || row.final) return { kind: 'notDue' };
  const context = row.context;
  const isStill = recheck(view, context, activePeople(host)).reason === undefined;
  if (isStill && isHeld(view, context)) return { kind: 'held' };
  const body = isStill ? await bodies.of(view, context, delivery) : undefined;
  let decidedMs = 0;
  const { answer } = await host.submit({
    project,
    by: delivererActor,
    decide(draft) {
      decidedMs = clock.elapsed();
      return openInDraft(host, draft, { delivery, attemptId, bodyDigest: body?.digest });
    },
  });
  if (answer !== 'open') return { kind: answer };
  if (!body) return { kind: 'notDue' };
  const kind = kindOf(host.view(project), context);
  const deadlineMs = decidedMs + deps.notifier.limitsOf(kind).attemptMs;
  const attempt = { project, delivery, attemptId, context, body: body.bytes, deadlineMs };
  return { kind: 'open', attempt };
}

/** Kind of the delivery's destination. Throws without one: a bug, as rows are never removed. */
export function kindOf(view: ProjectView, { destination }: DeliveryContext): DestinationKind {
  const row = view.instance('destination', destination);
  if (!row) throw new Error(`A delivery is for the unknown destination ${destination}`);
  return row.context.kind;
}

interface Opening {
  readonly delivery: string;
  readonly attemptId: string;
  readonly bodyDigest: string | undefined;
}

function openInDraft(
  host: Host,
  draft: Draft,
  { delivery: id, attemptId, bodyDigest }: Opening,
): Opened['kind'] {
  const delivery = draft.instance('delivery', id);
  if (delivery?.value !== 'queued' && delivery?.value !== 'rechecking') return 'notDue';
  const { at } = draft;
  const context = delivery.context;
  const { reason, checks } = recheck(draft, context, activePeople(host));
  if (!reason && isHeld(draft, context)) return 'held';
  if (!reason && bodyDigest === undefined) return 'notDue';
  if (delivery.value === 'queued') draft.send('delivery', id, { type: 'attemptDue', at });
  const event: DeliveryEvent = reason
    ? { type: 'suppressed', at, reason, checks }
    : { type: 'cleared', at, attemptId, bodyDigest: bodyDigest ?? '', checks };
  // Not always `sending`: any event after 24 hours makes a delivery expire.
  const { value } = draft.send('delivery', id, event).instance;
  if (value === 'sending') return 'open';
  return value === 'suppressed' ? 'suppressed' : 'notDue';
}

/** Sends the attempt. Resolves with the outcome, also after a fault of this service. */
export async function sendAttempt(deps: AttemptDeps, attempt: Attempt): Promise<AttemptOutcome> {
  const { contents, excerpts, host } = deps;
  const { project, delivery: deliveryId, attemptId, context } = attempt;
  // People belong to no project, so one may be locked out between the decision and its commit.
  const { recipient } = context;
  const view = host.view(project);
  if (recipient !== null && isLockedOut(view, recipient, activePeople(host))) {
    const message = 'Not sent: the person was locked out';
    return { kind: 'failed', unknown: false, ours: true, error: message };
  }
  // Once its deletion is applied, the sealed URL and secrets are gone; the next recheck says why.
  if (view.instance('destination', context.destination)?.final) {
    const message = 'Not sent: the destination was deleted';
    return { kind: 'failed', unknown: false, ours: true, error: message };
  }
  let target: Target;
  try {
    target = contents.target(view, context);
  } catch (error) {
    deps.onFault(`reading the destination of ${deliveryId}`, error);
    const message = 'The address or the secret of the destination could not be read';
    return { kind: 'failed', unknown: false, ours: true, error: message };
  }
  const outcome = await outcomeOf(deps, attempt, target);
  const { excerpt = '' } = outcome;
  if (excerpt !== '') excerpts.add({ deliveryId, attemptId, excerpt });
  return outcome;
}

async function outcomeOf(
  { clock, notifier, onFault }: AttemptDeps,
  { delivery: deliveryId, attemptId, context, body, deadlineMs }: Attempt,
  target: Target,
): Promise<AttemptOutcome> {
  try {
    return await notifier.attempt({
      ...{ deliveryId, attemptId, body, target, incident: context.incident },
      event: eventName(context.event),
      timestampUnix: Math.floor(clock.now() / 1000),
      deadlineElapsedMs: deadlineMs,
    });
  } catch (error) {
    onFault(`sending ${deliveryId}`, error);
    const message = 'The attempt failed because of a fault of this service';
    return { kind: 'failed', unknown: true, ours: true, error: message };
  }
}

function eventName(event: DeliveryContext['event']): string {
  return event === 'TEST' ? 'test' : `incident.${event.toLowerCase()}`;
}

/** A delivery's body in the form that its channel sends. */
export interface RenderedBody {
  readonly bytes: Uint8Array;
  /** SHA-256, hex. */
  readonly digest: string;
  /** True when it is on disk already, for a later attempt. */
  readonly isKept: boolean;
}

export interface BodySource {
  /** The stored body, or a newly rendered one. */
  body(view: ProjectView, delivery: DeliveryContext, id: string): RenderedBody;
  /** Stores bodies in one write. */
  keep(bodies: readonly KeptBody[]): void;
}

export interface KeptBody {
  readonly deliveryId: string;
  readonly body: Uint8Array;
}

export class Bodies {
  readonly #source: BodySource;
  #waiting: KeptBody[] = [];
  #write: Promise<void> | undefined;

  constructor(source: BodySource) {
    this.#source = source;
  }

  /**
   * The body of a delivery, on disk when it resolves. Rejects with faults of rendering and storing,
   * and when the body differs from that of earlier attempts.
   */
  async of(view: ProjectView, delivery: DeliveryContext, id: string): Promise<RenderedBody> {
    const body = this.#source.body(view, delivery, id);
    if (delivery.bodyDigest !== null && delivery.bodyDigest !== body.digest) {
      throw new Error(`The stored body of ${id} is not the one of its earlier attempts`);
    }
    if (!body.isKept) await this.#keep({ deliveryId: id, body: body.bytes });
    return body;
  }

  #keep(body: KeptBody): Promise<void> {
    this.#waiting.push(body);
    this.#write ??= nextTurn().then(() => {
      const bodies = this.#waiting;
      this.#waiting = [];
      this.#write = undefined;
      this.#source.keep(bodies);
    });
    return this.#write;
  }
}
