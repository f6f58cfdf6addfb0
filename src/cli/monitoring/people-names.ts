/**
 * Names of people who acted, for incidents, which carry only resource names. The names come from
 * the recorded steps of these people.
 */
import { AuditService } from '../../gen/svc/audit/v1/audit_pb.ts';
import type { ActionContext } from '../client/action.ts';
import { Fault, refusalOf } from '../client/faults.ts';
import { whoText } from '../transition-table.ts';

/** Maximum number of people per request. */
const PEOPLE_MAX = 20;

/** Display names, keyed by resource name. People without a name here are missing. */
export type PeopleNames = ReadonlyMap<string, string>;

/** @param actors empty ones and those that are not people are skipped */
export async function peopleNames(
  context: ActionContext,
  projectName: string,
  actors: readonly string[],
): Promise<PeopleNames> {
  const people = [...new Set(actors)].filter((name) => name.startsWith('people/'));
  const requested = people.slice(0, PEOPLE_MAX);
  if (requested.length === 0) return new Map();
  try {
    const api = context.api('person');
    const nameOf = async (by: string): Promise<readonly [string, string]> => {
      const request = { projectName, by, pageSize: 1 };
      const { transitions } = await api.call(AuditService.method.listTransitions, request);
      return [by, transitions[0] ? whoText(transitions[0]) : by];
    };
    return new Map(await Promise.all(requested.map(nameOf)));
  } catch (error) {
    // A key may not read names of people. The result is still useful with ids.
    if (refusalOf(error) || error instanceof Fault) return new Map();
    throw error;
  }
}
