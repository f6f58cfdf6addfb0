/**
 * The port for things that may happen once: a key is claimed by whoever comes first, on every node.
 * Off the commit path, because a stranger's tries must not become commits. Two adapters pass one
 * suite: `sqlite/platform/once-store.ts` on a table, `streams/platform/jetstream/once-store.ts` on NATS.
 */

export interface Claims {
  /**
   * true: this call claimed the key, and that is on disk; false: it was claimed before, or by
   * another call at the same time. The claim holds until `untilMs` (Unix ms, at most
   * `CLAIM_MS_MAX` from now) and is forgotten some time after. Rejects when it cannot be told, and
   * then it may have been claimed all the same: whoever tries again may be refused.
   */
  claimOnce(key: string, untilMs: number): Promise<boolean>;
}

/** Longest a key can be claimed for, ms: where every claim is kept equally long, for so long. */
export const CLAIM_MS_MAX = 24 * 3_600_000;

/** Throws a `RangeError` for a claim that could be forgotten before its time. */
export function assertClaimable(untilMs: number, nowMs: number): void {
  if (untilMs <= nowMs + CLAIM_MS_MAX) return;
  throw new RangeError(`A key can be claimed for ${CLAIM_MS_MAX} ms, not ${untilMs - nowMs}`);
}
