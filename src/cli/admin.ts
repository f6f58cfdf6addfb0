/**
 * `svc admin`: what the operator of a service does beside its API, over the socket in its data
 * folder: projects and their first owners, people, sessions, and keys in an emergency. A further
 * act is one row of `acts`.
 */
import { userInfo } from 'node:os';
import { closestName } from '../../actors/platform/closest-name.ts';
import { AdminFault, askService, NoAnswer, NoService } from '../admin/admin-client.ts';
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
import {
  type AdminAct,
  auditActs,
  collectorActs,
  limitActs,
  restoredActs,
  snapshotActs,
} from './admin-acts.ts';
import { requestIdOption } from './client/action.ts';
import { type Option, parseInput } from './client/arguments.ts';
import { printable, printableLines, UsageError } from './client/faults.ts';
import { newUuid } from './client/names.ts';
import { json, localTime, table } from './client/output.ts';
import { processPorts } from './client/ports.ts';
import { type Command, EXIT_FAULT, EXIT_OK, EXIT_USAGE, type Surroundings } from './command.ts';
import { memberActs } from './member-acts.ts';
import { dataOption, settingsAsked } from './service-folder.ts';
import { streamActs } from './stream-acts.ts';

const sharedOptions: readonly Option[] = [
  dataOption,
  { name: 'json', help: 'The result as one JSON document, for programs' },
];

export const adminCommand: Command = {
  name: 'admin',
  summary: 'Create projects, invite their owners, lock people out, revoke keys',
  help: () => overview(),
  helpOf: (action) => {
    const found = acts.filter(({ name }) => name === action || name.startsWith(`${action} `));
    return found.length === 0 ? undefined : found.map(actHelp).join('\n');
  },
  async run(args, surroundings) {
    const found = findAct(args);
    if (typeof found === 'string') {
      surroundings.stderr(`svc admin: ${found}\n`);
      return EXIT_USAGE;
    }
    try {
      return await perform(found.act, found.rest, surroundings);
    } catch (error) {
      return reportFault(found.act, error, surroundings);
    }
  },
};

/** The act whose words the line begins with, or what is wrong with the line. */
function findAct(
  args: readonly string[],
): { readonly act: AdminAct; readonly rest: readonly string[] } | string {
  for (const act of acts) {
    const words = act.name.split(' ');
    if (words.every((word, place) => args[place] === word)) {
      return { act, rest: args.slice(words.length) };
    }
  }
  const words = args.filter((arg) => !arg.startsWith('-')).slice(0, 2);
  const given = words.join(' ');
  const family = acts.filter(({ name }) => name.startsWith(`${words[0]} `));
  const names = acts.map(({ name }) => name);
  if (given === '') return `say what: ${names.join(', ')}`;
  if (family.length > 0) return `say one of: ${family.map(({ name }) => name).join(', ')}`;
  const closest = closestName(given, names);
  const hint = closest ? `did you mean "svc admin ${closest}"?` : '"svc help admin" lists them';
  return `${JSON.stringify(given)} is unknown: ${hint}`;
}

async function perform(
  act: AdminAct,
  args: readonly string[],
  { environment, stdout, stderr, client = processPorts() }: Surroundings,
): Promise<number> {
  const options = optionsOf(act);
  const shape = { options, positionals: act.positionals ?? [] };
  const input = parseInput(args, shape, client.clock.now());
  const requestId = act.isChange ? (input.text('request-id') ?? newUuid(client.random)) : '';
  const text = act.readsInput ? await client.readInput() : '';
  const body = {
    ...act.ask(input, text),
    ...(act.isChange && { requestId }),
    operator: operatorName(environment),
  };
  const folder = settingsAsked(input, environment).data;
  const answer = await ask(folder, act.path, body);
  const isLost = (answer as { readonly secretAvailable?: boolean }).secretAvailable === false;
  if (input.isOn('json')) stdout(json(answer));
  else if (!isLost) stdout(act.render(answer));
  if (!isLost) return EXIT_OK;
  const hint = act.ifLost?.(answer) ?? '';
  stderr(`The secret was in an earlier answer and cannot be shown again.\n${hint}\n`);
  return EXIT_FAULT;
}

/** Options of an act, those that all share included. */
export function optionsOf({ options = [], isChange }: AdminAct): Option[] {
  return [...options, ...(isChange ? [requestIdOption] : []), ...sharedOptions];
}

async function ask(folder: string, path: string, body: Record<string, string>): Promise<unknown> {
  try {
    return await askService(folder, path, undefined, body);
  } catch (error) {
    if (error instanceof NoAnswer && body.requestId) {
      throw new AdminFault(
        `${error.message}: whether it was done is not known. Run the same command with ` +
          `--request-id ${body.requestId}: one request id is never acted on twice`,
      );
    }
    if (!(error instanceof NoService)) throw error;
    throw new AdminFault(
      `no service runs on ${folder}: start it ("svc serve", or "systemctl start svc" where it is installed), or pass --data`,
    );
  }
}

/** Who is named in the audit; under sudo, who called it. */
function operatorName(environment: Surroundings['environment']): string {
  try {
    return environment.SUDO_USER || userInfo().username;
  } catch {
    // A user id without an entry in the password file, as in some containers.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

function reportFault(act: AdminAct, error: unknown, { stderr }: Surroundings): number {
  const isKnown = error instanceof UsageError || error instanceof AdminFault;
  if (!isKnown) {
    const code = (error as NodeJS.ErrnoException | null)?.code;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    stderr(`svc admin ${act.name}: only the user that the service runs as, or root, may do this\n`);
    return EXIT_FAULT;
  }
  const isOwn = error instanceof UsageError;
  const said = isOwn ? printableLines(error.message) : printable(error.message);
  stderr(`svc admin ${act.name}: ${said}\n`);
  if (error instanceof UsageError) {
    stderr(`${error.hint === undefined ? '' : `  ${error.hint}\n`}\n${actHelp(act)}`);
    return EXIT_USAGE;
  }
  return EXIT_FAULT;
}

/** One line: `svc admin people list`. */
export function usageOf({ name, positionals = [], options = [] }: AdminAct): string {
  const places = positionals.map((place) => (place.optional ? `[${place.name}]` : place.name));
  const flags = options.map(
    (option) => `--${option.name}${option.takes ? ` ${option.takes}` : ''}`,
  );
  return ['svc admin', name, ...places, ...flags].join(' ');
}

function overview(): string {
  const lines = acts.map((act) => `  ${usageOf(act)}\n      ${act.summary}`);
  const shared = sharedOptions.map(
    ({ name, takes = '', help }) => `  ${`--${name} ${takes}`.padEnd(14)} ${help}`,
  );
  return [
    'Usage: svc admin <act> [--data FOLDER] [--json]',
    ...['', ...lines, '', ...shared, ''],
    'Commands that change something also take --request-id: the same command with the same id is answered',
    'as before, and nothing is done twice.',
    'It asks the service that runs on the folder, as the user that the service runs as.',
    'Exit codes: 0 done, 1 refused or no service runs, 2 invalid command line.',
    '',
  ].join('\n');
}

function actHelp(act: AdminAct): string {
  const options = optionsOf(act);
  const heads = options.map(({ name, takes }) => `--${name}${takes ? ` ${takes}` : ''}`);
  const width = Math.max(...heads.map((head) => head.length));
  const lines = options.map(
    ({ help }, place) => `  ${(heads[place] ?? '').padEnd(width)}  ${help}`,
  );
  return `Usage: ${usageOf(act)}\n\n${act.summary}.\n\n${lines.join('\n')}\n`;
}

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

/** Acts of `svc admin` about projects, people, sessions and keys. */
const identityActs: readonly AdminAct[] = [
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
    summary:
      'Create a one-time sign-in link for a person, or for the only owner of projects/ID or of all projects',
    positionals: [{ name: 'EMAIL|PERSON|PROJECT', optional: true }],
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

/** All acts, in the order of the help. */
export const acts: readonly AdminAct[] = [
  ...identityActs,
  ...collectorActs,
  ...auditActs,
  ...limitActs,
  ...restoredActs,
  ...snapshotActs,
  ...streamActs,
  ...memberActs,
];
