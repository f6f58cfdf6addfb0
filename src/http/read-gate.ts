/**
 * The question a plain HTTP route asks before it shows something that needs `monitoring.read`:
 * the answer as a status and a sentence, since these routes do not speak Connect's errors.
 */
import { Refusal } from '../../streams/refusal.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { admitTo, READ_POLICY } from '../auth/authorize.ts';
import { httpStatusOf } from '../errors.ts';

interface GateRefusal {
  readonly status: number;
  readonly message: string;
}

/** Undefined: may read. Takes the Authorization header as it came. */
export type ReadGate = (authorization: string | undefined) => Promise<GateRefusal | undefined>;

/** The gate over the keys of the service: any project's key that may read. */
export function createReadGate(authenticator: Authenticator): ReadGate {
  return async (authorization) => {
    try {
      const principal = await authenticator.authenticate(authorization);
      admitTo('This page', READ_POLICY, principal);
      return undefined;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { status: httpStatusOf(error.reason), message: error.message };
    }
  };
}
