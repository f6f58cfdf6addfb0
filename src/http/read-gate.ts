/**
 * The question a plain HTTP route asks before it shows something that needs `monitoring.read`:
 * the answer as a status and a sentence, since these routes do not speak Connect's errors.
 */
import type { FastifyRequest } from 'fastify';
import { Refusal } from '../../streams/refusal.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { admitTo, READ_POLICY } from '../auth/authorize.ts';
import { httpStatusOf } from '../errors.ts';
import { gateCallerOf, type Pass } from '../gate/project-gate.ts';
import type { ReaderAccess } from './project-access.ts';

interface GateRefusal {
  readonly status: number;
  readonly message: string;
  /** Of a 429. */
  readonly retryAfterSeconds?: string;
}

/**
 * A place of the reader's project, to be released when the page is made. `signal`: the client has
 * gone; rejects with its reason then.
 */
export type ReadGate = (
  request: Pick<FastifyRequest, 'ip' | 'headers'>,
  signal: AbortSignal,
) => Promise<GateRefusal | Pass>;

/** The gate over the keys of the service: any project's key that may read. */
export function createReadGate({
  authenticator,
  anonymousLimits,
  gate,
}: Pick<ReaderAccess, 'anonymousLimits' | 'gate'> & {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
}): ReadGate {
  return async ({ ip, headers }, signal) => {
    try {
      const principal = await anonymousLimits.authenticated(ip, () =>
        authenticator.authenticate(headers.authorization),
      );
      admitTo('This page', READ_POLICY, principal);
      return await gate.enter(gateCallerOf(principal), 'call', signal);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { retryAfterSeconds } = error.metadata;
      const status = httpStatusOf(error.reason);
      return { status, message: error.message, ...(retryAfterSeconds && { retryAfterSeconds }) };
    }
  };
}
