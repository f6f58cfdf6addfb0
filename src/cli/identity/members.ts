/** `svc members`: members of a project, their roles, and invitations. */

import {
  type Invitation,
  Invitation_State,
  InviteMemberResponseSchema,
  type Member,
  MemberSchema,
  ProjectService,
  Role,
} from '../../gen/svc/project/v1/project_pb.ts';
import { type Action, type ActionContext, family, projectOption } from '../client/action.ts';
import type { Option } from '../client/arguments.ts';
import { change, changeOptions, ofProject, reads, removal } from '../client/frames.ts';
import { listing, long, minor, moment, stateCell } from '../client/listing.ts';
import { firstNamed, projectName, requestId } from '../client/names.ts';
import { printSecret, reportRequest } from '../client/once.ts';
import { facts, messageDocument, printMessage } from '../client/output.ts';
import { displayedName, enumText, localTime, shortName } from '../client/texts.ts';
import type { Screen } from '../command.ts';
import { addressText } from './options.ts';

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
  run: (context) =>
    context.input.isOn('invitations') ? listInvitations(context) : listMembers(context),
};

const listMembers = reads({
  caller: 'person',
  method: method.listMembers,
  every: 'members',
  request: ofProject,
  async text({ members }, context, { projectName: name }) {
    const { memberName } = await context.api('person').call(method.getProject, { name });
    return memberTable(members, context.screen, memberName);
  },
});

const listInvitations = reads({
  caller: 'person',
  method: method.listInvitations,
  every: 'invitations',
  request: ofProject,
  text: ({ invitations }, { screen }) => invitationTable(invitations, screen),
});

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

function invitationTable(invitations: readonly Invitation[], screen: Screen | undefined): string {
  // Rare, and long.
  const hasProblems = invitations.some(({ mailProblem }) => mailProblem !== '');
  return listing(
    screen,
    [
      long('email'),
      'role',
      'state',
      minor('invited by'),
      'expires',
      minor('accepted by'),
      minor('invitation'),
      ...(hasProblems ? [long('mail')] : []),
    ],
    invitations.map((each) => [
      each.acceptedBy === '' || each.emailProven ? each.email : addressText('', each.email),
      enumText(Role, each.role),
      stateCell(enumText(Invitation_State, each.state)),
      each.invitedByDisplayName || each.invitedBy,
      moment(each.expiresUnix),
      each.acceptedBy === '' ? '-' : displayedName(each.acceptedByDisplayName, each.acceptedBy),
      shortName(each.name),
      ...(hasProblems ? [each.mailProblem] : []),
    ]),
    'No invitations',
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
        document: () => messageDocument(InviteMemberResponseSchema, answer),
        ifLost: `Withdraw it first: svc members uninvite ${shortName(invitation?.name ?? '')}\nThen invite again, without --request-id`,
      },
    );
  },
};

const uninviteAction = removal({
  name: 'uninvite',
  summary: 'Withdraw an invitation',
  positionals: [{ name: 'INVITATION' }],
  nameOf: firstNamed('invitations'),
  method: method.revokeInvitation,
  done: 'Withdrawn:',
});

const roleAction = change({
  name: 'role',
  summary: 'Change the role of a member',
  positionals: [{ name: 'MEMBER' }],
  options: [roleOption],
  nameOf: memberName,
  method: method.setMemberRole,
  fields: (context) => ({ role: roleOf(context) }),
  show(context, member) {
    return printMessage(context, MemberSchema, member, () => memberTable([member], context.screen));
  },
});

const removeAction = removal({
  name: 'remove',
  summary: 'Remove a member and their personal keys',
  positionals: [{ name: 'MEMBER' }],
  nameOf: memberName,
  method: method.removeMember,
  done: 'Removed',
});

export const membersCommand = family('members', 'Members and invitations of a project', [
  listAction,
  inviteAction,
  uninviteAction,
  roleAction,
  removeAction,
]);
