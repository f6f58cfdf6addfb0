/**
 * `svc keys`: personal keys, and those of service accounts. A secret is printed once, alone on
 * standard output; what else there is to say goes to standard error.
 */
import {
  AutomationService,
  CreateKeyResponseSchema,
  type Key,
  Key_ExpiryWarning,
  Key_State,
  KeySchema,
  ListKeysResponseSchema,
  RotateKeyResponseSchema,
} from '../../gen/svc/iam/v1/automation_pb.ts';
import { ProjectService } from '../../gen/svc/project/v1/project_pb.ts';
import { type Action, type ActionContext, family, projectOption } from '../client/action.ts';
import type { Api } from '../client/api.ts';
import { UsageError } from '../client/faults.ts';
import { projectName, requestId, resourceName } from '../client/names.ts';
import { printSecret, reportRequest } from '../client/once.ts';
import {
  enumText,
  facts,
  json,
  localTime,
  messageJson,
  printMessage,
  shortName,
  table,
} from '../client/output.ts';
import { everyItem } from '../client/paging.ts';
import {
  capabilitiesOf,
  capabilityOption,
  change,
  changeOptions,
  memberOption,
  nameOption,
  reasonOption,
  serviceAccountOption,
} from './options.ts';

const OVERLAP_SECONDS_DEFAULT = 3_600;
const { method } = AutomationService;

/** Whose keys: the service account's, the member's, or the person's own in the project. */
async function ownerOf(context: ActionContext, api: Api): Promise<string> {
  const given = context.input.text('service-account');
  const member = context.input.text('member');
  if (given !== undefined && member !== undefined) {
    throw new UsageError('--service-account or --member: a key has one owner');
  }
  if (given !== undefined) {
    return resourceName(context, api, { collection: 'serviceAccounts', given });
  }
  if (member !== undefined) {
    return resourceName(context, api, { collection: 'members', given: member });
  }
  const name = await projectName(context, api);
  const { memberName } = await api.call(ProjectService.method.getProject, { name });
  return memberName;
}

const FULL_NAME = /^projects\/[^/]+\/(serviceAccounts|members)\/[^/]+\/keys\/[^/]+$/;

/** The key meant: its full name, or its id among those of the owner. */
async function keyName(context: ActionContext, api: Api): Promise<string> {
  const given = context.input.positional(0);
  if (FULL_NAME.test(given)) return given;
  if (/^[0-9A-Za-z]{1,64}$/.test(given)) return `${await ownerOf(context, api)}/keys/${given}`;
  // A key pasted by mistake is a secret: it is not repeated.
  throw new UsageError('The key is named by its id or its full name, never by its secret');
}

const listAction: Action = {
  name: 'list',
  summary: 'List keys; those that expire soon are marked',
  options: [
    {
      ...serviceAccountOption,
      help: 'Keys of this service account, "-" of all of them; default: your own',
    },
    memberOption,
    { name: 'all', help: 'Also those that no longer work' },
    projectOption,
  ],
  async run(context) {
    const api = context.api('person');
    const parent = await ownerOf(context, api);
    const includeEnded = context.input.isOn('all');
    const keys = await everyItem(
      (page) => api.call(method.listKeys, { parent, ...page, includeEnded }),
      (answer) => answer.keys,
    );
    return printMessage(context, ListKeysResponseSchema, { keys }, () =>
      keyTable(keys, parent.endsWith('/-')),
    );
  },
};

/** @param isOfAll the keys of several accounts: each stands beside its account */
function keyTable(keys: readonly Key[], isOfAll: boolean): string {
  return table(
    [
      ...(isOfAll ? ['account'] : []),
      'key',
      'name',
      'state',
      'can do',
      'last four',
      'created',
      'works until',
      'warning',
      'last used',
    ],
    keys.map((key) => [
      ...(isOfAll ? [key.name.split('/')[3] ?? ''] : []),
      shortName(key.name),
      key.displayName,
      enumText(Key_State, key.state),
      key.effectiveCapabilities.join(' ') || 'nothing',
      `…${key.last4}`,
      localTime(key.createdUnix),
      isLive(key) ? localTime(endOf(key)) : 'ended',
      warningText(key),
      localTime(key.lastUsedUnix) || 'never',
    ]),
    'There are no keys',
  );
}

const WARNINGS: Readonly<Record<string, string>> = {
  WITHIN_14_DAYS: 'within 14 days',
  WITHIN_7_DAYS: 'within 7 days',
  WITHIN_1_DAY: 'WITHIN A DAY',
};

function warningText({ expiryWarning }: Key): string {
  return WARNINGS[enumText(Key_ExpiryWarning, expiryWarning)] ?? '';
}

function isLive({ state }: Key): boolean {
  return state === Key_State.ACTIVE || state === Key_State.ROTATING;
}

/** When a key that works stops: with its lifetime, or before that with its overlap; Unix seconds. */
function endOf({ expiresUnix, overlapEndsUnix }: Key): bigint {
  return overlapEndsUnix !== undefined && overlapEndsUnix < expiresUnix
    ? overlapEndsUnix
    : expiresUnix;
}

function nothingBecause(key: Key): string {
  return isLive(key) ? 'nothing: see its owner' : 'nothing: it has ended';
}

function keyFacts(key: Key): string {
  return facts([
    ['key', key.name],
    ['name', key.displayName],
    ['state', enumText(Key_State, key.state)],
    ['made for', key.capabilities.join(' ')],
    ['can do now', key.effectiveCapabilities.join(' ') || nothingBecause(key)],
    ['last four', `…${key.last4}`],
    ['created', `${localTime(key.createdUnix)} by ${key.createdBy}`],
    ['expires', localTime(key.expiresUnix)],
    ['last used', localTime(key.lastUsedUnix) || 'never'],
    ['successor', key.successor],
    [
      'works until',
      isLive(key) ? [localTime(endOf(key)), warningText(key)].filter(Boolean).join(', ') : '',
    ],
    ['revoked', key.revokedReason],
  ]);
}

function printKey(context: ActionContext, key: Key): number {
  return printMessage(context, KeySchema, key, () => keyFacts(key));
}

const showAction: Action = {
  name: 'show',
  summary: 'Show one key, without its secret',
  positionals: [{ name: 'KEY' }],
  options: [serviceAccountOption, memberOption, projectOption],
  async run(context) {
    const api = context.api('person');
    return printKey(context, await api.call(method.getKey, { name: await keyName(context, api) }));
  },
};

const createAction: Action = {
  name: 'create',
  summary: 'Create a key; its secret is printed once',
  ...changeOptions(serviceAccountOption, nameOption, capabilityOption, {
    ...{ name: 'lifetime', takes: 'DURATION' },
    help: 'At most 365d; default 90d',
  }),
  notes: `The secret is printed alone on standard output and cannot be shown again. If no answer arrives,
run the same command with the --request-id that it printed: the answer names the key, without its
secret.`,
  async run(context) {
    const api = context.api('person');
    const { input } = context;
    const request = {
      parent: await ownerOf(context, api),
      requestId: requestId(context),
      displayName: input.required('name'),
      capabilities: capabilitiesOf(context),
      lifetimeSeconds: input.seconds('lifetime') ?? 0,
    };
    reportRequest(context, 'Making a key', request.requestId);
    const answer = await api.call(method.createKey, request);
    return printSecret(context, answer, {
      about: answer.key ? keyFacts(answer.key) : '',
      document: () => json(messageJson(CreateKeyResponseSchema, answer)),
      ifLost: lost(answer.key, 'then create another: svc keys create, without --request-id'),
    });
  },
};

const rotateAction: Action = {
  name: 'rotate',
  summary: 'Replace a key; the old one keeps working during the overlap',
  positionals: [{ name: 'KEY' }],
  ...changeOptions(
    serviceAccountOption,
    {
      name: 'overlap',
      takes: 'DURATION',
      help: 'How long the old key keeps working, 0 to 24h; default 1h',
    },
    {
      name: 'lifetime',
      takes: 'DURATION',
      help: 'Lifetime of the new key, at most 365d; default 90d',
    },
  ),
  notes: `
If the secret of the new key is lost, revoke the new key, then rotate the old one again while it
still works.
`,
  async run(context) {
    const api = context.api('person');
    const { input } = context;
    const name = await keyName(context, api);
    const request = {
      name,
      requestId: requestId(context),
      overlapSeconds: input.seconds('overlap') ?? OVERLAP_SECONDS_DEFAULT,
      lifetimeSeconds: input.seconds('lifetime') ?? 0,
    };
    reportRequest(context, `Rotating ${name}`, request.requestId);
    const answer = await api.call(method.rotateKey, request);
    return printSecret(context, answer, {
      about: answer.key ? keyFacts(answer.key) : '',
      document: () => json(messageJson(RotateKeyResponseSchema, answer)),
      ifLost: lost(answer.key, `then rotate the old key again: svc keys rotate ${name}`),
    });
  },
};

function lost(key: Key | undefined, afterwards: string): string {
  return `Revoke it first: svc keys revoke ${key?.name ?? ''}\n${afterwards}`;
}

const revokeAction = change({
  name: 'revoke',
  summary: 'End a key at once',
  positionals: [{ name: 'KEY' }],
  options: [serviceAccountOption, memberOption, reasonOption],
  nameOf: keyName,
  send: (api, request, { input }) =>
    api.call(method.revokeKey, { ...request, reason: input.text('reason') ?? '' }),
  show: printKey,
});

export const keysCommand = family('keys', 'Create, rotate and revoke keys', [
  listAction,
  showAction,
  createAction,
  rotateAction,
  revokeAction,
]);
