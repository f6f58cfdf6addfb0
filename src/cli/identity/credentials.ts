/** `svc credentials`: everything that grants access to a project without a sign-in. */
import {
  AutomationService,
  type Credential,
  Credential_Kind,
  Credential_State,
} from '../../gen/svc/iam/v1/automation_pb.ts';
import { projectOption, single } from '../client/action.ts';
import { reads } from '../client/frames.ts';
import { listing, long, minor, moment, stateCell } from '../client/listing.ts';
import { projectName } from '../client/names.ts';
import { enumText } from '../client/texts.ts';
import type { Screen } from '../command.ts';
import { refusedText } from './keys.ts';
import { addressText } from './options.ts';

const KINDS = [
  ...(['PERSONAL_KEY', 'SERVICE_ACCOUNT_KEY', 'COLLECTOR_KEY', 'VM_KEY'] as const),
  'CI_CONNECTION',
] as const;

export const credentialsCommand = single({
  name: 'credentials',
  summary: 'List everything that grants access to a project: keys of all kinds, and CI trusts',
  options: [
    { name: 'kind', takes: 'KIND', choices: KINDS, multiple: true, help: 'Only this kind' },
    { name: 'all', help: 'Include those that no longer work' },
    projectOption,
  ],
  notes: `For owners. Use the name, or the full name in the last column, to end a credential: personal and
service-account keys with "svc keys revoke", CI trusts with "svc trusts disable". The operator revokes
collector and agent keys with "svc admin revoke-key". "svc members list" shows people who sign in.`,
  run: reads({
    caller: 'person',
    method: AutomationService.method.listCredentials,
    every: 'credentials',
    async request(context, api) {
      const given = context.input.list('kind');
      return {
        projectName: await projectName(context, api),
        kinds: KINDS.filter((kind) => given.includes(kind)).map((kind) => Credential_Kind[kind]),
        includeEnded: context.input.isOn('all'),
      };
    },
    text: ({ credentials }, { screen }) => credentialTable(credentials, screen),
  }),
});

function credentialTable(credentials: readonly Credential[], screen: Screen | undefined): string {
  const hasRefused = credentials.some(({ refusedUses }) => refusedUses > 0n);
  return listing(
    screen,
    [
      long('name'),
      'kind',
      long('of'),
      'state',
      minor('can do'),
      minor('last four'),
      minor('made'),
      minor('by'),
      'valid until',
      'last used',
      ...(hasRefused ? ['refused'] : []),
      minor('credential'),
    ],
    credentials.map((each) => [
      each.displayName,
      enumText(Credential_Kind, each.kind),
      ownerText(each),
      stateCell(stateText(each)),
      each.effectiveCapabilities.join(' ') || 'nothing',
      each.last4 === '' ? '-' : `…${each.last4}`,
      moment(each.createdUnix),
      each.createdByDisplayName || each.createdBy,
      moment(each.endsUnix, 'revoked'),
      moment(each.lastUsedUnix, 'never'),
      ...(hasRefused ? [refusedText(each)] : []),
      each.name,
    ]),
    'No keys or CI trusts',
  );
}

function ownerText({ ownerName, ownerDisplayName, ownerUnprovenEmail }: Credential): string {
  const displayed = [ownerDisplayName || ownerName, addressText('', ownerUnprovenEmail)];
  return displayed.filter(Boolean).join(', ');
}

function stateText({ state, revokedReason }: Credential): string {
  const name = enumText(Credential_State, state);
  return revokedReason === '' ? name : `${name}: ${revokedReason}`;
}
