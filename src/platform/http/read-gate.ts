/** Check of the plain HTTP routes that need `monitoring.read`. */
import type { FastifyRequest } from 'fastify';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { type Authenticator, checkAccess } from '../access/authenticator.ts';
import { admitTo, READ_POLICY } from '../access/authorize.ts';
import type { CredentialPrincipal } from '../access/principal.ts';
import { gateCallerOf, type Pass } from '../gate/project-gate.ts';
import type { ReaderAccess } from './project-access.ts';

/**
 * Takes a slot of the reader's project; release it when the page is made. Rejects with a `Refusal`
 * if the caller may not read, and with the reason of `signal` if the client disconnects.
 */
export type ReadGate = (request: Asker, signal: AbortSignal) => Promise<Pass>;

/**
 * Whether the caller may read, without taking a slot: health is requested most when slots are
 * scarce. Rejects only with faults of the service.
 */
export type ReaderCheck = (request: Asker) => Promise<boolean>;

type Asker = Pick<FastifyRequest, 'ip' | 'headers'>;

interface ReaderKeys extends Pick<ReaderAccess, 'anonymousLimits'> {
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'recordRefused'>;
}

/** The gate over the keys of the service: any project's key that may read. */
export function createReadGate(
  deps: ReaderKeys & { readonly gate: ReaderAccess['gate'] },
): ReadGate {
  return async (request, signal) => {
    const principal = await readerOf(deps, request);
    return deps.gate.enter(gateCallerOf(principal), 'call', signal);
  };
}

/** The check over the same keys. */
export function createReaderCheck(keys: ReaderKeys): ReaderCheck {
  return async (request) => {
    try {
      await readerOf(keys, request);
      return true;
    } catch (error) {
      if (error instanceof Refusal) return false;
      throw error;
    }
  };
}

/** The caller, who may read. Rejects with a `Refusal`. */
async function readerOf(
  { authenticator, anonymousLimits }: ReaderKeys,
  { ip, headers }: Asker,
): Promise<CredentialPrincipal> {
  const principal = await anonymousLimits.authenticated(ip, () =>
    authenticator.authenticate(headers.authorization, ip),
  );
  checkAccess(authenticator, principal, () => admitTo('This page', READ_POLICY, principal));
  return principal;
}
