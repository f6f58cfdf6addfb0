/**
 * Rate limiter: a token bucket per key, in memory. A restart fills all buckets, which is little
 * compared with the duration of a restart.
 */
import { BoundedCache } from '../../streams/platform/bounded-cache.ts';
import type { Clock } from '../../streams/platform/clock.ts';

/** A token bucket: it starts full, and each call takes one token. */
export interface RateLimit {
  /** Calls allowed at once. */
  readonly burst: number;
  /** Time until one more call is allowed, ms. */
  readonly refillMs: number;
}

/** Level of a bucket at a moment of elapsed time, ms. */
interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** About 2 MB. Beyond it, the least recently used keys start with a full bucket. */
const BUCKETS_MAX = 10_000;

/**
 * Buckets by key, full for a new key. The least recently used keys are forgotten first, which fills
 * their buckets.
 */
export class RateLimiter {
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #limit: RateLimit;
  readonly #buckets = new BoundedCache<string, Bucket>(BUCKETS_MAX);

  constructor(clock: Pick<Clock, 'elapsed'>, limit: RateLimit) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Counts one call of the key. 0: allowed; otherwise the time until the next one is, ms. */
  takeFrom(key: string): number {
    const { burst, refillMs } = this.#limit;
    const nowMs = this.#clock.elapsed();
    const bucket = this.#buckets.get(key) ?? { tokens: burst, atMs: nowMs };
    const tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.atMs) / refillMs);
    const isAllowed = tokens >= 1;
    this.#buckets.set(key, { tokens: isAllowed ? tokens - 1 : tokens, atMs: nowMs });
    return isAllowed ? 0 : Math.max(1, (1 - tokens) * refillMs);
  }

  /** Reverts one count of the key, for a call that turned out to cost nothing. */
  refund(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return;
    const tokens = Math.min(this.#limit.burst, bucket.tokens + 1);
    this.#buckets.set(key, { ...bucket, tokens });
  }
}
