/**
 * Access of the plain HTTP routes below `/v1/monitoring/projects/<project>/`: a bearer that may
 * read exactly this project. A key of another one is told so whether or not this one exists.
 */
import type { FastifyRequest } from 'fastify';
import type { Authenticator } from '../auth/authenticator.ts';
import { admitTo, enterProject, READ_POLICY } from '../auth/authorize.ts';
import type { CredentialPrincipal } from '../auth/principal.ts';
import type { AnonymousLimits } from './anonymous-limits.ts';
import { SEQUENCE_HEADER, type SequenceDeps } from './sequence.ts';

export interface ReaderAccess extends SequenceDeps {
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'again'>;
  readonly anonymousLimits: Pick<AnonymousLimits, 'authenticated'>;
}

/** Asks whether the reader may still read: throws a `Refusal` where it may not. */
export type AskAgain = () => void;

/**
 * Lets a request in to read the project, once this node has applied the position that it sends.
 * What is answered is to be asked for again when time has passed since: a body that comes slowly
 * must not outlive a revocation. Rejects with a `Refusal`.
 *
 * Reads of the request its address and its headers.
 */
export async function admitReader(
  access: ReaderAccess,
  project: string,
  { ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>,
): Promise<AskAgain> {
  const { authenticator, anonymousLimits } = access;
  const principal = await anonymousLimits.authenticated(ip, async () =>
    authenticator.authenticate(headers.authorization),
  );
  enter(principal, project);
  const again = (): void => enter(authenticator.again(principal), project);
  const wanted = headers[SEQUENCE_HEADER];
  if (typeof wanted === 'string') {
    await access.positions.waitFor(wanted);
    again();
  }
  return again;
}

function enter(principal: CredentialPrincipal, project: string): void {
  const name = 'This URL';
  admitTo(name, READ_POLICY, principal);
  enterProject(principal, READ_POLICY, { name, project });
}
