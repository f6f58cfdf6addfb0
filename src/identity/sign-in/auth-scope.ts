/** Dependencies that the groups of sign-in routes share. */
import type { FastifyRequest } from 'fastify';
import type { People } from '../../../actors/identity/people.ts';
import type { RateLimit } from '../../../actors/platform/rate-limiter.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Random } from '../../../streams/platform/random.ts';
import type { Origins } from '../../platform/http/service-address.ts';
import type { Log } from '../../platform/log.ts';
import type { MailQueue } from '../../platform/mail/mail-queue.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { AccountLinks } from './account-link.ts';
import type { IdentityProvider } from './identity-provider.ts';
import type { LoginStates } from './login-state.ts';
import type { RotateCookie } from './session-cookie.ts';
import type { Visitors } from './visitor.ts';

export interface AuthRoutesDeps extends Origins {
  readonly people: Omit<People, 'ensurePerson' | 'personByEmail' | 'setPersonDisabled'>;
  /** undefined if none is configured. */
  readonly provider: IdentityProvider | undefined;
  readonly loginStates: LoginStates;
  readonly accountLinks: AccountLinks;
  /** Maximum age of a recent sign-in, ms; 0 = any. */
  readonly recentMs: number;
  /** undefined if no mail server is configured. */
  readonly mail: MailQueue | undefined;
  readonly rotateCookie: RotateCookie;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Shared by the groups of routes. */
export interface AuthScope extends AuthRoutesDeps {
  readonly visitors: Visitors;
  /** Counts a new session. */
  readonly recordSignedIn: (by: 'provider' | 'link') => void;
  /** Counts a refusal by its cause. */
  readonly recordRefused: (cause: string) => void;
  /** Hook for `onRequest` that answers 429 beyond a rate. */
  readonly limited: (limit: RateLimit) => (request: FastifyRequest) => Promise<void>;
}
