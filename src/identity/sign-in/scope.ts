/** What the routes of signing in are built on, and what their groups share. */

import type { FastifyRequest } from 'fastify';
import type { People } from '../../../actors/identity/people-port.ts';
import type { Allowance } from '../../../actors/platform/rate-limiter.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Random } from '../../../streams/platform/random.ts';
import type { Log } from '../../platform/log.ts';
import type { MailQueue } from '../../platform/mail/mail-queue.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { IdentityProvider } from './identity-provider.ts';
import type { LoginStates } from './login-state.ts';
import type { RotateCookie } from './session-cookie.ts';
import type { Visitors } from './visitor.ts';

export interface AuthRoutesDeps {
  readonly people: Omit<People, 'ensurePerson' | 'personByEmail' | 'setPersonDisabled'>;
  /** Origin for clients, asked while the server listens. */
  readonly origin: () => string;
  /** undefined: none is set. */
  readonly provider: IdentityProvider | undefined;
  readonly loginStates: LoginStates;
  /** undefined: no mail server is set. */
  readonly mail: MailQueue | undefined;
  readonly rotateCookie: RotateCookie;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** What the groups of routes share. */
export interface AuthScope extends AuthRoutesDeps {
  readonly visitors: Visitors;
  /** Counts a session that has begun. */
  readonly noteSignedIn: (by: 'provider' | 'link') => void;
  /** Counts what was not done, by its cause. */
  readonly noteRefused: (cause: string) => void;
  /** A hook for `onRequest` that answers 429 beyond an allowance. */
  readonly limited: (allowance: Allowance) => (request: FastifyRequest) => Promise<void>;
}
