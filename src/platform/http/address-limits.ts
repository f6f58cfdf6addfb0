/**
 * A token bucket for each client address. It slows down callers who guess; it does not protect a
 * secret, which has 256 random bits. IPv6 is counted by /64, because the holder of one address there
 * holds all of them.
 */
import ipaddr from 'ipaddr.js';
import { RateLimiter } from '../../../actors/platform/rate-limiter.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';

export class AddressLimits extends RateLimiter {
  /** Counts a request from an address. Throws TOO_MANY_REQUESTS with `retryAfterSeconds`. */
  assertAllowed(address: string): void {
    const waitMs = this.takeFrom(networkOf(address));
    if (waitMs > 0) throw tooManyRequests('Too many requests from your address', waitMs);
  }
}

/** The refusal, with when to try again. */
export function tooManyRequests(sentence: string, waitMs: number): Refusal {
  const seconds = Math.ceil(waitMs / 1000);
  return new Refusal('TOO_MANY_REQUESTS', `${sentence}: try again in ${seconds} s`, {
    retryAfterSeconds: String(seconds),
  });
}

/** What is counted as one address: an IPv4 address, an IPv6 network of 64 bits. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return Buffer.from(parsed.toByteArray().slice(0, 8)).toString('hex');
}
