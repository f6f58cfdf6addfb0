/**
 * People by name, for what says who acted: incidents have resource names alone. A recorded step of
 * theirs says what they are called.
 */
import { read } from './call.ts';
import { useLoaded } from './loaded.ts';

/** More of them are not asked for at once. */
const PEOPLE_MAX = 20;

/**
 * Names of people who acted in a project, by resource name. Whoever is not in it has no name, or it
 * is not loaded.
 * @param events only people who did one of these; empty: whatever they did
 */
export function usePeopleNames(
  projectName: string,
  people: readonly string[],
  events: string[] = ['acknowledged'],
): ReadonlyMap<string, string> {
  const asked = [...new Set(people)].toSorted().slice(0, PEOPLE_MAX);
  const loader = useLoaded(`people ${projectName} ${asked.join()}`, async (options) => {
    const nameOf = async (by: string): Promise<readonly [string, string]> => {
      const request = { projectName, by, events, pageSize: 1 };
      const answer = await read('AuditService', 'listTransitions', request, options);
      const step = answer.transitions[0];
      return [by, step?.byDisplayName || step?.byUnprovenEmail || ''];
    };
    return new Map(await Promise.all(asked.map(nameOf)));
  });
  return loader.state.value.value ?? new Map<string, string>();
}
