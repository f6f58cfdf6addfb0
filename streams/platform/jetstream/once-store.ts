/**
 * Claims on a stream of their own, for nodes that share one NATS: each key is a subject, by its
 * digest, and the first message of a subject is the claim. The stream refuses a second one (it
 * expects the subject to be empty) and drops messages by age, which is why every claim is kept as
 * long as the longest may hold.
 */
import { hash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { assertClaimable, CLAIM_MS_MAX, type Claims } from '../once-store.ts';
import type { Stream, StreamSpec } from '../stream.ts';

/** How far the server's clock, by which it counts age, may be ahead of ours, ms. */
const MARGIN_MS = 3_600_000;

export const claimsSpec: StreamSpec = {
  name: 'CLAIMS',
  subjects: ['svc.claims.*'],
  retention: 'log',
  maxAgeMs: CLAIM_MS_MAX + MARGIN_MS,
  // Nothing is sent twice: an expectation, and not an id, keeps a second one out.
  duplicateWindowMs: 1_000,
  replicas: 1,
};

const encoder = new TextEncoder();

/** Makes the stream where it is missing. Throws what `Stream.ensure` throws. */
export async function openStreamClaims(options: {
  readonly stream: Pick<Stream, 'ensure' | 'append'>;
  readonly clock: Clock;
}): Promise<Claims> {
  const { stream, clock } = options;
  await stream.ensure(claimsSpec);
  return {
    claimOnce: async (key, untilMs) => {
      assertClaimable(untilMs, clock.now());
      const outcome = await stream.append({
        stream: claimsSpec.name,
        subject: `svc.claims.${hash('sha256', key, 'hex')}`,
        // For people who look at the stream: the subject says all.
        data: encoder.encode(JSON.stringify({ untilMs })),
        expectedLastSubjectSequence: 0,
      });
      return outcome.kind === 'appended';
    },
  };
}
