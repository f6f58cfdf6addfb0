/** `svc members`: members of a project, their roles, and invitations. */

import {
  Invitation_State,
  InviteMemberResponseSchema,
  ListInvitationsResponseSchema,
  ListMembersResponseSchema,
  type Member,
  MemberSchema,
  ProjectService,
  Role,
} from '../../gen/svc/project/v1/project_pb.ts';
import { type Action, type ActionContext, family, projectOption } from '../client/action.ts';
import type { Api } from '../client/api.ts';
import type { Option } from '../client/arguments.ts';
import { listing, long, minor, moment, stateCell } from '../client/listing.ts';
import { firstNamed, projectName, requestId, resourceName } from '../client/names.ts';
import { printSecret, reportRequest } from '../client/once.ts';
import {
  displayedName,
  enumText,
  facts,
  json,
  localTime,
  messageJson,
  printMessage,
  shortName,
} from '../client/output.ts';
import { everyItem } from '../client/paging.ts';
import type { Screen } from '../command.ts';
import { addressText, change, changeOptions, removal } from './options.ts';

const { method } = ProjectService;
const ROLES = ['VIEWER', 'EDITOR', 'OWNER'] as const;
const roleOption: Option = {
  name: 'role',
  takes: 'ROLE',
  choices: ROLES,
  help: 'Role of the member',
};

function roleOf({ input }: Pick<ActionContext, 'input'>): Role {
  const given = input.required('role');
  return Role[ROLES.find((role) => role === given) ?? 'ROLE_UNSPECIFIED'];
}

const memberName = firstNamed('members');

const listAction: Action = {
  name: 'list',
  summary: 'List the members and their roles',
  options: [projectOption, { name: 'invitations', help: 'List the invitations instead' }],
  async run(context) {
    const api = context.api('person');
    const request = { projectName: await projectName(context, api) };
    if (context.input.isOn('invitations')) return listInvitations(context, api, request);
    const members = await everyItem(
      (page) => api.call(method.listMembers, { ...request, ...page }),
      (answer) => answer.members,
    );
    // Only the table marks the user's own membership.
    const about = { name: request.projectName };
    const mine = context.json ? '' : (await api.call(method.getProject, about)).memberName;
    return printMessage(context, ListMembersResponseSchema, { members }, () =>
      memberTable(members, context.screen, mine),
    );
  },
};

/** @param mine name of the user's own membership; a display name could impersonate it */
function memberTable(members: readonly Member[], screen: Screen | undefined, mine = ''): string {
  return listing(
    screen,
    [long('name'), long('email'), 'role', 'joined', '', minor('member')],
    members.map(({ name, displayName, email, unprovenEmail, role, joinedUnix }) => [
      displayName,
      addressText(email, unprovenEmail),
      enumText(Role, role),
      moment(joinedUnix),
      name === mine ? 'you' : '',
      shortName(name),
    ]),
    'No members',
  );
}

async function listInvitations(
  context: ActionContext,
  api: Api,
  request: { readonly projectName: string },
): Promise<number> {
  const invitations = await everyItem(
    (page) => api.call(method.listInvitations, { ...request, ...page }),
    (answer) => answer.invitations,
  );
  // Rare, and long.
  const hasProblems = invitations.some(({ mailProblem }) => mailProblem !== '');
  const rows = invitations.map((each) => [
    each.acceptedBy === '' || each.emailProven ? each.email : addressText('', each.email),
    enumText(Role, each.role),
    stateCell(enumText(Invitation_State, each.state)),
    each.invitedByDisplayName || each.invitedBy,
    moment(each.expiresUnix),
    each.acceptedBy === '' ? '-' : displayedName(each.acceptedByDisplayName, each.acceptedBy),
    shortName(each.name),
    ...(hasProblems ? [each.mailProblem] : []),
  ]);
  const columns = [
    long('email'),
    'role',
    'state',
    minor('invited by'),
    'expires',
    minor('accepted by'),
    minor('invitation'),
    ...(hasProblems ? [long('mail')] : []),
  ];
  return printMessage(context, ListInvitationsResponseSchema, { invitations }, () =>
    listing(context.screen, columns, rows, 'No invitations'),
  );
}

const inviteAction: Action = {
  name: 'invite',
  summary: 'Invite a person; the link is printed once',
  positionals: [{ name: 'EMAIL' }],
  ...changeOptions(roleOption),
  notes: `
The link is printed alone on standard output. Share it only with the invited person. If the
service sends email, the link is also mailed.
`,
  async run(context) {
    const api = context.api('person');
    const request = {
      projectName: await projectName(context, api),
      requestId: requestId(context),
      email: context.input.positional(0),
      role: roleOf(context),
    };
    reportRequest(context, 'Inviting', request.requestId);
    const answer = await api.call(method.inviteMember, request);
    const { invitation, link, secretAvailable, emailed } = answer;
    const about = facts([
      ['invitation', invitation?.name ?? ''],
      ['email', invitation?.email ?? ''],
      ['role', enumText(Role, invitation?.role ?? 0)],
      ['expires', localTime(invitation?.expiresUnix)],
      ['emailed', emailed ? 'yes' : 'no: give them the link below'],
    ]);
    return printSecret(
      context,
      { secret: link, secretAvailable },
      {
        about,
        document: () => json(messageJson(InviteMemberResponseSchema, answer)),
        ifLost: `Withdraw it first: svc members uninvite ${shortName(invitation?.name ?? '')}\nThen invite again, without --request-id`,
      },
    );
  },
};

const uninviteAction = removal({
  name: 'uninvite',
  summary: 'Withdraw an invitation',
  positionals: [{ name: 'INVITATION' }],
  nameOf: (context, api) =>
    resourceName(context, api, {
      collection: 'invitations',
      given: context.input.positional(0),
    }),
  send: (api, request) => api.call(method.revokeInvitation, request),
  done: 'Withdrawn:',
});

const roleAction = change({
  name: 'role',
  summary: 'Change the role of a member',
  positionals: [{ name: 'MEMBER' }],
  options: [roleOption],
  nameOf: memberName,
  send: (api, request, context) =>
    api.call(method.setMemberRole, { ...request, role: roleOf(context) }),
  show(context, member) {
    return printMessage(context, MemberSchema, member, () => memberTable([member], context.screen));
  },
});

const removeAction = removal({
  name: 'remove',
  summary: 'Remove a member and their personal keys',
  positionals: [{ name: 'MEMBER' }],
  nameOf: memberName,
  send: (api, request) => api.call(method.removeMember, request),
  done: 'Removed',
});

export const membersCommand = family('members', 'Members and invitations of a project', [
  listAction,
  inviteAction,
  uninviteAction,
  roleAction,
  removeAction,
]);
