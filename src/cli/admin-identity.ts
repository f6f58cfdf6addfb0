/** Acts of `svc admin` about projects, people, sessions and keys. */
import {
  type ChangedPerson,
  type CreatedProject,
  IDENTITY_PATHS,
  type ListedPerson,
  type ListedProject,
  type MadeLink,
  type ReportedLeaks,
  type RevokedKey,
} from '../admin/identity-routes.ts';
import type { AdminAct } from './admin-acts.ts';
import type { Option } from './client/arguments.ts';
import { printable, UsageError } from './client/faults.ts';
import { localTime, table } from './client/output.ts';

const roleOption: Option = {
  name: 'role',
  takes: 'ROLE',
  choices: ['VIEWER', 'EDITOR', 'OWNER'],
  help: 'Role of the member: VIEWER reads, EDITOR changes alerts, OWNER also members and keys',
};

const ANOTHER_LINK = 'Run the same command with a new request id to create another link';

const PERSON = { name: 'EMAIL|PERSON' } as const;

const LEAKED_LINES_MAX = 500;

const leakedAct: AdminAct = {
  name: 'leaked',
  summary: 'Revoke leaked secrets: reads them from standard input, one per line',
  readsInput: true,
  path: IDENTITY_PATHS.leaked,
  ask(_input, text) {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    const isOneEach = lines.every((line) => !/\s/.test(line.trim()));
    if (lines.length > 0 && lines.length <= LEAKED_LINES_MAX && isOneEach) {
      return { texts: lines.map((line) => line.trim()).join('\n') };
    }
    const seen = isOneEach ? `${lines.length} lines` : 'a line that contains white space';
    throw new UsageError(
      `Standard input has ${seen}: 1 to ${LEAKED_LINES_MAX} secrets, one per line`,
      'Not as an argument: every process of the machine can read arguments. svc admin leaked < FILE',
    );
  },
  render(answer) {
    const { ended } = answer as ReportedLeaks;
    const lines = ended.map((name, place) =>
      name === null
        ? `line ${place + 1}: no valid secret: unknown, expired, or not copied completely`
        : `line ${place + 1}: ended ${name}`,
    );
    const hint =
      'The signing secret of a webhook is not recognised: "svc destinations rotate-secret" replaces one';
    return `${lines.join('\n')}\n${ended.includes(null) ? `${hint}\n` : ''}`;
  },
};

export const identityActs: readonly AdminAct[] = [
  {
    name: 'project create',
    summary: 'Create a project; the person with the address becomes its owner',
    positionals: [{ name: 'ID' }],
    options: [
      { name: 'name', takes: 'NAME', help: 'Display name; default: its id' },
      { name: 'owner', takes: 'EMAIL', help: 'Address of the first owner' },
    ],
    isChange: true,
    path: IDENTITY_PATHS.createProject,
    ask: (input) => ({
      project: input.positional(0),
      displayName: input.text('name') || input.positional(0),
      owner: input.required('owner'),
    }),
    render(answer) {
      const { project, email, owner } = answer as CreatedProject;
      const hint = `"svc admin login-link ${email}" makes a link by which they sign in`;
      return `project ${project} is made; its owner is ${email} (people/${owner})\n${hint}\n`;
    },
  },
  {
    name: 'project list',
    summary: 'List the projects and their owners',
    path: IDENTITY_PATHS.listProjects,
    ask: () => ({}),
    render: (answer) => projectTable(answer as readonly ListedProject[]),
  },
  {
    name: 'invite',
    summary: 'Invite somebody to a project; prints the link once',
    positionals: [{ name: 'PROJECT' }, { name: 'EMAIL' }],
    options: [roleOption],
    isChange: true,
    ifLost: () => ANOTHER_LINK,
    path: IDENTITY_PATHS.invite,
    ask: (input) => ({
      project: input.positional(0).replace(/^projects\//, ''),
      email: input.positional(1),
      role: input.required('role'),
    }),
    render: (answer) => linkText('invitation', answer as MadeLink),
  },
  {
    name: 'login-link',
    summary: 'Create a one-time sign-in link for a person, and print it',
    positionals: [PERSON],
    isChange: true,
    ifLost: () => ANOTHER_LINK,
    path: IDENTITY_PATHS.loginLink,
    ask: personIn,
    render: (answer) => linkText('sign-in link', answer as MadeLink),
  },
  {
    name: 'people list',
    summary: 'List the people who may sign in',
    path: IDENTITY_PATHS.listPeople,
    ask: () => ({}),
    render: (answer) => peopleTable(answer as readonly ListedPerson[]),
  },
  {
    name: 'people disable',
    summary: 'Lock a person out: sessions and links end, personal keys stop',
    positionals: [PERSON],
    options: [{ name: 'reason', takes: 'TEXT', help: 'For the audit; else "by the operator"' }],
    isChange: true,
    path: IDENTITY_PATHS.disablePerson,
    ask: (input) => ({ ...personIn(input), reason: input.text('reason') || 'by the operator' }),
    render: (answer) => personText('is locked out', answer as ChangedPerson),
  },
  {
    name: 'people enable',
    summary: 'Let a person in again; personal keys work again, sessions do not',
    positionals: [PERSON],
    isChange: true,
    path: IDENTITY_PATHS.enablePerson,
    ask: personIn,
    render: (answer) => personText('may sign in', answer as ChangedPerson),
  },
  {
    name: 'sessions end',
    summary: 'End every session of a person',
    positionals: [PERSON],
    isChange: true,
    path: IDENTITY_PATHS.endSessions,
    ask: personIn,
    render: (answer) => personText('is signed out', answer as ChangedPerson),
  },
  {
    name: 'revoke-key',
    summary: 'Revoke any key at once: for an emergency',
    positionals: [{ name: 'NAME|ID' }],
    isChange: true,
    path: IDENTITY_PATHS.revokeKey,
    ask: (input) => ({ key: input.positional(0) }),
    render(answer) {
      const { key, state, isNew } = answer as RevokedKey;
      return isNew ? `${key} is revoked\n` : `${key} has already ended: it is ${state}\n`;
    },
  },
  leakedAct,
];

function personIn(input: Parameters<AdminAct['ask']>[0]): { readonly person: string } {
  return { person: input.positional(0) };
}

/** The link stands on a line of its own, so that it can be taken whole. */
function linkText(what: string, { link, whom, expiresMs }: MadeLink): string {
  const until = localTime(Math.floor(expiresMs / 1000));
  return `${what} for ${printable(whom)}; it works once, until ${until}, and is not shown again:\n${link}\n`;
}

function personText(now: string, { displayName, person, sessions }: ChangedPerson): string {
  const ended = sessions === 1 ? '1 session ended' : `${sessions} sessions ended`;
  return `${printable(displayName)} (people/${person}) ${now}; ${ended}\n`;
}

function projectTable(projects: readonly ListedProject[]): string {
  return table(
    ['project', 'name', 'members', 'owners', 'made'],
    projects.map(({ project, displayName, members, owners, createdMs }) => [
      ...[project, displayName, String(members), owners.join(', ')],
      localTime(Math.floor(createdMs / 1000)),
    ]),
    'There is no project: "svc admin project create" makes one',
  );
}

function peopleTable(people: readonly ListedPerson[]): string {
  return table(
    ['person', 'name', 'email', 'state', 'sessions', 'projects', 'since'],
    people.map((each) => [
      ...[each.person, each.displayName],
      each.claimedEmail === '' ? each.email : `${each.claimedEmail} (not proven)`,
      each.disabledReason === null ? each.state : `${each.state}: ${each.disabledReason}`,
      ...[String(each.sessions), each.projects.join(', ')],
      localTime(Math.floor(each.createdMs / 1000)),
    ]),
    'There is nobody: "svc admin project create" makes a project and its owner',
  );
}
