/**
 * `svc admin`: the operator's work outside the API, over the socket in its data
 * folder: projects and their first owners, people, sessions, and keys in an emergency. Each action
 * is one row of `acts`.
 */
import { userInfo } from 'node:os';
import { closestName } from '../../actors/platform/closest-name.ts';
import { SchemaMismatch } from '../../sqlite/platform/database.ts';
import { FolderLocked } from '../../sqlite/platform/lock-file.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { StreamMisconfigured, StreamUnavailable } from '../../streams/platform/stream.ts';
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
  type UnlinkedPerson,
} from '../admin/identity-routes.ts';
import { ConfigError } from '../platform/settings/config.ts';
import {
  type AdminAction,
  auditActions,
  collectorActions,
  limitActions,
  restoredActions,
  snapshotActions,
} from './admin-actions.ts';
import { bounceActions } from './bounce-action.ts';
import { requestIdOption } from './client/action.ts';
import { type Option, parseInput } from './client/arguments.ts';
import { printable, printableLines, UsageError } from './client/faults.ts';
import { newUuid } from './client/names.ts';
import { json, table } from './client/output.ts';
import { processPorts } from './client/ports.ts';
import { localTime } from './client/texts.ts';
import { type Command, EXIT_FAULT, EXIT_OK, EXIT_USAGE, type Surroundings } from './command.ts';
import { memberActions } from './member-actions.ts';
import { rekeyAction } from './rekey-action.ts';
import { restoreEventsAction } from './restore-events-action.ts';
import { dataOption, requestedSettings } from './service-folder.ts';
import { streamActions } from './stream-actions.ts';

const sharedOptions: readonly Option[] = [
  dataOption,
  { name: 'json', help: 'Print the result as one JSON document, for programs' },
];

export const adminCommand: Command = {
  name: 'admin',
  summary: 'Create projects, invite their owners, disable people, revoke keys',
  help: () => overview(),
  helpOf: (action) => {
    const found = actions.filter(({ name }) => name === action || name.startsWith(`${action} `));
    return found.length === 0 ? undefined : found.map(actionHelp).join('\n');
  },
  async run(args, surroundings) {
    const found = findAction(args);
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

/** The action whose words the line starts with, or the problem of the line. */
function findAction(
  args: readonly string[],
): { readonly act: AdminAction; readonly rest: readonly string[] } | string {
  for (const act of actions) {
    const words = act.name.split(' ');
    if (words.every((word, place) => args[place] === word)) {
      return { act, rest: args.slice(words.length) };
    }
  }
  const words = args.filter((arg) => !arg.startsWith('-')).slice(0, 2);
  const given = words.join(' ');
  const family = actions.filter(({ name }) => name.startsWith(`${words[0]} `));
  const names = actions.map(({ name }) => name);
  if (given === '') return `specify an action: ${names.join(', ')}`;
  if (family.length > 0) return `specify one of: ${family.map(({ name }) => name).join(', ')}`;
  const closest = closestName(given, names);
  const hint = closest ? `did you mean "svc admin ${closest}"?` : '"svc help admin" lists them';
  return `${JSON.stringify(given)} is unknown: ${hint}`;
}

async function perform(
  act: AdminAction,
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
  const settings = requestedSettings(input, environment);
  const offline = act.offline && (() => act.offline?.(body, { settings, ports: client }));
  const answer = await ask(settings.data, act.path, body, offline);
  const isLost = (answer as { readonly secretAvailable?: boolean }).secretAvailable === false;
  if (input.isOn('json')) stdout(json(answer));
  else if (!isLost) printAnswer(act, answer, { stdout, stderr });
  if (!isLost) return EXIT_OK;
  const hint = act.secret?.ifLost(answer) ?? '';
  stderr(`The secret was in an earlier response and cannot be shown again.\n${hint}\n`);
  return EXIT_FAULT;
}

/** A secret is alone on standard output; the sentence about it is on standard error. */
function printAnswer(
  act: AdminAction,
  answer: unknown,
  { stdout, stderr }: Pick<Surroundings, 'stdout' | 'stderr'>,
): void {
  const text = act.render(answer);
  if (!act.secret) {
    stdout(text);
    return;
  }
  stderr(text);
  stdout(`${act.secret.of(answer)}\n`);
}

/** Options of an action, with those that all actions share. */
export function optionsOf({ options = [], isChange }: AdminAction): Option[] {
  return [...options, ...(isChange ? [requestIdOption] : []), ...sharedOptions];
}

async function ask(
  folder: string,
  path: string,
  body: Record<string, string>,
  offline?: () => Promise<unknown> | undefined,
): Promise<unknown> {
  try {
    return await askService(folder, path, undefined, body);
  } catch (error) {
    if (error instanceof NoAnswer && body.requestId) {
      throw new AdminFault(
        `${error.message}. It is unknown whether the change was made. Run the same command with ` +
          `--request-id ${body.requestId}: a request id is never applied twice`,
      );
    }
    if (!(error instanceof NoService)) throw error;
    if (offline !== undefined) return withoutService(offline);
    throw new AdminFault(
      `no service is running on ${folder}. Start it ("svc serve", or "systemctl start svc" if it is installed), or pass --data`,
    );
  }
}

/** Faults that an operator can act on become those of the command. */
async function withoutService(act: () => Promise<unknown> | undefined): Promise<unknown> {
  try {
    return await act();
  } catch (error) {
    const isKnown =
      error instanceof Refusal ||
      error instanceof FolderLocked ||
      error instanceof StreamUnavailable ||
      error instanceof StreamMisconfigured ||
      error instanceof SchemaMismatch;
    if (isKnown) throw new AdminFault(error.message, { cause: error });
    if (error instanceof ConfigError) throw new AdminFault(error.problems.join('\n'));
    throw error;
  }
}

/** Name for the audit; under sudo, the calling user. */
function operatorName(environment: Surroundings['environment']): string {
  try {
    return environment.SUDO_USER || userInfo().username;
  } catch {
    // A user id without an entry in the password file, as in some containers.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

function reportFault(act: AdminAction, error: unknown, { stderr }: Surroundings): number {
  const isKnown = error instanceof UsageError || error instanceof AdminFault;
  if (!isKnown) {
    const code = (error as NodeJS.ErrnoException | null)?.code;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    stderr(`svc admin ${act.name}: only root and the user that runs the service may do this\n`);
    return EXIT_FAULT;
  }
  const isOwn = error instanceof UsageError;
  const said = isOwn ? printableLines(error.message) : printable(error.message);
  stderr(`svc admin ${act.name}: ${said}\n`);
  if (error instanceof UsageError) {
    stderr(`${error.hint === undefined ? '' : `  ${error.hint}\n`}\n${actionHelp(act)}`);
    return EXIT_USAGE;
  }
  return act.exitOnFault ?? EXIT_FAULT;
}

/** One line: `svc admin people list`. */
export function usageOf({ name, positionals = [], options = [] }: AdminAction): string {
  const places = positionals.map((place) => (place.optional ? `[${place.name}]` : place.name));
  const flags = options.map(
    (option) => `--${option.name}${option.takes ? ` ${option.takes}` : ''}`,
  );
  return ['svc admin', name, ...places, ...flags].join(' ');
}

function overview(): string {
  const lines = actions.map((act) => `  ${usageOf(act)}\n      ${act.summary}`);
  const shared = sharedOptions.map(
    ({ name, takes = '', help }) => `  ${`--${name} ${takes}`.padEnd(14)} ${help}`,
  );
  return [
    'Usage: svc admin <action> [--data FOLDER] [--json]',
    '',
    ...lines,
    '',
    ...shared,
    '',
    'Commands that change something also accept --request-id. Repeating a command with the same id returns',
    'the earlier result and changes nothing.',
    'Run it as the user that runs the service on the folder.',
    'Exit codes: 0 success, 1 rejected or no service running, 2 invalid command line.',
    '',
  ].join('\n');
}

function actionHelp(act: AdminAction): string {
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
  help: 'Role of the member: VIEWER reads, EDITOR also changes alerts, OWNER also manages members and keys',
};

const linkSecret: AdminAction['secret'] = {
  of: (answer) => (answer as MadeLink).link,
  ifLost: () => 'Run the same command with a new request id to create another link',
};

const PERSON = { name: 'EMAIL|PERSON' } as const;

const LEAKED_LINES_MAX = 500;

const leakedAction: AdminAction = {
  name: 'leaked',
  summary: 'Revoke leaked secrets, read from standard input, one per line',
  readsInput: true,
  path: IDENTITY_PATHS.leaked,
  ask(_input, text) {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    const isOneEach = lines.every((line) => !/\s/.test(line.trim()));
    if (lines.length > 0 && lines.length <= LEAKED_LINES_MAX && isOneEach) {
      return { texts: lines.map((line) => line.trim()).join('\n') };
    }
    const seen = isOneEach ? `${lines.length} lines` : 'a line with white space';
    throw new UsageError(
      `Standard input has ${seen}. Enter 1 to ${LEAKED_LINES_MAX} secrets, one per line`,
      'Do not pass secrets as arguments, which every process can read: svc admin leaked < FILE',
    );
  },
  render(answer) {
    const { ended } = answer as ReportedLeaks;
    const lines = ended.map((name, place) =>
      name === null
        ? `line ${place + 1}: not a valid secret (unknown, expired or incomplete)`
        : `line ${place + 1}: revoked ${name}`,
    );
    const hint =
      'The signing secret of a webhook is not recognized. Replace it: "svc destinations rotate-secret"';
    return `${lines.join('\n')}\n${ended.includes(null) ? `${hint}\n` : ''}`;
  },
};

/** Actions of `svc admin` on projects, people, sessions and keys. */
const identityActions: readonly AdminAction[] = [
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
      const hint = `"svc admin login-link ${email}" creates a sign-in link for them`;
      return `project ${project} created; its owner is ${email} (people/${owner})\n${hint}\n`;
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
    summary: 'Invite a person to a project; prints the link once',
    positionals: [{ name: 'PROJECT' }, { name: 'EMAIL' }],
    options: [roleOption],
    isChange: true,
    secret: linkSecret,
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
    secret: linkSecret,
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
    summary: 'Disable a person: sessions and links end, personal keys stop working',
    positionals: [PERSON],
    options: [
      { name: 'reason', takes: 'TEXT', help: 'Reason for the audit; default: "by the operator"' },
    ],
    isChange: true,
    path: IDENTITY_PATHS.disablePerson,
    ask: (input) => ({ ...personIn(input), reason: input.text('reason') || 'by the operator' }),
    render: (answer) => personText('is disabled', answer as ChangedPerson),
  },
  {
    name: 'people enable',
    summary: 'Enable a person again: personal keys work again, ended sessions do not',
    positionals: [PERSON],
    isChange: true,
    path: IDENTITY_PATHS.enablePerson,
    ask: personIn,
    render: (answer) => personText('may sign in', answer as ChangedPerson),
  },
  {
    name: 'people unlink',
    summary: 'Unlink the accounts of a person at the identity provider',
    positionals: [PERSON],
    isChange: true,
    path: IDENTITY_PATHS.unlinkAccounts,
    ask: personIn,
    render(answer) {
      const { displayName, person, accounts } = answer as UnlinkedPerson;
      const unlinked = accounts === 1 ? '1 account unlinked' : `${accounts} accounts unlinked`;
      return `${printable(displayName)} (people/${person}): ${unlinked}; the next sign-in with a verified address links one again\n`;
    },
  },
  {
    name: 'sessions end',
    summary: 'End all sessions of a person',
    positionals: [PERSON],
    isChange: true,
    path: IDENTITY_PATHS.endSessions,
    ask: personIn,
    render: (answer) => personText('is signed out', answer as ChangedPerson),
  },
  {
    name: 'revoke-key',
    summary: 'Revoke any key at once, for emergencies',
    positionals: [{ name: 'NAME|ID' }],
    isChange: true,
    path: IDENTITY_PATHS.revokeKey,
    ask: (input) => ({ key: input.positional(0) }),
    render(answer) {
      const { key, state, isNew } = answer as RevokedKey;
      return isNew ? `${key} is revoked\n` : `${key} has already ended (${state})\n`;
    },
  },
  leakedAction,
];

function personIn(input: Parameters<AdminAction['ask']>[0]): { readonly person: string } {
  return { person: input.positional(0) };
}

/** The sentence before the link. */
function linkText(what: string, { whom, expiresMs }: MadeLink): string {
  const until = localTime(Math.floor(expiresMs / 1000));
  return `${what} for ${printable(whom)}; it works once, until ${until}, and cannot be shown again:\n`;
}

function personText(now: string, { displayName, person, sessions }: ChangedPerson): string {
  const ended = sessions === 1 ? '1 session ended' : `${sessions} sessions ended`;
  return `${printable(displayName)} (people/${person}) ${now}; ${ended}\n`;
}

function projectTable(projects: readonly ListedProject[]): string {
  return table(
    ['project', 'name', 'members', 'owners', 'made'],
    projects.map(({ project, displayName, members, owners, createdMs }) => [
      project,
      displayName,
      String(members),
      owners.join(', '),
      localTime(Math.floor(createdMs / 1000)),
    ]),
    'No projects. Create one: "svc admin project create"',
  );
}

function peopleTable(people: readonly ListedPerson[]): string {
  // Rare, and long.
  const hasProblems = people.some(({ mailProblem }) => mailProblem !== '');
  return table(
    [
      ...['person', 'name', 'email', 'state', 'sessions', 'projects', 'since'],
      ...(hasProblems ? ['mail'] : []),
    ],
    people.map((each) => [
      each.person,
      each.displayName,
      each.claimedEmail === '' ? each.email : `${each.claimedEmail} (not verified)`,
      each.disabledReason === null ? each.state : `${each.state}: ${each.disabledReason}`,
      String(each.sessions),
      each.projects.join(', '),
      localTime(Math.floor(each.createdMs / 1000)),
      ...(hasProblems ? [each.mailProblem] : []),
    ]),
    'No people. Create a project and its owner: "svc admin project create"',
  );
}

/** All actions, in the order of the help. */
export const actions: readonly AdminAction[] = [
  ...identityActions,
  ...collectorActions,
  ...auditActions,
  ...limitActions,
  ...restoredActions,
  ...snapshotActions,
  ...streamActions,
  ...memberActions,
  rekeyAction,
  restoreEventsAction,
  ...bounceActions,
];
