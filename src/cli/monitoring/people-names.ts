/**
 * People by name, for what says who acted: incidents have resource names alone. A recorded step of
 * theirs says what they are called.
 */
import { AuditService } from '../../gen/svc/audit/v1/audit_pb.ts';
import type { ActionContext } from '../client/action.ts';
import { Fault, refusalOf } from '../client/faults.ts';
import { whoText } from '../transition-table.ts';

/** More of them are not asked for at once. */
const PEOPLE_MAX = 20;

/** What people are called, by resource name. Whoever is not in it has no name here. */
export type PeopleNames = ReadonlyMap<string, string>;

/** @param actors those who are not people, and empty ones, are not looked up */
export async function peopleNames(
  context: ActionContext,
  projectName: string,
  actors: readonly string[],
): Promise<PeopleNames> {
  const people = [...new Set(actors)].filter((name) => name.startsWith('people/'));
  const asked = people.slice(0, PEOPLE_MAX);
  if (asked.length === 0) return new Map();
  try {
    const api = context.api('person');
    const nameOf = async (by: string): Promise<readonly [string, string]> => {
      const request = { projectName, by, pageSize: 1 };
      const { transitions } = await api.call(AuditService.method.listTransitions, request);
      return [by, transitions[0] ? whoText(transitions[0]) : by];
    };
    return new Map(await Promise.all(asked.map(nameOf)));
  } catch (error) {
    // A key is shown no names of people. What was asked for is there all the same, with ids.
    if (refusalOf(error) || error instanceof Fault) return new Map();
    throw error;
  }
}
