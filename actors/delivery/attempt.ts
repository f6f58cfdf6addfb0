/**
 * An attempt of a delivery: its parts, and the dependencies of the stages of its path. The stages
 * and their order are in `attempt-path.ts`.
 */
import type { DeliveryContext } from '../../machines/delivery/delivery.ts';
import type { DestinationKind } from '../../machines/delivery/destination.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import type { Random } from '../../streams/platform/random.ts';
import type { Host, ProjectView } from '../platform/host/host-port.ts';
import type { Bodies, BodySource } from './bodies.ts';
import type { OpenAttempt } from './due-attempts.ts';
import type { Notifier, Target } from './notifier-port.ts';
import type { WriteBatch } from './write-batch.ts';

/** An attempt that was opened by a commit and may be sent until its deadline. */
export interface Attempt extends OpenAttempt {
  readonly context: DeliveryContext;
  readonly body: Uint8Array;
  /** Elapsed time, ms. */
  readonly deadlineMs: number;
}

/** Dependencies of the stages: rows to recheck, the body, and the notifier that sends. */
export interface AttemptDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly notifier: Notifier;
  readonly contents: Pick<DeliveryContents, 'target'>;
  readonly bodies: Pick<Bodies, 'of' | 'hold'>;
  readonly excerpts: Pick<WriteBatch<AnswerExcerpt>, 'add'>;
  /** Counts and logs the fault. */
  readonly onFault: (what: string, error: unknown) => void;
}

/** The parts of an attempt outside its row: secrets and bodies are never committed. */
export interface DeliveryContents extends BodySource {
  /** Target of the delivery, unsealed. Rejects if its value is not in the sealed store. */
  target(view: ProjectView, delivery: DeliveryContext): Promise<Target>;
  /** Ids of deliveries whose body is stored. */
  stored(): readonly string[];
  /** Deletes the stored bodies of deliveries that have ended. No-op for deliveries without one. */
  discard(ids: readonly string[]): Promise<void>;
}

/**
 * The endpoint's redacted answer, stored beside the rows and never in a commit, so that it can be
 * deleted.
 */
export interface AnswerExcerpt {
  readonly deliveryId: string;
  readonly attemptId: string;
  readonly excerpt: string;
}

/** The service itself, which the audit log names as the actor of every attempt. */
export const delivererActor: Actor = { kind: 'service', name: 'deliverer' };

/**
 * Kind of the delivery's destination. Throws without one, which is a bug because rows are never
 * removed.
 */
export function kindOf(view: ProjectView, { destination }: DeliveryContext): DestinationKind {
  const row = view.instance('destination', destination);
  if (!row) throw new Error(`The delivery has the unknown destination ${destination}`);
  return row.context.kind;
}
