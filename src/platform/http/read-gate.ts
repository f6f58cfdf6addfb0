/** The check of a plain HTTP route that shows something for which `monitoring.read` is needed. */
import type { FastifyRequest } from 'fastify';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { Authenticator } from '../access/authenticator.ts';
import { admitTo, READ_POLICY } from '../access/authorize.ts';
import type { CredentialPrincipal } from '../access/principal.ts';
import { gateCallerOf, type Pass } from '../gate/project-gate.ts';
import type { ReaderAccess } from './project-access.ts';

/**
 * A place of the reader's project, to be released when the page is made. `signal`: the client has
 * gone; rejects with its reason then, and with a `Refusal` of who may not read.
 */
export type ReadGate = (request: Asker, signal: AbortSignal) => Promise<Pass>;

/**
 * Whether the caller may read, without taking a place: health is asked most when places are short.
 * Rejects with faults of the service alone.
 */
export type ReaderCheck = (request: Asker) => Promise<boolean>;

type Asker = Pick<FastifyRequest, 'ip' | 'headers'>;

interface ReaderKeys extends Pick<ReaderAccess, 'anonymousLimits'> {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
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
    authenticator.authenticate(headers.authorization),
  );
  admitTo('This page', READ_POLICY, principal);
  return principal;
}
