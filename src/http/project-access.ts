/**
 * Access of the plain HTTP routes below `/v1/monitoring/projects/<project>/`: a bearer that may
 * read exactly this project. A key of another one is told so whether or not this one exists.
 */
import { Refusal } from '../../streams/refusal.ts';
import type { Authenticator } from '../auth/authenticator.ts';

/** Takes project and Authorization header as they came. Throws a `Refusal`. */
export function admitReader(
  authenticator: Authenticator,
  project: string,
  authorization: string | undefined,
): void {
  const principal = authenticator.authenticate(authorization);
  if (!principal.capabilities.includes('monitoring.read')) {
    const capability = 'monitoring.read';
    throw new Refusal('MISSING_CAPABILITY', `The key lacks the capability ${capability}`, {
      capability,
    });
  }
  if (principal.project === project) return;
  throw new Refusal('PROJECT_BOUNDARY', 'The credential belongs to another project');
}
