/** Methods of `AutomationService` for service accounts and their permission templates. */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { Accounts, ChangedAccount } from '../../../actors/identity/accounts.ts';
import { ownerName, PERMISSION_TEMPLATES } from '../../../actors/identity/grants.ts';
import type { Committed, Host, Instance } from '../../../actors/platform/host/host-port.ts';
import {
  type AutomationService,
  CreateServiceAccountRequestSchema,
  DeleteServiceAccountRequestSchema,
  DisableServiceAccountRequestSchema,
  EnableServiceAccountRequestSchema,
  ServiceAccount_State,
  UpdateServiceAccountRequestSchema,
} from '../../gen/svc/iam/v1/automation_pb.ts';
import { actorOf, requestKeyOf, within } from '../../platform/api/caller.ts';
import { personDisplayName } from '../../platform/api/display-names.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { findRow, listRows } from '../../platform/api/paging.ts';
import { nameOf, parseName, parseProjectName } from '../../platform/api/resource-name.ts';

export interface AccountsDeps {
  readonly host: Pick<Host, 'view'>;
  readonly accounts: Accounts;
}

type AccountMethods =
  | 'listPermissionTemplates'
  | 'createServiceAccount'
  | 'listServiceAccounts'
  | 'getServiceAccount'
  | 'updateServiceAccount'
  | 'disableServiceAccount'
  | 'enableServiceAccount'
  | 'deleteServiceAccount';

export function accountMethods(
  deps: AccountsDeps,
): Pick<ServiceImpl<typeof AutomationService>, AccountMethods> {
  return {
    listPermissionTemplates: ({ projectName }, context) => listTemplates(context, projectName),
    ...readMethods(deps),
    ...editMethods(deps),
    ...endMethods(deps),
  };
}

function listTemplates(context: HandlerContext, projectName: string) {
  within(context, parseProjectName('projectName', projectName));
  const templates = PERMISSION_TEMPLATES.map(({ id, capabilities, ...displayed }) => ({
    template: id,
    ...displayed,
    capabilities: [...capabilities],
  }));
  return { templates };
}

type Methods<Names extends AccountMethods> = Pick<ServiceImpl<typeof AutomationService>, Names>;

function readMethods({ host }: AccountsDeps): Methods<'listServiceAccounts' | 'getServiceAccount'> {
  return {
    async listServiceAccounts(request, context) {
      const page = await listRows(host, context, 'serviceAccount', request);
      const serviceAccounts = page.items.map((row) => accountMessage(host, row));
      return { serviceAccounts, nextPageToken: page.nextPageToken };
    },
    getServiceAccount({ name }, context) {
      const about = { machine: 'serviceAccount', name, collection: 'serviceAccounts' } as const;
      return accountMessage(host, findRow(host, context, about));
    },
  };
}

function editMethods({
  host,
  accounts,
}: AccountsDeps): Methods<'createServiceAccount' | 'updateServiceAccount'> {
  return {
    async createServiceAccount(request, context) {
      const project = within(context, parseProjectName('projectName', request.projectName));
      const { displayName, template, capabilities } = request;
      const by = actorOf(context);
      const key = requestKeyOf(context, CreateServiceAccountRequestSchema, request);
      const about = { project, by, request: key, displayName, template, capabilities };
      return changedMessage(host, project, await accounts.create(about));
    },
    async updateServiceAccount(request, context) {
      const at = accountOf(context, request.name);
      const { displayName } = request;
      const key = requestKeyOf(context, UpdateServiceAccountRequestSchema, request);
      const capabilities = request.capabilities?.values;
      const about = { ...at, request: key, displayName, capabilities };
      return changedMessage(host, at.project, await accounts.update(about));
    },
  };
}

function endMethods({
  host,
  accounts,
}: AccountsDeps): Methods<
  'disableServiceAccount' | 'enableServiceAccount' | 'deleteServiceAccount'
> {
  return {
    async disableServiceAccount(request, context) {
      const at = accountOf(context, request.name);
      const key = requestKeyOf(context, DisableServiceAccountRequestSchema, request);
      const about = { ...at, request: key, reason: request.reason };
      return changedMessage(host, at.project, await accounts.disable(about));
    },
    async enableServiceAccount(request, context) {
      const at = accountOf(context, request.name);
      const key = requestKeyOf(context, EnableServiceAccountRequestSchema, request);
      return changedMessage(host, at.project, await accounts.enable({ ...at, request: key }));
    },
    async deleteServiceAccount(request, context) {
      const at = accountOf(context, request.name);
      const key = requestKeyOf(context, DeleteServiceAccountRequestSchema, request);
      await accounts.delete({ ...at, request: key });
      return {};
    },
  };
}

/** The account to change, and the actor who changes it. */
function accountOf(context: HandlerContext, name: string) {
  const { project, id } = parseName('name', name, 'serviceAccounts');
  return { project: within(context, project), account: id, by: actorOf(context) };
}

function changedMessage(
  host: AccountsDeps['host'],
  project: string,
  { answer }: Committed<ChangedAccount>,
) {
  return accountMessage(host, committedRow(host, project, answer.account));
}

/** The row after a commit. For a resent request, it may be a deleted one. */
function committedRow(
  host: AccountsDeps['host'],
  project: string,
  id: string,
): Instance<'serviceAccount'> {
  const row = host.view(project).instance('serviceAccount', id);
  if (row) return row;
  throw new Error(`The service account ${id} was committed but has no row`);
}

const STATES: Readonly<Record<string, ServiceAccount_State>> = {
  active: ServiceAccount_State.ACTIVE,
  disabled: ServiceAccount_State.DISABLED,
  deleted: ServiceAccount_State.DELETED,
};

function accountMessage(
  host: AccountsDeps['host'],
  { instance, project, value, context }: Instance<'serviceAccount'>,
) {
  const about = context;
  const view = host.view(project);
  const owner = ownerName({ project, machine: 'serviceAccount', id: instance });
  return {
    name: nameOf(project, 'serviceAccounts', instance),
    displayName: about.displayName,
    state: STATES[String(value)] ?? ServiceAccount_State.STATE_UNSPECIFIED,
    capabilities: [...about.capabilities],
    template: about.template ?? '',
    createdUnix: unixSeconds(about.createdMs),
    updatedUnix: unixSeconds(about.updatedMs),
    createdBy: about.createdBy,
    createdByDisplayName: personDisplayName(host, about.createdBy),
    activeKeys: view.countInstances('credential', { final: false, owner }),
    activeConnections: enabledConnections(view, instance),
    disabledReason: about.disabledReason ?? '',
  };
}

/** Maximum connections of one account that are counted. Accounts have a handful. */
const CONNECTIONS_COUNTED_MAX = 1_000;

function enabledConnections(view: ReturnType<Host['view']>, account: string): number {
  const options = { owner: account, final: false, limit: CONNECTIONS_COUNTED_MAX };
  const { items } = view.instances('ciConnection', options);
  return items.filter(({ value }) => value === 'enabled').length;
}
