/** Methods of `ProjectService` for members and invitations. */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { Members } from '../../../actors/identity/members.ts';
import { personOf as personIn } from '../../../actors/identity/people.ts';
import type { Host, ListOptions } from '../../../actors/platform/host/host-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import {
  type InviteMemberRequest,
  InviteMemberRequestSchema,
  type ListInvitationsRequest,
  type ListMembersRequest,
  type ProjectService,
  type RemoveMemberRequest,
  RemoveMemberRequestSchema,
  type RevokeInvitationRequest,
  RevokeInvitationRequestSchema,
  type SetMemberRoleRequest,
  SetMemberRoleRequestSchema,
} from '../../gen/svc/project/v1/project_pb.ts';
import {
  actorOf,
  assertRecentSignIn,
  personOf,
  requestKeyOf,
  within,
} from '../../platform/api/caller.ts';
import { collect, mapPage } from '../../platform/api/paging.ts';
import { parseName, parseProjectName } from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';
import { linkAddress } from '../../platform/mail/letters.ts';
import { invitationMessage, memberMessage, projectFacts, roleOf } from './project-messages.ts';

/** Content of an invitation mail; `token` is the secret in its link. */
export interface InvitationMail {
  /** Id. */
  readonly project: string;
  /** Id. */
  readonly invitation: string;
  readonly email: string;
  readonly token: string;
  /** Unix ms. */
  readonly expiresMs: number;
  readonly projectDisplayName: string;
  /** Display name. */
  readonly invitedBy: string;
}

/** Queues a mail; false if it cannot be sent. */
export type InviteMail = (mail: InvitationMail) => boolean;

export interface MemberDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly members: Members;
  /** Origin under which people reach the service. */
  readonly publicUrl: () => string;
  /** Absent if the service sends no mail. */
  readonly inviteMail?: InviteMail;
}

type MemberMethods =
  | 'listMembers'
  | 'inviteMember'
  | 'listInvitations'
  | 'revokeInvitation'
  | 'removeMember'
  | 'setMemberRole';

export function memberMethods(
  deps: MemberDeps,
): Pick<ServiceImpl<typeof ProjectService>, MemberMethods> {
  return {
    listMembers: (request, context) => listMembers(deps, request, context),
    inviteMember: (request, context) => inviteMember(deps, request, context),
    listInvitations: (request, context) => listInvitations(deps, request, context),
    revokeInvitation: (request, context) => revokeInvitation(deps, request, context),
    removeMember: (request, context) => removeMember(deps, request, context),
    setMemberRole: (request, context) => setMemberRole(deps, request, context),
  };
}

async function listMembers(
  { host }: MemberDeps,
  request: ListMembersRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const view = host.view(project);
  const read = (options: ListOptions) =>
    mapPage(view.instances('membership', options), (row) =>
      row.value === 'active' ? memberMessage(host, row) : undefined,
    );
  const page = await collect('members', request, read, turnsOf(context));
  return { members: page.items, nextPageToken: page.nextPageToken };
}

async function inviteMember(
  deps: MemberDeps,
  request: InviteMemberRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const { invitation, token } = await deps.members.invitations.invite({
    project,
    by: actorOf(context),
    email: request.email,
    role: roleOf(request.role),
    request: requestKeyOf(context, InviteMemberRequestSchema, request),
  });
  const message = invitationMessage(deps.host, invitation, deps.clock.now());
  if (token === null) {
    return { invitation: message, link: '', secretAvailable: false, emailed: false };
  }
  const { email, expiresMs } = invitation.context;
  const emailed = deps.inviteMail?.({
    project,
    invitation: invitation.instance,
    email,
    token,
    expiresMs,
    projectDisplayName: projectFacts(deps.host, project).displayName,
    invitedBy: personIn(deps.host, personOf(context).person)?.displayName ?? 'A member',
  });
  const link = linkAddress(deps.publicUrl(), token);
  return { invitation: message, link, secretAvailable: true, emailed: emailed ?? false };
}

/** Newest first, ended ones included. */
async function listInvitations(
  { host, clock }: MemberDeps,
  request: ListInvitationsRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const view = host.view(project);
  const read = (options: ListOptions) =>
    mapPage(view.instances('invitation', { ...options, descending: true }), (row) =>
      invitationMessage(host, row, clock.now()),
    );
  const page = await collect('invitations', request, read, turnsOf(context));
  return { invitations: page.items, nextPageToken: page.nextPageToken };
}

async function revokeInvitation(
  { host, clock, members }: MemberDeps,
  request: RevokeInvitationRequest,
  context: HandlerContext,
) {
  const { project, id } = parseName('name', request.name, 'invitations');
  await members.invitations.revoke({
    project: within(context, project),
    by: actorOf(context),
    invitation: id,
    request: requestKeyOf(context, RevokeInvitationRequestSchema, request),
  });
  const row = host.view(project).instance('invitation', id);
  if (!row) throw new Error(`The invitation ${id} was revoked but has no row`);
  return invitationMessage(host, row, clock.now());
}

/** An OWNER can remove any member. Every member can remove themselves. */
async function removeMember(
  { members }: MemberDeps,
  request: RemoveMemberRequest,
  context: HandlerContext,
) {
  const { project, id } = parseName('name', request.name, 'members');
  const isOwn = personOf(context).memberOf(project)?.member === id;
  await members.removeMember({
    project: within(context, project, id),
    by: actorOf(context),
    member: id,
    reason: isOwn ? 'LEFT' : 'REMOVED',
    request: requestKeyOf(context, RemoveMemberRequestSchema, request),
  });
  return {};
}

async function setMemberRole(
  { host, members }: MemberDeps,
  request: SetMemberRoleRequest,
  context: HandlerContext,
) {
  const { project: named, id } = parseName('name', request.name, 'members');
  const project = within(context, named);
  const role = roleOf(request.role);
  if (role === 'OWNER') assertRecentSignIn(context);
  await members.setRole({
    project,
    by: actorOf(context),
    member: id,
    role,
    request: requestKeyOf(context, SetMemberRoleRequestSchema, request),
  });
  const row = host.view(project).instance('membership', id);
  if (!row) throw new Refusal('NOT_FOUND', `There is no ${request.name}`);
  return memberMessage(host, row);
}
