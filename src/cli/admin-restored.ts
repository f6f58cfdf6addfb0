/** `svc admin restored`: what follows when the data folder is a restored backup. */
import type {
  EndedCounts,
  Restoration,
  RevivedCredential,
} from '../../actors/identity/restoration.ts';
import { RESTORED_PATH } from '../admin/restored-routes.ts';
import type { AdminAct } from './admin-act.ts';
import { localTime, table } from './client/output.ts';

export const restoredActs: readonly AdminAct[] = [
  {
    name: 'restored',
    summary: 'After a backup was restored: end sessions, links, pairings and tokens; list keys',
    isChange: true,
    path: RESTORED_PATH,
    ask: () => ({}),
    render: (answer) => restorationText(answer as Restoration),
  },
];

const KINDS: Readonly<Record<RevivedCredential['kind'], string>> = {
  ...{ pk: 'personal key', sk: 'service account', col: 'collector', vm: 'agent', ci: 'CI trust' },
};

/** What to do about each kind of the table. */
const ADVICE = [
  'Whatever was revoked, rotated or disabled after the backup works again. Compare the list with',
  'what you know, and end what should not be: "svc admin revoke-key NAME" for a key, a collector or',
  'an agent, "svc trusts disable" for a CI trust. Rotate keys whose secrets may be known to others.',
  'Members who were removed and people who were locked out are back as well: look at "svc admin',
  'people list" and "svc members list".',
];

function restorationText({ generation, atMs, ended, credentials }: Restoration): string {
  const since = localTime(Math.floor(atMs / 1000));
  const list = table(
    ['KIND', 'NAME', 'CALLED', 'OWNER', 'LAST 4', 'CREATED', 'UNTIL'],
    credentials.map(rowOf),
    'No key, collector, agent or CI trust works.',
  );
  const advice = credentials.length === 0 ? '' : `\n${ADVICE.join('\n')}\n`;
  return `generation ${generation} began ${since}; ended: ${countsText(ended)}\n\n${list}${advice}`;
}

function rowOf(each: RevivedCredential): string[] {
  return [
    ...[KINDS[each.kind], each.name, each.displayName],
    ...[each.ownerDisplayName || each.owner, each.lastFour],
    localTime(Math.floor(each.createdMs / 1000)),
    each.expiresMs === null ? 'no end' : localTime(Math.floor(each.expiresMs / 1000)),
  ];
}

function countsText(ended: EndedCounts): string {
  return [
    `${ended.session} sessions`,
    `${ended.signInLink} sign-in links`,
    `${ended.invitation} invitations`,
    `${ended.ciVerification} CI verifications`,
    `${ended.enrolment} enrolment tokens`,
    `access tokens of ${ended.ciConnection} CI trusts`,
  ].join(', ');
}
