/** Permissions as a person has chosen them, and what bounds them: refused when they go beyond. */
import { Refusal } from '../../../streams/refusal.ts';
import type { ProjectView } from '../../host-port.ts';
import { CAPABILITIES, grantsOf } from '../grants.ts';

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
 * The chosen permissions, each once, in the order in which the API lists them. Throws INVALID_FIELD
 * for none, for an unknown one, and for one that is not in `bound`.
 *
 * @param whose what `bound` is of, for the sentence: "the service account has"
 */
export function choosePermissions(
  chosen: readonly string[],
  bound: readonly string[],
  whose: string,
): string[] {
  const unknown = chosen.find((capability) => !CAPABILITIES.some((known) => known === capability));
  if (unknown !== undefined) {
    throw invalid(`"${unknown.slice(0, 100)}" is none: ${CAPABILITIES.join(', ')}`);
  }
  const beyond = chosen.find((capability) => !bound.includes(capability));
  if (beyond !== undefined) {
    throw invalid(`${beyond} is more than ${whose}: ${bound.join(', ') || 'nothing'}`);
  }
  if (chosen.length === 0) throw invalid('there is none: choose at least one');
  return CAPABILITIES.filter((capability) => chosen.includes(capability));
}

function invalid(message: string): Refusal {
  return new Refusal('INVALID_FIELD', `capabilities: ${message}`, { field: 'capabilities' });
}
