/**
 * What those may cost whom nobody knows: callers of the methods that ask for no credential, and
 * callers whose credential is refused. Counted by address, so that one address cannot spend what is
 * another's; IPv6 by network of 64 bits.
 *
 * A call without a credential that succeeds costs nothing: a CI fleet behind one address exchanges
 * as often as it wants. Only what fails is spent, from the allowance of the address and from one of
 * all addresses together. Addresses with a success within the hour do not share the latter, so that
 * an attack from everywhere keeps strangers out and lets those go on who were here before.
 */
import { Allowances } from '../../../actors/platform/rate-limiter.ts';
import { BoundedCache } from '../../../streams/platform/bounded-cache.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { httpStatusOf } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import { AddressLimits, networkOf, tooManyRequests } from './address-limits.ts';

/** Failures of one address: a whole matrix of misconfigured jobs at once, then five a second. */
export const FAILURES_OF_ADDRESS = { burst: 300, refillMs: 200 } as const;
/** Failures of all unknown addresses together: 100 a second cost about a fiftieth of a core. */
export const FAILURES_OF_STRANGERS = { burst: 1_000, refillMs: 10 } as const;
/** Refused credentials of one address: a fleet of agents whose key was revoked, in each interval. */
export const REFUSED_CREDENTIALS = { burst: 300, refillMs: 200 } as const;
/** How long a success makes an address known, ms. */
const KNOWN_MS = 3_600_000;
/** Some 1 MB; when more come, those that succeeded longest ago are strangers again. */
const KNOWN_MAX = 10_000;

export interface AnonymousLimits {
  /**
   * Lets a call in that shows no credential, before its body is read. The call to make when it has
   * succeeded is returned. Throws TOO_MANY_REQUESTS.
   */
  admit(address: string): () => void;
  /**
   * What `authenticate` gives. Rejects with what it rejects with; with TOO_MANY_REQUESTS in place of
   * a refused credential when the address has shown too many. A good one is never kept out.
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
  const ofStrangers = new Allowances(clock, FAILURES_OF_STRANGERS);
  const refusedCredentials = new AddressLimits(clock, REFUSED_CREDENTIALS);
  const knownUntilMs = new BoundedCache<string, number>(KNOWN_MAX);
  const limited = metrics.counter(
    'svc_anonymous_limited_total',
    'Requests answered 429 because callers without a valid credential sent too many',
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
        ofAddress.giveBackTo(network);
        if (isStranger) ofStrangers.giveBackTo('');
        // Anew, so that the oldest entry is the one whose last success is longest ago.
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
