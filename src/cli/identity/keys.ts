/**
 * `svc keys`: personal keys and those of service accounts. A secret is printed once, alone on
 * standard output; everything else goes to standard error.
 */
import {
  AutomationService,
  CreateKeyResponseSchema,
  Credential_Kind,
  Credential_State,
  type Key,
  Key_ExpiryWarning,
  Key_State,
  KeySchema,
  RotateKeyResponseSchema,
} from '../../gen/svc/iam/v1/automation_pb.ts';
import { ProjectService, Role } from '../../gen/svc/project/v1/project_pb.ts';
import { type Action, type ActionContext, family, projectOption } from '../client/action.ts';
import type { Api } from '../client/api.ts';
import { type Candidate, meantBy, nothingNamed } from '../client/candidates.ts';
import { UsageError } from '../client/faults.ts';
import { change, changeOptions, reads, reasonOf } from '../client/frames.ts';
import { listing, long, minor, moment, stateCell } from '../client/listing.ts';
import { projectName, requestId, resourceName } from '../client/names.ts';
import { printSecret, reportRequest } from '../client/once.ts';
import { facts, messageDocument, printMessage } from '../client/output.ts';
import { everyItem } from '../client/paging.ts';
import { createdText, enumText, localTime, shortName } from '../client/texts.ts';
import type { Screen } from '../command.ts';
import {
  capabilitiesOf,
  capabilityOption,
  memberOption,
  nameOption,
  reasonOption,
  serviceAccountOption,
} from './options.ts';

const OVERLAP_SECONDS_DEFAULT = 3_600;
const { method } = AutomationService;

/** Owner of the keys: the service account, the member, or the current user in the project. */
async function ownerOf(context: ActionContext, api: Api): Promise<string> {
  const given = context.input.text('service-account');
  const member = context.input.text('member');
  if (given !== undefined && member !== undefined) {
    throw new UsageError('Use either --service-account or --member: a key has one owner');
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

/** A key of ours, or the beginning of one. */
const SECRET = /svc_[a-z]{2,7}_/;

/**
 * The key by full name, or by id or display name among those of the given owner, or else among all
 * that the user may see. Among keys with equal names, an active key comes first.
 */
async function keyName(context: ActionContext, api: Api): Promise<string> {
  const { input } = context;
  const given = input.positional(0);
  if (FULL_NAME.test(given)) return given;
  // A key pasted by mistake is a secret and must not be repeated.
  if (given === '' || given.length > NAME_MAX || SECRET.test(given)) {
    throw new UsageError('Name the key by its id or name, never by its secret');
  }
  const isOfOne = input.isOn('service-account') || input.isOn('member');
  const keys = isOfOne
    ? await keysOf(api, await ownerOf(context, api))
    : await visibleKeys(context, api);
  const candidates = keys.map(({ name, displayName, detail }) => {
    return { name, labels: [displayName], detail };
  });
  const words = { one: 'key', many: 'keys', list: 'svc keys list --all' };
  const live = candidates.filter((_, i) => keys[i]?.isLive);
  const meant = meantBy(given, live, words) ?? meantBy(given, candidates, words);
  if (meant) return meant.name;
  throw nothingNamed(given, candidates, words);
}

/** Active keys, as candidates for a name. */
export async function keyCandidates(context: ActionContext, api: Api): Promise<Candidate[]> {
  const keys = await visibleKeys(context, api);
  return keys
    .filter((key) => key.isLive)
    .map(({ name, displayName }) => ({ name, labels: [displayName] }));
}

/** Maximum length of a display name, characters. */
const NAME_MAX = 100;

interface KnownKey extends Pick<Key, 'name' | 'displayName'> {
  readonly isLive: boolean;
  /** State, last four characters and creation time. */
  readonly detail: string;
}

function detailOf(
  state: string,
  { last4, createdUnix }: Pick<Key, 'last4' | 'createdUnix'>,
): string {
  return `${state}  …${last4}  created ${localTime(createdUnix)}`;
}

async function keysOf(api: Api, parent: string): Promise<KnownKey[]> {
  const keys = await everyItem(api, method.listKeys, { parent, includeEnded: true }, 'keys');
  return keys.map((key) => {
    const detail = detailOf(enumText(Key_State, key.state), key);
    return { ...key, isLive: isLive(key), detail };
  });
}

/**
 * The user's own keys; for an owner of the project, also those of all members and service accounts.
 */
async function visibleKeys(context: ActionContext, api: Api): Promise<KnownKey[]> {
  const name = await projectName(context, api);
  const { memberName, role } = await api.call(ProjectService.method.getProject, { name });
  if (role !== Role.OWNER) return keysOf(api, memberName);
  const kinds = [Credential_Kind.PERSONAL_KEY, Credential_Kind.SERVICE_ACCOUNT_KEY];
  const requested = { projectName: name, kinds, includeEnded: true };
  const all = await everyItem(api, method.listCredentials, requested, 'credentials');
  return all.map((one) => {
    const detail = detailOf(enumText(Credential_State, one.state), one);
    return { ...one, isLive: LIVE_CREDENTIALS.has(one.state), detail };
  });
}

const LIVE_CREDENTIALS: ReadonlySet<Credential_State> = new Set([
  Credential_State.ACTIVE,
  Credential_State.ROTATING,
  Credential_State.DISABLED,
]);

const listAction: Action = {
  name: 'list',
  summary: 'List keys; those that expire soon are marked',
  options: [
    {
      ...serviceAccountOption,
      help: 'Keys of this service account, or "-" for all of them; default: your own',
    },
    memberOption,
    { name: 'all', help: 'Include those that no longer work' },
    projectOption,
  ],
  notes: 'For the keys of all members and accounts (owners only): svc credentials.',
  run: reads({
    caller: 'person',
    method: method.listKeys,
    every: 'keys',
    async request(context, api) {
      const parent = await ownerOf(context, api);
      return { parent, includeEnded: context.input.isOn('all') };
    },
    text: ({ keys }, { screen }, { parent }) => keyTable(keys, parent.endsWith('/-'), screen),
  }),
};

/** @param isOfAll true for keys of several accounts: each is listed with its account */
function keyTable(keys: readonly Key[], isOfAll: boolean, screen: Screen | undefined): string {
  const hasRefused = keys.some(({ refusedUses }) => refusedUses > 0n);
  const isBound = keys.some(({ networks }) => networks.length > 0);
  return listing(
    screen,
    [
      long('name'),
      'state',
      long('can do'),
      ...(isBound ? [long('from')] : []),
      'last four',
      minor('created'),
      'valid until',
      'warning',
      'last used',
      ...(hasRefused ? ['refused'] : []),
      minor('key'),
      ...(isOfAll ? [minor('account')] : []),
    ],
    keys.map((key) => [
      key.displayName,
      stateCell(enumText(Key_State, key.state)),
      key.effectiveCapabilities.join(' ') || 'nothing',
      ...(isBound ? [key.networks.join(' ') || 'anywhere'] : []),
      `…${key.last4}`,
      moment(key.createdUnix),
      isLive(key) ? moment(endOf(key)) : 'ended',
      warningText(key),
      moment(key.lastUsedUnix, 'never'),
      ...(hasRefused ? [refusedText(key)] : []),
      shortName(key.name),
      ...(isOfAll ? [key.name.split('/')[3] ?? ''] : []),
    ]),
    'No keys',
  );
}

/** Refused uses of a key, such as `12 times, last 14:05: CREDENTIAL_REVOKED`; '' without refused uses. */
export function refusedText(
  credential: Pick<Key, 'refusedUses' | 'lastRefusedUnix' | 'lastRefusedReason'>,
): string {
  const { refusedUses, lastRefusedUnix, lastRefusedReason } = credential;
  if (refusedUses === 0n) return '';
  const times = refusedUses === 1n ? 'once' : `${refusedUses} times`;
  return `${times}, last ${localTime(lastRefusedUnix)}: ${lastRefusedReason}`;
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

/**
 * When an active key expires: at the end of its lifetime or, if earlier, of its overlap; Unix
 * seconds.
 */
function endOf({ expiresUnix, overlapEndsUnix }: Key): bigint {
  return overlapEndsUnix !== undefined && overlapEndsUnix < expiresUnix
    ? overlapEndsUnix
    : expiresUnix;
}

function nothingBecause(key: Key): string {
  return isLive(key) ? 'nothing (see its owner)' : 'nothing (it has ended)';
}

function keyFacts(key: Key): string {
  return facts([
    ['key', key.name],
    ['name', key.displayName],
    ['state', enumText(Key_State, key.state)],
    ['created for', key.capabilities.join(' ')],
    ['can do now', key.effectiveCapabilities.join(' ') || nothingBecause(key)],
    ['from', key.networks.join(' ')],
    ['last four', `…${key.last4}`],
    ['created', createdText(key)],
    ['expires', localTime(key.expiresUnix)],
    ['last used', localTime(key.lastUsedUnix) || 'never'],
    ['refused', refusedText(key)],
    ['successor', key.successor],
    [
      'valid until',
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
  ...changeOptions(
    serviceAccountOption,
    nameOption,
    capabilityOption,
    {
      name: 'network',
      takes: 'RANGE',
      multiple: true,
      help: 'Address or range that the key may be used from, such as 10.0.0.0/8; default: any',
    },
    {
      name: 'lifetime',
      takes: 'DURATION',
      help: 'At most 365d; default 90d',
    },
  ),
  notes: `The secret is printed alone on standard output and cannot be shown again. If there is no
response, run the same command with the --request-id that it printed: the response names the key,
without its secret.`,
  async run(context) {
    const api = context.api('person');
    const { input } = context;
    const request = {
      parent: await ownerOf(context, api),
      requestId: requestId(context),
      displayName: input.required('name'),
      capabilities: capabilitiesOf(context),
      networks: input.list('network').flatMap((text) => text.split(',')),
      lifetimeSeconds: input.seconds('lifetime') ?? 0,
    };
    reportRequest(context, 'Creating a key', request.requestId);
    const answer = await api.call(method.createKey, request);
    return printSecret(context, answer, {
      about: answer.key ? keyFacts(answer.key) : '',
      document: () => messageDocument(CreateKeyResponseSchema, answer),
      ifLost: lost(answer.key, 'then create another: svc keys create, without --request-id'),
    });
  },
};

const rotateAction: Action = {
  name: 'rotate',
  summary: 'Replace a key; the old one stays valid during the overlap',
  positionals: [{ name: 'KEY' }],
  ...changeOptions(
    serviceAccountOption,
    {
      name: 'overlap',
      takes: 'DURATION',
      help: 'How long the old key stays valid, 0 to 24h; default 1h',
    },
    {
      name: 'lifetime',
      takes: 'DURATION',
      help: 'Lifetime of the new key, at most 365d; default 90d',
    },
  ),
  notes: `
If the secret of the new key is lost, revoke the new key, then rotate the old one again while it
is still valid.
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
      document: () => messageDocument(RotateKeyResponseSchema, answer),
      ifLost: lost(answer.key, `then rotate the old key again: svc keys rotate ${name}`),
    });
  },
};

function lost(key: Key | undefined, afterwards: string): string {
  return `Revoke it first: svc keys revoke ${key?.name ?? ''}\n${afterwards}`;
}

const revokeAction = change({
  name: 'revoke',
  summary: 'Revoke a key at once',
  positionals: [{ name: 'KEY' }],
  options: [serviceAccountOption, memberOption, reasonOption],
  nameOf: keyName,
  method: method.revokeKey,
  fields: reasonOf,
  show: printKey,
});

export const keysCommand = family('keys', 'Create, rotate and revoke keys', [
  listAction,
  showAction,
  createAction,
  rotateAction,
  revokeAction,
]);
