/**
 * Names of people who acted, for incidents, which carry only resource names. The names come from
 * the recorded steps of these people.
 */
import { read } from './call.ts';
import { useLoaded } from './loaded.ts';

/** Maximum number of people per request. */
const PEOPLE_MAX = 20;

/**
 * Names of people who acted in a project, by resource name. People without a name, or not loaded
 * yet, are missing.
 * @param events only people who caused one of these events; empty for any event
 */
export function usePeopleNames(
  projectName: string,
  people: readonly string[],
  events: string[] = ['acknowledged'],
): ReadonlyMap<string, string> {
  const requested = [...new Set(people)].toSorted().slice(0, PEOPLE_MAX);
  const loader = useLoaded(`people ${projectName} ${requested.join()}`, async (options) => {
    const nameOf = async (by: string): Promise<readonly [string, string]> => {
      const request = { projectName, by, events, pageSize: 1 };
      const answer = await read('AuditService', 'listTransitions', request, options);
      const step = answer.transitions[0];
      return [by, step?.byDisplayName || step?.byUnprovenEmail || ''];
    };
    return new Map(await Promise.all(requested.map(nameOf)));
  });
  return loader.state.value.value ?? new Map<string, string>();
}
