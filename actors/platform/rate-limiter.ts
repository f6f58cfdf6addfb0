/**
 * How often something may be done under a key: a token bucket each, in memory. A restart fills them
 * all, which is little against how long that takes.
 */
import type { Clock } from '../../streams/platform/clock.ts';

export interface Allowance {
  /** Times at once. */
  readonly burst: number;
  /** Time until one more is allowed, ms. */
  readonly refillMs: number;
}

/** The fullness of a bucket at some moment of elapsed time, ms. */
interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** Some 2 MB. When more come at once, those that asked longest ago begin anew. */
const BUCKETS_MAX = 10_000;

export class Allowances {
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #allowance: Allowance;
  /** In the order of their last request. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Pick<Clock, 'elapsed'>, allowance: Allowance) {
    this.#clock = clock;
    this.#allowance = allowance;
  }

  /** Counts one more under the key. 0: allowed; else ms until it will be. */
  takeFrom(key: string): number {
    const { burst, refillMs } = this.#allowance;
    const nowMs = this.#clock.elapsed();
    const bucket = this.#buckets.get(key) ?? { tokens: burst, atMs: nowMs };
    const tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.atMs) / refillMs);
    const isAllowed = tokens >= 1;
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: isAllowed ? tokens - 1 : tokens, atMs: nowMs });
    if (this.#buckets.size > BUCKETS_MAX) {
      const [longestAgo] = this.#buckets.keys();
      if (longestAgo !== undefined) this.#buckets.delete(longestAgo);
    }
    return isAllowed ? 0 : Math.max(1, (1 - tokens) * refillMs);
  }

  /** Undoes one count under the key: what it was for turned out to cost nothing. */
  giveBackTo(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return;
    const tokens = Math.min(this.#allowance.burst, bucket.tokens + 1);
    this.#buckets.set(key, { ...bucket, tokens });
  }
}
