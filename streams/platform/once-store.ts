/**
 * Port of a store in which each key can be taken once, by the first caller on any node. It is off
 * the commit path, because a stranger's attempts must not become commits. Two adapters pass one
 * suite: `sqlite/platform/once-store.ts` on a table, `streams/platform/jetstream/once-store.ts` on
 * NATS.
 */

export interface OnceStore {
  /**
   * true: this call took the key, and that is on disk. false: the key was already taken, or a
   * concurrent call took it. The key stays taken until `untilMs` (Unix ms, at most `ONCE_MS_MAX`
   * from now) and is forgotten some time after. Rejects if the outcome is unknown: the key may then
   * be taken, and a second attempt may be refused.
   */
  takeOnce(key: string, untilMs: number): Promise<boolean>;
}

/** Longest time for which a key can be taken, ms. NATS keeps every key for this long. */
export const ONCE_MS_MAX = 24 * 3_600_000;

/** Throws a `RangeError` for a key that could be forgotten before `untilMs`. */
export function assertWithinOnceMax(untilMs: number, nowMs: number): void {
  if (untilMs <= nowMs + ONCE_MS_MAX) return;
  throw new RangeError(`A key can be taken for ${ONCE_MS_MAX} ms, not ${untilMs - nowMs}`);
}
