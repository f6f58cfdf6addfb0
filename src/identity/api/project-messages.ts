/** Messages of `ProjectService` from rows: times become Unix seconds, ids resource names. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { memberIdOf } from '../../../actors/identity/grants.ts';
import {
  type Place,
  type ProjectBody,
  promqlLookbackSeconds,
} from '../../../actors/identity/members.ts';
import { personByEmail, unprovenEmailOf } from '../../../actors/identity/people-index.ts';
import { canonicalEmail } from '../../../actors/platform/email-address.ts';
import type { Host, Instance } from '../../../actors/platform/host/host-port.ts';
import { mailProblemOf } from '../../../actors/platform/mail-problems.ts';
import type { Role as RoleName } from '../../../machines/identity/membership.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import { invalidField } from '../../../streams/platform/refusal.ts';
import {
  Invitation_State,
  type InvitationSchema,
  type MemberSchema,
  type ProjectSchema,
  Role,
} from '../../gen/svc/project/v1/project_pb.ts';
import { personDisplayName } from '../../platform/api/display-names.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { nameOf } from '../../platform/api/resource-name.ts';

/** The requested role. Throws INVALID_FIELD. */
export function roleOf(role: Role): RoleName {
  if (role === Role.VIEWER) return 'VIEWER';
  if (role === Role.EDITOR) return 'EDITOR';
  if (role === Role.OWNER) return 'OWNER';
  throw invalidField('role', 'role is missing: send VIEWER, EDITOR or OWNER');
}

/** The project as one of its members sees it. */
export function projectMessage(
  host: Pick<Host, 'view'>,
  { project, member, role }: Place,
): MessageInitShape<typeof ProjectSchema> {
  const { displayName, createdMs } = projectFacts(host, project);
  return {
    name: `projects/${project}`,
    displayName,
    createdUnix: unixSeconds(createdMs),
    role: Role[role],
    memberName: nameOf(project, 'members', member),
    promqlLookbackSeconds: promqlLookbackSeconds(host.view(project), project),
  };
}

/**
 * Name and creation time. For a project of an older version, the time of its first recorded event.
 */
export function projectFacts(
  host: Pick<Host, 'view'>,
  project: string,
): { readonly displayName: string; readonly createdMs: number } {
  const view = host.view(project);
  const body = view.record('project', project)?.body as Partial<ProjectBody> | undefined;
  const createdMs = body?.createdMs ?? view.transitions({ limit: 1 }).items[0]?.atMs ?? 0;
  return { displayName: body?.displayName ?? project, createdMs };
}

export function memberMessage(
  host: Pick<Host, 'view'>,
  row: Instance<'membership'>,
): MessageInitShape<typeof MemberSchema> {
  const { person, displayName, email, role, joinedMs } = row.context;
  return {
    name: nameOf(row.project, 'members', row.instance),
    displayName,
    email: canonicalEmail(email),
    role: Role[role],
    joinedUnix: unixSeconds(joinedMs),
    unprovenEmail: unprovenEmailOf(host.view(SYSTEM_PROJECT), person, email),
  };
}

/** @param nowMs decides whether it has expired, even before its timer fires */
export function invitationMessage(
  host: Pick<Host, 'view'>,
  row: Instance<'invitation'>,
  nowMs: number,
): MessageInitShape<typeof InvitationSchema> {
  const { email, role, invitedBy, createdMs, expiresMs, person } = row.context;
  const isOver = row.value === 'pending' && nowMs >= expiresMs;
  const member = person === null ? '' : memberIdOf(row.project, person);
  const subject = `invitations/${row.instance}` as const;
  return {
    name: nameOf(row.project, 'invitations', row.instance),
    email,
    invitedBy,
    invitedByDisplayName: personDisplayName(host, invitedBy),
    role: Role[role],
    state: isOver ? Invitation_State.EXPIRED : stateOf(String(row.value)),
    createdUnix: unixSeconds(createdMs),
    expiresUnix: unixSeconds(expiresMs),
    acceptedBy: member === '' ? '' : nameOf(row.project, 'members', member),
    acceptedByDisplayName: person === null ? '' : personDisplayName(host, `people/${person}`),
    mailProblem: row.value === 'pending' ? mailProblemOf(host.view(row.project), subject) : '',
    emailProven: person !== null && personByEmail(host.view(SYSTEM_PROJECT), email) === person,
  };
}

function stateOf(value: string): Invitation_State {
  const state = Invitation_State[value.toUpperCase() as keyof typeof Invitation_State];
  if (state !== undefined) return state;
  throw new Error(`An invitation is in state ${value}, which has no name in the API`);
}
