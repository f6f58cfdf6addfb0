/**
 * Limits on anonymous load: calls without a credential, and calls whose credential is refused. Both
 * are counted by address (IPv6 by /64), so that one address cannot use up the limit of another.
 *
 * Only failures count: a CI fleet behind one address may exchange as often as it wants. A failure
 * counts against the limit of its address and against one that all unknown addresses share. An
 * address with a success in the last hour is known and exempt from the shared limit, so an attack
 * from many addresses delays strangers but not existing clients.
 */
import ipaddr from 'ipaddr.js';
import { RateLimiter } from '../../../actors/platform/rate-limiter.ts';
import { BoundedCache } from '../../../streams/platform/bounded-cache.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { httpStatusOf } from '../errors.ts';
import type { Metrics } from '../metrics.ts';

/** Failures of one address: a whole matrix of misconfigured jobs at once, then five per second. */
export const FAILURES_OF_ADDRESS = { burst: 300, refillMs: 200 } as const;
/** Failures of all unknown addresses together: 100 per second cost about a fiftieth of a core. */
export const FAILURES_OF_STRANGERS = { burst: 1_000, refillMs: 10 } as const;
/** Refused credentials of one address: a fleet of agents whose key was revoked, in each interval. */
export const REFUSED_CREDENTIALS = { burst: 300, refillMs: 200 } as const;
/** How long a success makes an address known, ms. */
const KNOWN_MS = 3_600_000;
/** About 1 MB. When it is full, the addresses with the oldest successes become strangers again. */
const KNOWN_MAX = 10_000;

export interface AnonymousLimits {
  /**
   * Admits a call without a credential, before its body is read. Returns a function to call on
   * success. Throws TOO_MANY_REQUESTS.
   */
  admit(address: string): () => void;
  /**
   * The result of `authenticate`. If the address has sent too many refused credentials, a refused
   * one rejects with TOO_MANY_REQUESTS; a valid one is always accepted.
   */
  authenticated<T>(address: string, authenticate: () => Promise<T>): Promise<T>;
}

export function createAnonymousLimits({
  clock,
  metrics,
}: {
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'counter'>;
}): AnonymousLimits {
  const ofAddress = new AddressLimits(clock, FAILURES_OF_ADDRESS);
  const ofStrangers = new RateLimiter(clock, FAILURES_OF_STRANGERS);
  const refusedCredentials = new AddressLimits(clock, REFUSED_CREDENTIALS);
  const knownUntilMs = new BoundedCache<string, number>(KNOWN_MAX);
  const limited = metrics.counter(
    'svc_anonymous_limited_total',
    'Requests refused with 429 because of too many requests without a valid credential',
    ['limit'],
  );
  const isKnown = (network: string) => (knownUntilMs.get(network) ?? 0) > clock.elapsed();

  return {
    admit(address) {
      const network = networkOf(address);
      try {
        ofAddress.assertAllowed(address);
      } catch (error) {
        limited.inc({ limit: 'address' });
        throw error;
      }
      const isStranger = !isKnown(network);
      const waitMs = isStranger ? ofStrangers.takeFrom('') : 0;
      if (waitMs > 0) {
        limited.inc({ limit: 'strangers' });
        throw tooManyRequests('Too many requests without a credential', waitMs);
      }
      return () => {
        ofAddress.refund(network);
        if (isStranger) ofStrangers.refund('');
        // Deleted first, so that the oldest entry is the one with the oldest success.
        knownUntilMs.delete(network);
        knownUntilMs.set(network, clock.elapsed() + KNOWN_MS);
      };
    },
    async authenticated(address, authenticate) {
      try {
        return await authenticate();
      } catch (error) {
        if (!(error instanceof Refusal) || httpStatusOf(error.reason) !== 401) throw error;
        const waitMs = refusedCredentials.takeFrom(networkOf(address));
        if (waitMs === 0) throw error;
        limited.inc({ limit: 'credentials' });
        throw tooManyRequests('Too many refused credentials from your address', waitMs);
      }
    },
  };
}

export class AddressLimits extends RateLimiter {
  /** Counts a request from an address. Throws TOO_MANY_REQUESTS with `retryAfterSeconds`. */
  assertAllowed(address: string): void {
    const waitMs = this.takeFrom(networkOf(address));
    if (waitMs > 0) throw tooManyRequests('Too many requests from your address', waitMs);
  }
}

/** The refusal, with the time to retry. */
function tooManyRequests(sentence: string, waitMs: number): Refusal {
  const seconds = Math.ceil(waitMs / 1000);
  return new Refusal('TOO_MANY_REQUESTS', `${sentence}: try again in ${seconds} s`, {
    retryAfterSeconds: String(seconds),
  });
}

/** The unit that counts as one address: an IPv4 address, an IPv6 network of 64 bits. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return Buffer.from(parsed.toByteArray().slice(0, 8)).toString('hex');
}
