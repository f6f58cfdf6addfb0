/**
 * Once-store on a stream of its own, for nodes that share one NATS. Each key is a subject, named by
 * the key's digest, and the first message of a subject takes the key. The append expects an empty
 * subject, so the stream refuses a second message. Messages are dropped by age, so every key is
 * kept for the longest time allowed.
 */
import { hash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { assertWithinOnceMax, ONCE_MS_MAX, type OnceStore } from '../once-store.ts';
import type { Stream, StreamSpec } from '../stream.ts';

/** Maximum lead of the server's clock, which measures age, over ours, ms. */
const MARGIN_MS = 3_600_000;

export const onceSpec: StreamSpec = {
  name: 'CLAIMS',
  subjects: ['svc.claims.*'],
  retention: 'log',
  maxAgeMs: ONCE_MS_MAX + MARGIN_MS,
  // The expected sequence prevents a second message, so no message id is needed.
  duplicateWindowMs: 1_000,
  // One-time keys used before can then be used once more, until they expire.
  whenMissing: 'replace',
};

const encoder = new TextEncoder();

/** Creates the stream if it is missing. Throws what `Stream.ensure` throws. */
export async function openStreamOnceStore(options: {
  readonly stream: Pick<Stream, 'ensure' | 'append'>;
  readonly clock: Clock;
}): Promise<OnceStore> {
  const { stream, clock } = options;
  await stream.ensure(onceSpec);
  return {
    takeOnce: async (key, untilMs) => {
      assertWithinOnceMax(untilMs, clock.now());
      const outcome = await stream.append({
        stream: onceSpec.name,
        subject: `svc.claims.${hash('sha256', key, 'hex')}`,
        // For people who inspect the stream; only the subject is used.
        data: encoder.encode(JSON.stringify({ untilMs })),
        expectedLastSubjectSequence: 0,
      });
      return outcome.kind === 'appended';
    },
  };
}
