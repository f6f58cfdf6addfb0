/**
 * Whom `svc audit list --by` means. Steps name their actor by its resource name alone, which nobody
 * knows by heart: a person is found by the name that stands beside their steps, a service account
 * by its display name, for which its keys and CI trusts act.
 */
import { AuditService, type Transition } from '../gen/svc/audit/v1/audit_pb.ts';
import { AutomationService } from '../gen/svc/iam/v1/automation_pb.ts';
import type { Api } from './client/api.ts';
import { quoted } from './client/arguments.ts';
import { candidatesOf, meantBy, type NamedCollection, wordsFor } from './client/candidates.ts';
import { EXIT_DENIED, EXIT_NOT_FOUND, Fault, refusalOf, UsageError } from './client/faults.ts';
import { everyItem } from './client/paging.ts';
import { whoText } from './transition-table.ts';

const FULL_NAME = /^(people|projects|operator)\//;
const PAGE = 1_000;
/** Pages of steps that are looked at for a name. */
const PAGES_MAX = 20;

/**
 * The actors that are meant, as the service takes them. Throws `UsageError` for a name of several people,
 * `Fault` for one of nobody.
 */
export async function actorsCalled(api: Api, project: string, given: string): Promise<string[]> {
  if (FULL_NAME.test(given)) return [given];
  // As the list shows keys and trusts.
  if (given.includes('/')) return [`${project}/${given}`];
  // A part of the service, such as the evaluator.
  const asGiven = await api.call(AuditService.method.listTransitions, {
    projectName: project,
    by: given,
    pageSize: 1,
  });
  if (asGiven.transitions.length > 0) return [given];
  const account = await known(api, project, 'serviceAccounts', given);
  if (account !== undefined) return [account, ...(await credentialsOf(api, project, account))];
  const member = await known(api, project, 'members', given);
  const meant = (await personCalled(api, project, given)) ?? member;
  if (meant !== undefined) return [meant];
  throw new Fault(`Nobody called ${quoted(given)} is known here`, {
    exitCode: EXIT_NOT_FOUND,
    reason: 'NOT_FOUND',
    hint: '"svc members list" and "svc service-accounts list" show the names',
  });
}

/** Full name of the thing that is meant; undefined when none is, or the caller may not list them. */
async function known(api: Api, project: string, collection: NamedCollection, given: string) {
  try {
    const candidates = await candidatesOf(api, project, collection, given);
    return meantBy(given, candidates, wordsFor(collection))?.name;
  } catch (error) {
    if (refusalOf(error)?.exitCode === EXIT_DENIED) return undefined;
    throw error;
  }
}

/** Full names of the keys and CI trusts of a service account, ended ones included. */
async function credentialsOf(api: Api, projectName: string, account: string): Promise<string[]> {
  const { listKeys, listCiConnections } = AutomationService.method;
  const keys = await everyItem(
    (page) => api.call(listKeys, { parent: account, includeEnded: true, ...page }),
    (answer) => answer.keys,
  );
  const trusts = await everyItem(
    (page) => api.call(listCiConnections, { projectName, ...page }),
    (answer) => answer.connections,
  );
  const own = trusts.filter(({ serviceAccountName }) => serviceAccountName === account);
  return [...keys, ...own].map(({ name }) => name);
}

/** The person who is called so beside their newest steps: former members too. */
async function personCalled(api: Api, projectName: string, given: string) {
  const lower = given.toLowerCase();
  const isMeant = (step: Transition): boolean =>
    step.by.startsWith('people/') &&
    [step.by.slice('people/'.length), step.byDisplayName, step.byUnprovenEmail, whoText(step)].some(
      (name) => name.toLowerCase() === lower,
    );
  let pageToken = '';
  for (let page = 0; page < PAGES_MAX; page++) {
    const request = { projectName, pageSize: PAGE, pageToken };
    const answer = await api.call(AuditService.method.listTransitions, request);
    const [first, ...others] = new Set(answer.transitions.filter(isMeant).map(({ by }) => by));
    if (others.length > 0) {
      const what = `${quoted(given)} is the name of ${others.length + 1} people: give one of these`;
      throw new UsageError(what, [first, ...others].join('\n'));
    }
    if (first !== undefined) return first;
    pageToken = answer.nextPageToken;
    if (pageToken === '') return undefined;
  }
  return undefined;
}
