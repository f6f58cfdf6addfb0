/**
 * Resolves `svc audit list --by`. Steps name their actor only by resource name, which is hard to
 * remember. A person can be given by the name recorded with their steps, a service account by the
 * display name under which its keys and CI trusts act.
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
/** Maximum number of pages searched for a name. */
const PAGES_MAX = 20;

/**
 * Resource names of the actors. Throws `UsageError` for a name shared by several people, `Fault`
 * for an unknown name.
 */
export async function actorsCalled(api: Api, project: string, given: string): Promise<string[]> {
  if (FULL_NAME.test(given)) return [given];
  // In the format in which the list shows keys and trusts.
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
  throw new Fault(`No person or account named ${quoted(given)} was found`, {
    exitCode: EXIT_NOT_FOUND,
    reason: 'NOT_FOUND',
    hint: '"svc members list" and "svc service-accounts list" show the names',
  });
}

/**
 * Full name of the matching resource; undefined if absent, or if the caller may not list
 * them.
 */
async function known(api: Api, project: string, collection: NamedCollection, given: string) {
  try {
    const candidates = await candidatesOf(api, project, collection, given);
    return meantBy(given, candidates, wordsFor(collection))?.name;
  } catch (error) {
    if (refusalOf(error)?.exitCode === EXIT_DENIED) return undefined;
    throw error;
  }
}

/** Full names of the keys and CI trusts of a service account, including ended ones. */
async function credentialsOf(api: Api, projectName: string, account: string): Promise<string[]> {
  const { listKeys, listCiConnections } = AutomationService.method;
  const keys = await everyItem(api, listKeys, { parent: account, includeEnded: true }, 'keys');
  const trusts = await everyItem(api, listCiConnections, { projectName }, 'connections');
  const own = trusts.filter(({ serviceAccountName }) => serviceAccountName === account);
  return [...keys, ...own].map(({ name }) => name);
}

/** The person with this name in the newest steps, including former members. */
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
      const what = `${quoted(given)} is the name of ${others.length + 1} people. Specify one of these`;
      throw new UsageError(what, [first, ...others].join('\n'));
    }
    if (first !== undefined) return first;
    pageToken = answer.nextPageToken;
    if (pageToken === '') return undefined;
  }
  return undefined;
}
