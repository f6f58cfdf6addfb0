/**
 * DELIVERIES, the work queue: one message for each attempt that is due, which all members that
 * deliver share. The owner of a project publishes them. A message is no proof: a lost one is
 * published again, and the commit that opens the attempt refuses what a doubled one asks for.
 */
import {
  type ConsumerSpec,
  partitionOf,
  type Stream,
  type StreamSpec,
} from '../../streams/platform/stream.ts';
import type { Host, Instance } from '../platform/host/host-port.ts';
import { liveInstances } from '../platform/host/live-instances.ts';

const DELIVERIES_STREAM = 'DELIVERIES';

/**
 * A work queue: each message goes to one member, and is gone when it was acknowledged. Messages with
 * the same id within two minutes count once.
 */
export const deliveriesSpec: StreamSpec = {
  name: DELIVERIES_STREAM,
  subjects: ['svc.deliveries.*'],
  retention: 'workQueue',
  duplicateWindowMs: 120_000,
};

/**
 * What all members that deliver consume. Only attempts that may start are published, so that none
 * waits among the unacknowledged messages.
 */
export const deliveriesConsumer: ConsumerSpec = {
  stream: DELIVERIES_STREAM,
  durable: 'deliverer',
  /** Longer than an attempt and its two commits. */
  ackWaitMs: 60_000,
  /** Above what the queues of 8 owners let start at a time. */
  maxAckPending: 8_192,
  // An attempt is begun as soon as its message is there.
  batch: 64,
};

/** An attempt that is due. */
export interface DueAttempt {
  readonly project: string;
  readonly delivery: string;
  /** Its number among those of its delivery, from 1. */
  readonly attempt: number;
}

/** A delivery with its open attempt. */
export interface OpenAttempt {
  readonly project: string;
  readonly delivery: string;
  readonly attemptId: string;
}

/**
 * Publishes a due attempt; a second publication is a duplicate.
 *
 * @param again makes it another message, for one that may have been lost
 */
export async function publishDue(stream: Stream, due: DueAttempt, again = ''): Promise<void> {
  const { project, delivery, attempt } = due;
  const subject = `svc.deliveries.${partitionOf(project)}`;
  const data = new TextEncoder().encode(JSON.stringify({ project, delivery, attempt }));
  const messageId = `${delivery}/${attempt}${again && `/${again}`}`;
  await stream.append({ stream: DELIVERIES_STREAM, subject, data, messageId });
}

/** Parses a message. Throws a `SyntaxError` or `TypeError` for other data. */
export function parseDue(data: Uint8Array): DueAttempt {
  const parsed: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data));
  const {
    project,
    delivery,
    attempt = 1,
  } = (parsed ?? {}) as Partial<Record<keyof DueAttempt, unknown>>;
  if (typeof project === 'string' && typeof delivery === 'string' && typeof attempt === 'number') {
    return { project, delivery, attempt };
  }
  throw new TypeError('A due attempt names a project, a delivery and its number');
}

/** Number of the attempt that is due now; undefined when none is. */
export function nextAttemptOf({
  value,
  context,
}: Pick<Instance<'delivery'>, 'value' | 'context'>): number | undefined {
  const isDue = value === 'queued' || value === 'rechecking';
  return isDue ? context.attempts.length + 1 : undefined;
}

/** An attempt that is open in its row, with its start, Unix ms. */
export interface RecordedAttempt extends OpenAttempt {
  readonly startedMs: number;
}

/** Deliveries that are due, and open attempts, from all rows of the projects that `owns` says. */
export async function outstandingDeliveries(
  host: Host,
  owns: (project: string) => boolean = () => true,
): Promise<{ due: Instance<'delivery'>[]; sending: RecordedAttempt[] }> {
  const due: Instance<'delivery'>[] = [];
  const sending: RecordedAttempt[] = [];
  for (const project of host.projects().filter(owns)) {
    for await (const row of liveInstances(host.view(project), 'delivery')) {
      if (nextAttemptOf(row) !== undefined) due.push(row);
      if (row.value !== 'sending') continue;
      const { attemptId = '', startedMs = 0 } = row.context.attempts.at(-1) ?? {};
      sending.push({ project, delivery: row.instance, attemptId, startedMs });
    }
  }
  return { due, sending };
}
