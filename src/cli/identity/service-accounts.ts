/** `svc service-accounts`: identities of automation, which stay when their creator leaves. */
import {
  AutomationService,
  type PermissionTemplate,
  type ServiceAccount,
  ServiceAccount_State,
  ServiceAccountSchema,
} from '../../gen/svc/iam/v1/automation_pb.ts';
import { type Action, type ActionContext, family, projectOption } from '../client/action.ts';
import { UsageError } from '../client/faults.ts';
import { changeOptions, ofProject, type ResourceKind, reads, showing } from '../client/frames.ts';
import { listing, long, minor, moment, sentences, stateCell } from '../client/listing.ts';
import { firstNamed, projectName, requestId } from '../client/names.ts';
import { facts, printMessage } from '../client/output.ts';
import { createdText, enumText, localTime, shortName } from '../client/texts.ts';
import type { Screen } from '../command.ts';
import { capabilityOption, nameOption, switchedActions } from './options.ts';

const { method } = AutomationService;
const accountKind: ResourceKind<ServiceAccount> = {
  positionals: [{ name: 'ACCOUNT' }],
  nameOf: firstNamed('serviceAccounts'),
  show: printAccount,
};

function printAccount(context: ActionContext, account: ServiceAccount): number {
  return printMessage(context, ServiceAccountSchema, account, () => accountFacts(account));
}

function accountFacts(account: ServiceAccount): string {
  return facts([
    ['account', account.name],
    ['name', account.displayName],
    ['state', enumText(ServiceAccount_State, account.state)],
    ['disabled', account.disabledReason],
    ['permissions', account.capabilities.join(' ') || 'nothing'],
    ['template', account.template],
    ['keys', String(account.activeKeys)],
    ['CI trusts', String(account.activeConnections)],
    ['created', createdText(account)],
    ['updated', localTime(account.updatedUnix)],
  ]);
}

const listAction: Action = {
  name: 'list',
  summary: 'List service accounts',
  options: [projectOption],
  run: reads({
    caller: 'person',
    method: method.listServiceAccounts,
    every: 'serviceAccounts',
    request: ofProject,
    text: ({ serviceAccounts }, { screen }) => accountTable(serviceAccounts, screen),
  }),
};

function accountTable(accounts: readonly ServiceAccount[], screen: Screen | undefined): string {
  return listing(
    screen,
    [
      long('name'),
      'state',
      long('permissions'),
      minor('keys'),
      minor('CI trusts'),
      'created',
      minor('account'),
    ],
    accounts.map((account) => [
      account.displayName,
      stateCell(enumText(ServiceAccount_State, account.state)),
      account.capabilities.join(' ') || 'nothing',
      String(account.activeKeys),
      String(account.activeConnections),
      moment(account.createdUnix),
      shortName(account.name),
    ]),
    'No service accounts in this project',
  );
}

const templatesAction: Action = {
  name: 'templates',
  summary: 'List the templates for service accounts',
  options: [projectOption],
  run: reads({
    caller: 'any',
    method: method.listPermissionTemplates,
    request: ofProject,
    text: ({ templates }, { screen }) => templateTable(templates, screen),
  }),
};

function templateTable(
  templates: readonly PermissionTemplate[],
  screen: Screen | undefined,
): string {
  return listing(
    screen,
    ['template', 'name', long('permissions'), sentences('purpose')],
    templates.map(({ template, displayName, capabilities, description }) => [
      template,
      displayName,
      capabilities.join(' '),
      description,
    ]),
    'No templates',
  );
}

const createAction: Action = {
  name: 'create',
  summary: 'Create a service account',
  ...changeOptions(
    nameOption,
    { name: 'template', takes: 'TEMPLATE', help: 'Use the permissions of a template' },
    { ...capabilityOption, help: 'Or use these: monitoring.read, monitoring.write' },
  ),
  async run(context) {
    const { input } = context;
    if (input.isOn('template') === input.isOn('capability')) {
      throw new UsageError(
        'Use either --template or --capability',
        '"svc service-accounts templates" lists the templates',
      );
    }
    const api = context.api('person');
    const account = await api.call(method.createServiceAccount, {
      projectName: await projectName(context, api),
      requestId: requestId(context),
      displayName: input.required('name'),
      template: input.text('template') ?? '',
      capabilities: [...input.list('capability')],
    });
    return printAccount(context, account);
  },
};

const showAction = showing(accountKind, method.getServiceAccount, 'Show one service account');

const stateActions = switchedActions(accountKind, {
  update: method.updateServiceAccount,
  disable: method.disableServiceAccount,
  enable: method.enableServiceAccount,
  remove: method.deleteServiceAccount,
  summaries: {
    update: 'Change the name or permissions of an account',
    disable: 'Reject all keys and tokens of an account at once',
    enable: 'Make the keys of an account work again',
    remove: 'Permanently delete an account with its keys and CI trusts',
  },
  notes: 'A removed permission takes effect with the next request of each key and token.',
});

export const serviceAccountsCommand = family('service-accounts', 'Identities of automation', [
  listAction,
  templatesAction,
  createAction,
  showAction,
  ...stateActions,
]);
