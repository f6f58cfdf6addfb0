/**
 * Operator routes for projects, people and keys, over the service's socket. The operator vouches
 * for addresses, because anyone who may open the socket could read the database as well. Every act
 * is a commit by `operator/<user>`, where the user is the one who runs the command.
 */
import { type Members, projectRecord } from '../../actors/identity/members.ts';
import { MEMBERS_MAX } from '../../actors/identity/membership-changes.ts';
import type { People } from '../../actors/identity/people.ts';
import {
  claimOf,
  emailOrNone,
  parseEmail,
  personByClaim,
  personRow,
} from '../../actors/identity/people-index.ts';
import { signInsOf } from '../../actors/identity/sign-ins.ts';
import type { Draft, Host } from '../../actors/platform/host/host-port.ts';
import { mailProblemOf } from '../../actors/platform/mail-problems.ts';
import type { Role } from '../../machines/identity/membership.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { itemsOf } from '../../streams/platform/commit/page.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import { projectFacts } from '../identity/api/project-messages.ts';
import type { LeakReports } from '../identity/auth/leaked-keys.ts';
import { linkAddress } from '../platform/mail/letters.ts';
import type { AdminRoutes } from './admin-server.ts';
import {
  type Body,
  changeOf,
  type OperatorChange,
  operatorOf,
  optionalText,
  text,
} from './operator.ts';

export const IDENTITY_PATHS = {
  createProject: '/v1/projects/create',
  listProjects: '/v1/projects/list',
  invite: '/v1/projects/invite',
  loginLink: '/v1/people/login-link',
  listPeople: '/v1/people/list',
  disablePerson: '/v1/people/disable',
  enablePerson: '/v1/people/enable',
  endSessions: '/v1/people/end-sessions',
  unlinkAccounts: '/v1/people/unlink',
  revokeKey: '/v1/keys/revoke',
  leaked: '/v1/keys/leaked',
} as const;

/** Times in Unix ms, in all responses. */
export interface CreatedProject {
  readonly project: string;
  /** Id and address of the owner. */
  readonly owner: string;
  readonly email: string;
}

export interface ListedProject {
  readonly project: string;
  readonly displayName: string;
  readonly createdMs: number;
  readonly members: number;
  /** Display names. */
  readonly owners: readonly string[];
}

export interface MadeLink {
  /** Address to open. It contains the secret and is returned only once. */
  readonly link: string;
  /** false for a resend; `link` is '' then, and cannot be read again. */
  readonly secretAvailable: boolean;
  readonly expiresMs: number;
  /** The recipient, in words. */
  readonly whom: string;
}

export interface ListedPerson {
  readonly person: string;
  readonly displayName: string;
  /** Verified; '' = none. */
  readonly email: string;
  /** From an invitation, not yet proven; '' = none. */
  readonly claimedEmail: string;
  readonly state: string;
  readonly disabledReason: string | null;
  /** Why the mail server did not accept the last mail to the person; '' = none. */
  readonly mailProblem: string;
  readonly sessions: number;
  readonly projects: readonly string[];
  readonly createdMs: number;
}

export interface ChangedPerson {
  readonly person: string;
  readonly displayName: string;
  readonly state: string;
  /** Number of sessions that it ended. */
  readonly sessions: number;
}

export interface UnlinkedPerson {
  readonly person: string;
  readonly displayName: string;
  /** Number of accounts at identity providers that were unlinked. */
  readonly accounts: number;
}

export interface RevokedKey {
  /** Resource name. */
  readonly key: string;
  readonly state: string;
  /** false if it had already ended. */
  readonly isNew: boolean;
}

export interface ReportedLeaks {
  /** For each line, in order: the name of the ended resource; null = the text gives no access. */
  readonly ended: readonly (string | null)[];
}

export interface IdentityRouteDeps {
  readonly leaks: LeakReports;
  readonly host: Host;
  readonly people: People;
  readonly members: Members;
  /** Public origin of the service. */
  readonly publicUrl: string;
}

export function identityRoutes(deps: IdentityRouteDeps): AdminRoutes {
  const change = changeRoute(deps);
  return {
    [IDENTITY_PATHS.listProjects]: async () => listProjects(deps.host),
    [IDENTITY_PATHS.listPeople]: async () => listPeople(deps),
    [IDENTITY_PATHS.leaked]: async (_signal, _onProgress, body) => reportLeaks(deps, body),
    ...change('createProject', createProject),
    ...change('invite', invite),
    ...change('loginLink', loginLink),
    ...change('disablePerson', (all, body, by) => setDisabled(all, body, by, text(body, 'reason'))),
    ...change('enablePerson', (all, body, by) => setDisabled(all, body, by, null)),
    ...change('endSessions', endSessions),
    ...change('unlinkAccounts', unlinkAccounts),
    ...change('revokeKey', revokeKey),
  };
}

type Change = (
  deps: IdentityRouteDeps,
  body: Body,
  change: OperatorChange,
) => Promise<CreatedProject | MadeLink | ChangedPerson | UnlinkedPerson | RevokedKey>;

/** Routes of acts that change something, each under a request id. */
function changeRoute(deps: IdentityRouteDeps) {
  return (name: keyof typeof IDENTITY_PATHS, act: Change): AdminRoutes => {
    const path = IDENTITY_PATHS[name];
    return { [path]: async (_signal, _onProgress, body) => act(deps, body, changeOf(path, body)) };
  };
}

async function createProject(
  { host, people, members }: IdentityRouteDeps,
  body: Body,
  { by, request }: OperatorChange,
): Promise<CreatedProject> {
  const project = text(body, 'project');
  const email = parseEmail('--owner', text(body, 'owner'));
  // Checked first, so that no person is created in vain; decided again in the project's own chain.
  if (host.view(project).record('project', project)) {
    await assertAnswered(host, { project, by, request });
  }
  const owner = await people.ensurePerson(by, { displayName: email, email }, request);
  const displayName = text(body, 'displayName');
  await members.createProject({ by, project, displayName, owner, request });
  return { project, owner, email };
}

/** Throws INVALID_STATE unless this very request created the project. */
async function assertAnswered(
  host: Host,
  change: OperatorChange & { readonly project: string },
): Promise<void> {
  await host.submit({
    ...change,
    decide() {
      throw new Refusal('INVALID_STATE', `The project ${change.project} already exists`);
    },
  });
}

function listProjects(host: Host): ListedProject[] {
  return [...host.projects()].sort().flatMap((project) => {
    const view = host.view(project);
    if (!view.record('project', project)) return [];
    const rows = view.instances('membership', { limit: MEMBERS_MAX }).items;
    const active = rows.filter(({ value }) => value === 'active').map(({ context }) => context);
    const owners = active.filter(({ role }) => role === 'OWNER');
    const names = owners.map(({ displayName }) => displayName).sort();
    return [{ project, ...projectFacts(host, project), members: active.length, owners: names }];
  });
}

const ROLES: readonly string[] = ['VIEWER', 'EDITOR', 'OWNER'] satisfies Role[];

async function invite(
  { host, people, members, publicUrl }: IdentityRouteDeps,
  body: Body,
  change: OperatorChange,
): Promise<MadeLink> {
  const project = text(body, 'project');
  const { displayName } = projectRecord(host.view(project), project);
  const role = text(body, 'role');
  if (!ROLES.includes(role)) {
    throw invalidField('role', `--role must be one of ${ROLES.join(', ')}`);
  }
  const { invitation, token } = await members.invitations.invite({
    project,
    ...change,
    email: text(body, 'email'),
    role: role as Role,
  });
  const { email, expiresMs } = invitation.context;
  const address = String(email);
  // The link gives them no access: they open it while signed in, or join by the address when they
  // sign in.
  const isKnown = people.personByEmail(address) !== undefined;
  const hint = isKnown ? ` (known here: signs in first, "svc admin login-link ${address}")` : '';
  const whom = `${address}, as ${role} of ${displayName}${hint}`;
  return { ...displayedLink(publicUrl, token), expiresMs: Number(expiresMs), whom };
}

async function loginLink(
  deps: IdentityRouteDeps,
  body: Body,
  { by, request }: OperatorChange,
): Promise<MadeLink> {
  const who = optionalText(body, 'person') ?? '';
  const isOfProject = who === '' || who.startsWith('projects/');
  const person = isOfProject ? onlyOwner(deps, who) : personOf(deps, body);
  const { token, expiresMs } = await deps.people.linkOnRequest(by, person, request);
  const { displayName } = personRow(deps.host.view(SYSTEM_PROJECT), person).context;
  return { ...displayedLink(deps.publicUrl, token), expiresMs, whom: displayName };
}

function displayedLink(publicUrl: string, token: string | null) {
  const link = token === null ? '' : linkAddress(publicUrl, token);
  return { link, secretAvailable: token !== null };
}

function listPeople({ host, members }: IdentityRouteDeps): ListedPerson[] {
  const system = host.view(SYSTEM_PROJECT);
  const people = [...itemsOf(1_000, (page) => system.instances('person', page))];
  return people.map((row) => {
    const { displayName, email, disabledReason, createdMs } = row.context;
    return {
      person: row.instance,
      displayName,
      email,
      disabledReason,
      createdMs,
      mailProblem: mailProblemOf(system, `people/${row.instance}`),
      claimedEmail: claimOf(system, row.instance) ?? '',
      state: String(row.value),
      sessions: signInsOf(system, row.instance).sessions.length,
      projects: members.placesOf(row.instance).map(({ project, role }) => `${project} ${role}`),
    };
  });
}

async function setDisabled(
  deps: IdentityRouteDeps,
  body: Body,
  { by, request }: OperatorChange,
  reason: string | null,
): Promise<ChangedPerson> {
  const person = personOf(deps, body);
  const sessions = await deps.people.setPersonDisabled(by, person, reason, request);
  return changedPerson(deps.host, person, sessions);
}

async function endSessions(
  deps: IdentityRouteDeps,
  body: Body,
  change: OperatorChange,
): Promise<ChangedPerson> {
  const person = personOf(deps, body);
  const sessions = await deps.people.endAllSessions(person, 'ENDED_BY_OPERATOR', change);
  return changedPerson(deps.host, person, sessions);
}

async function unlinkAccounts(
  deps: IdentityRouteDeps,
  body: Body,
  { by, request }: OperatorChange,
): Promise<UnlinkedPerson> {
  const person = personOf(deps, body);
  const accounts = await deps.people.unlinkAccounts(by, person, request);
  const { displayName } = personRow(deps.host.view(SYSTEM_PROJECT), person).context;
  return { person, displayName, accounts };
}

/** The current state of the person, and the sessions that the act ended. */
function changedPerson(host: Host, person: string, sessions: number): ChangedPerson {
  const row = personRow(host.view(SYSTEM_PROJECT), person);
  const { displayName } = row.context;
  return { person, displayName, state: String(row.value), sessions };
}

/** By resource name or id, in any project, for an emergency. */
async function revokeKey(
  { host }: IdentityRouteDeps,
  body: Body,
  change: OperatorChange,
): Promise<RevokedKey> {
  const given = text(body, 'key');
  const id = given.slice(given.lastIndexOf('/') + 1);
  const row = host.findInstance('credential', id);
  const key = `${String(row?.context.owner ?? '')}/keys/${id}`;
  if (!row || (given !== id && given !== key)) {
    throw new Refusal(
      'NOT_FOUND',
      `There is no key ${given}. "svc keys list" shows the names of keys`,
    );
  }
  const { answer } = await host.submit({
    project: row.project,
    ...change,
    decide: (draft) => revokeInDraft(draft, id, change.by),
  });
  return { key, ...answer };
}

/** Texts of secrets, one per line. Resending is harmless, because ended secrets stay ended. */
async function reportLeaks({ leaks }: IdentityRouteDeps, body: Body): Promise<ReportedLeaks> {
  const texts = text(body, 'texts').split(/\s+/);
  const ended = await leaks.report(operatorOf(body), texts);
  return { ended: ended.map((each) => each?.name ?? null) };
}

/** The operator ends a key; `isNew` is false if it had already ended. */
export function revokeInDraft(draft: Draft, id: string, by: Actor) {
  const event = {
    type: 'revoked',
    at: draft.at,
    reason: 'REVOKED_BY_OPERATOR',
    by: by.name,
  } as const;
  const { changed, instance } = draft.send('credential', id, event);
  return { isNew: changed, state: String(instance.value) };
}

/**
 * The one person who owns the project and may sign in. Throws NOT_FOUND, INVALID_FIELD.
 * @param project `projects/<id>`; '' = any project
 */
function onlyOwner({ host, members }: IdentityRouteDeps, project: string): string {
  const people = [...itemsOf(1_000, (page) => host.view(SYSTEM_PROJECT).instances('person', page))];
  const owners = people.filter(
    ({ instance, value }) =>
      value === 'active' &&
      members
        .placesOf(instance)
        .some(
          (place) => place.role === 'OWNER' && ['', `projects/${place.project}`].includes(project),
        ),
  );
  const [owner, ...others] = owners;
  if (owner !== undefined && others.length === 0) return owner.instance;
  const hint = '"svc admin people list" shows the people';
  const what = project || 'a project';
  if (owner === undefined) throw new Refusal('NOT_FOUND', `No active person owns ${what}: ${hint}`);
  throw invalidField('person', `${owners.length} people own ${what}. Name one of them: ${hint}`);
}

/** By verified address, `people/<id>` or id. Throws NOT_FOUND. */
function personOf({ host, people }: IdentityRouteDeps, body: Body): string {
  const who = text(body, 'person');
  const system = host.view(SYSTEM_PROJECT);
  const id = who.includes('@') ? people.personByEmail(who) : who.replace(/^people\//, '');
  if (id !== undefined && system.instance('person', id)) return id;
  const claimant = personByClaim(system, emailOrNone(who));
  const hint = claimant
    ? `people/${claimant} joined by an invitation to it. Use that name if you mean them`
    : '"svc admin people list" shows all people';
  throw new Refusal('NOT_FOUND', `No person is known as ${who}. ${hint}`);
}
