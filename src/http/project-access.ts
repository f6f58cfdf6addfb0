/**
 * Access of the plain HTTP routes below `/v1/monitoring/projects/<project>/`: a bearer that may
 * read exactly this project. A key of another one is told so whether or not this one exists.
 */
import { Refusal } from '../../streams/refusal.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { admitTo, enterProject, READ_POLICY } from '../auth/authorize.ts';

/**
 * Takes the project, and names and values of the headers by turns, as they came. Rejects with a
 * `Refusal`.
 */
export async function admitReader(
  authenticator: Authenticator,
  project: string,
  rawHeaders: readonly string[],
): Promise<void> {
  const principal = await authenticator.authenticate(authorizationOf(rawHeaders));
  const name = 'This URL';
  admitTo(name, READ_POLICY, principal);
  enterProject(principal, READ_POLICY, { name, project });
}

/** Two headers may be two people's, and one of them a gateway's: neither is taken. */
function authorizationOf(rawHeaders: readonly string[]): string | undefined {
  const given = rawHeaders.filter((_, i) => {
    return i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === 'authorization';
  });
  if (given.length <= 1) return given[0];
  const message = 'The request has more than one Authorization header: send one';
  throw new Refusal('MALFORMED_CREDENTIAL', message);
}
