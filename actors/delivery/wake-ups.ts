/**
 * Wake-ups: messages on DELIVERIES that a delivery is due now. They are hints: the rows are the
 * truth. Every commit that makes a delivery due sends one; a sweep over the rows makes up for those
 * that a crash or a broken stream lost.
 */
import { partitionOf, type Stream, type StreamSpec } from '../../streams/platform/stream.ts';
import type { Host } from '../platform/host/host-port.ts';
import { liveInstances } from '../platform/host/live-instances.ts';

export const DELIVERIES_STREAM = 'DELIVERIES';

export const deliveriesSpec: StreamSpec = {
  name: DELIVERIES_STREAM,
  subjects: ['svc.deliveries.*'],
  retention: 'workQueue',
  duplicateWindowMs: 120_000,
  replicas: 1,
};

export interface WakeUp {
  readonly project: string;
  readonly delivery: string;
}

/** A delivery with its open attempt. */
export interface OpenAttempt extends WakeUp {
  readonly attemptId: string;
}

/** Publishes a wake-up. The sweep makes up for a lost one, so callers need not retry. */
export async function publishWakeUp(stream: Stream, wakeUp: WakeUp): Promise<void> {
  const subject = `svc.deliveries.${partitionOf(wakeUp.project)}`;
  const data = new TextEncoder().encode(JSON.stringify(wakeUp));
  await stream.append({ stream: DELIVERIES_STREAM, subject, data });
}

/** Parses a wake-up. Throws a `SyntaxError` or `TypeError` for other data. */
export function parseWakeUp(data: Uint8Array): WakeUp {
  const parsed: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data));
  const { project, delivery } = (parsed ?? {}) as Partial<Record<keyof WakeUp, unknown>>;
  if (typeof project !== 'string' || typeof delivery !== 'string') {
    throw new TypeError('A wake-up names a project and a delivery');
  }
  return { project, delivery };
}

/** States in which a delivery is due now. */
const DUE: ReadonlySet<unknown> = new Set(['queued', 'rechecking']);

/** Sends a wake-up for each delivery that an applied commit makes due. Returns a stop function. */
export function wakeOnCommit(
  host: Host,
  stream: Stream,
  onLost: (error: unknown) => void,
): () => void {
  return host.onApplied(({ commit: { project, decisions } }) => {
    const due = new Set<string>();
    for (const { machine, instance, to } of decisions.flatMap(({ steps }) => steps)) {
      if (machine !== 'delivery') continue;
      // Only the final state counts: opening an attempt passes through `rechecking`.
      if (DUE.has(to)) due.add(instance);
      else due.delete(instance);
    }
    for (const delivery of due) publishWakeUp(stream, { project, delivery }).catch(onLost);
  });
}

/** An attempt that is open in its row, with its start, Unix ms. */
export interface RecordedAttempt extends OpenAttempt {
  readonly startedMs: number;
}

/** Deliveries that are due, and open attempts, from all rows. */
export async function outstandingDeliveries(
  host: Host,
): Promise<{ due: WakeUp[]; sending: RecordedAttempt[] }> {
  const due: WakeUp[] = [];
  const sending: RecordedAttempt[] = [];
  for (const project of host.projects()) {
    const deliveries = liveInstances(host.view(project), 'delivery');
    for await (const { instance, value, context } of deliveries) {
      const wakeUp = { project, delivery: instance };
      if (DUE.has(value)) due.push(wakeUp);
      if (value !== 'sending') continue;
      const { attempts } = context;
      const { attemptId = '', startedMs = 0 } = attempts.at(-1) ?? {};
      sending.push({ ...wakeUp, attemptId, startedMs });
    }
  }
  return { due, sending };
}
