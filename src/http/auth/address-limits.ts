/**
 * How often one address may ask: a token bucket each. It slows down those who try; it is no
 * protection of a secret, which has 256 random bits. IPv6 counts by network of 64 bits, because
 * whoever has one address there has all of them.
 */
import ipaddr from 'ipaddr.js';
import type { Clock } from '../../../streams/clock.ts';
import { Refusal } from '../../../streams/refusal.ts';

export interface Allowance {
  /** Requests at once. */
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

export class AddressLimits {
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #allowance: Allowance;
  /** In the order of their last request. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Pick<Clock, 'elapsed'>, allowance: Allowance) {
    this.#clock = clock;
    this.#allowance = allowance;
  }

  /** Counts a request from an address. Throws TOO_MANY_REQUESTS with `retryAfterSeconds`. */
  assertAllowed(address: string): void {
    const waitMs = this.takeFrom(networkOf(address));
    if (waitMs === 0) return;
    const seconds = Math.ceil(waitMs / 1000);
    throw new Refusal(
      'TOO_MANY_REQUESTS',
      `Too many requests from your address: try again in ${seconds} s`,
      { retryAfterSeconds: String(seconds) },
    );
  }

  /** Counts a request under any key. 0: allowed; else ms until it will be. */
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
}

function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return Buffer.from(parsed.toByteArray().slice(0, 8)).toString('hex');
}
