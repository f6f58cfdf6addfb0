/**
 * Action of `svc admin` on the members of the cluster; for people of a project see `svc members`.
 */
import { type ListedMember, MEMBERS_PATH, type MembersAnswer } from '../admin/member-routes.ts';
import { count } from '../platform/table.ts';
import type { AdminAction } from './admin-actions.ts';
import { table } from './client/output.ts';
import { localTime, NOT_OBSERVED } from './client/texts.ts';

export const memberActions: readonly AdminAction[] = [
  {
    name: 'members',
    summary: 'On NATS: show the processes that share the work, and what each of them owns',
    path: MEMBERS_PATH,
    ask: () => ({}),
    render: (answer) => membersText(answer as MembersAnswer),
  },
];

/** Number of random characters at the end of a ULID: enough to distinguish members. */
const NAME_LETTERS = 6;

function membersText({ isAlone, refusal, members }: MembersAnswer): string {
  if (isAlone) return 'This service runs alone: its streams are embedded\n';
  const right = (title: string) => ({ title, align: 'right' as const });
  const columns = [
    'MEMBER',
    'STATUS',
    'ADDRESS',
    'PROCESS',
    right('SHARES'),
    right('APPLIED'),
    right('LAG'),
    right('CLOCK'),
    'VERSION',
    'STARTED',
    'LAST SEEN',
  ];
  const text = table(columns, members.map(rowOf), 'No members');
  const legend = '* this member; _system: owns what belongs to no project\n';
  const unfit = members.flatMap(({ node, standsDown }) =>
    standsDown === undefined ? [] : [`${nameOf(node)} stands down: ${standsDown}\n`],
  );
  return [text, legend, ...unfit, refusal === undefined ? '' : `${refusal}\n`].join('');
}

function rowOf(member: ListedMember) {
  const { node, isSelf, status, address, host, pid, shares, hasSystem, version } = member;
  return [
    `${nameOf(node)}${isSelf ? ' *' : ''}`,
    status,
    address ?? NOT_OBSERVED,
    `${host}:${pid}`,
    `${count(shares)}${hasSystem ? ' (_system)' : ''}`,
    count(member.applied),
    member.lag === null ? NOT_OBSERVED : count(member.lag),
    clockText(member.clockAheadMs),
    version,
    localTime(Math.floor(member.startedMs / 1000)),
    localTime(Math.floor(member.seenMs / 1000)),
  ];
}

function nameOf(node: string): string {
  return node.slice(-NAME_LETTERS);
}

/**
 * `+2.3 s` means ahead. Differences smaller than the transmission delay of a record are ignored.
 */
function clockText(aheadMs: number): string {
  const seconds = (aheadMs / 1000).toFixed(1);
  return Number(seconds) > 0 ? `+${seconds} s` : `${seconds.replace(/^-0\.0$/, '0.0')} s`;
}
