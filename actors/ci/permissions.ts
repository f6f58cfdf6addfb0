/** Permissions as a person has chosen them, and what bounds them: refused when they go beyond. */
import { Refusal } from '../../streams/platform/refusal.ts';
import { invalid, someCapabilities } from '../identity/checks.ts';
import { grantsOf } from '../identity/grants.ts';
import type { ProjectView } from '../platform/host/host-port.ts';

/** What an active service account is granted. Throws a `Refusal`: NOT_FOUND, INVALID_STATE. */
export function grantsOfActive(view: ProjectView, serviceAccount: string): readonly string[] {
  const owner = { project: view.project, machine: 'serviceAccount', id: serviceAccount } as const;
  const { state, capabilities } = grantsOf(view, owner);
  if (state === 'active') return capabilities;
  if (state === 'gone') {
    throw new Refusal('NOT_FOUND', `There is no service account ${serviceAccount} in the project`);
  }
  throw new Refusal(
    'INVALID_STATE',
    'The service account is disabled: enable it first, or choose another one',
  );
}

/**
 * The chosen permissions, each once. Throws INVALID_FIELD for none, for an unknown one, and for one
 * that is not in `bound`.
 *
 * @param whose what `bound` is, for the sentence: "the service account may do"
 */
export function choosePermissions(
  chosen: readonly string[],
  bound: readonly string[],
  whose: string,
): readonly string[] {
  const known = someCapabilities(chosen);
  const beyond = known.find((capability) => !bound.includes(capability));
  if (beyond === undefined) return known;
  const message = `capabilities has ${beyond}, more than ${whose}: ${bound.join(', ') || 'nothing'}`;
  throw invalid('capabilities', message);
}
