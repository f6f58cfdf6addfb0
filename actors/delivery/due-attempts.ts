/**
 * DELIVERIES, the work queue: one message for each due attempt, shared by all members that deliver.
 * The owner of a project publishes them. A message proves nothing: a lost one is published again,
 * and the commit that opens the attempt rejects a duplicate.
 */
import { DamagedRow } from '../../sqlite/platform/row-checksum.ts';
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
 * A work queue: each message goes to one member and is deleted once acknowledged. Messages with the
 * same id within two minutes count as one.
 */
export const deliveriesSpec: StreamSpec = {
  name: DELIVERIES_STREAM,
  subjects: ['svc.deliveries.*'],
  retention: 'workQueue',
  duplicateWindowMs: 120_000,
  whenMissing: 'replace',
};

/**
 * The consumer of all members that deliver. Only attempts that may start are published, so that
 * none waits among the unacknowledged messages.
 */
export const deliveriesConsumer: ConsumerSpec = {
  stream: DELIVERIES_STREAM,
  durable: 'deliverer',
  /** Longer than an attempt and its two commits. */
  ackWaitMs: 60_000,
  /** As many as the queues of 8 owners may start at a time. */
  maxAckPending: 20_480,
  // An attempt starts as soon as its message arrives.
  batch: 64,
};

/** An attempt that is due. */
export interface DueAttempt {
  readonly project: string;
  readonly delivery: string;
  /** Its number within its delivery, from 1. */
  readonly attempt: number;
}

/** A delivery with its open attempt. */
export interface OpenAttempt {
  readonly project: string;
  readonly delivery: string;
  readonly attemptId: string;
}

/**
 * Publishes a due attempt. A second publication is a duplicate.
 *
 * @param again makes it a different message, for one that may have been lost
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
  throw new TypeError('A due attempt must have a project, a delivery and a number');
}

/** Number of the attempt that is due now; undefined if none is. */
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

/**
 * Due deliveries and open attempts, from all rows of the projects for which `owns` is true. A
 * damaged row hides the rows after it, but only in its own project.
 */
export async function outstandingDeliveries(
  host: Host,
  owns: (project: string) => boolean = () => true,
  onDamaged: (row: DamagedRow) => void = () => {},
): Promise<{ due: Instance<'delivery'>[]; sending: RecordedAttempt[] }> {
  const due: Instance<'delivery'>[] = [];
  const sending: RecordedAttempt[] = [];
  for (const project of host.projects().filter(owns)) {
    try {
      for await (const row of liveInstances(host.view(project), 'delivery')) {
        if (nextAttemptOf(row) !== undefined) due.push(row);
        if (row.value !== 'sending') continue;
        const { attemptId = '', startedMs = 0 } = row.context.attempts.at(-1) ?? {};
        sending.push({ project, delivery: row.instance, attemptId, startedMs });
      }
    } catch (error) {
      if (!(error instanceof DamagedRow)) throw error;
      onDamaged(error);
    }
  }
  return { due, sending };
}
