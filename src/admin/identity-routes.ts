/**
 * What operators may do about projects, people and keys, over the service's socket. The operator
 * vouches for addresses: whoever may open the socket could read the database as well. Every act is
 * a commit by `operator/<user>`, the user being the one who runs the command.
 */
import type { Host, ProjectView } from '../../actors/host-port.ts';
import { projectRecord } from '../../actors/identity/members.ts';
import { MEMBERS_MAX, membershipOf } from '../../actors/identity/membership-changes.ts';
import {
  claimOf,
  contextOfPerson,
  emailOrNone,
  parseEmail,
  personByClaim,
  personRow,
} from '../../actors/identity/people-index.ts';
import type { Members, People } from '../../actors/identity/people-port.ts';
import { signInsOf } from '../../actors/identity/sign-ins.ts';
import type { Role } from '../../machines/membership.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/commit/commit.ts';
import { Refusal } from '../../streams/refusal.ts';
import { linkAddress } from '../mail/letters.ts';
import { projectFacts } from '../rpc/identity/project-messages.ts';
import type { AdminRoute, AdminRoutes } from './admin-server.ts';

export const IDENTITY_PATHS = {
  createProject: '/v1/projects/create',
  listProjects: '/v1/projects/list',
  invite: '/v1/projects/invite',
  loginLink: '/v1/people/login-link',
  listPeople: '/v1/people/list',
  disablePerson: '/v1/people/disable',
  enablePerson: '/v1/people/enable',
  endSessions: '/v1/people/end-sessions',
  revokeKey: '/v1/keys/revoke',
} as const;

/** Times in Unix ms, in all answers. */
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
  /** Address to open; it holds the secret, and is told this once. */
  readonly link: string;
  readonly expiresMs: number;
  /** For whom, in words. */
  readonly whom: string;
}

export interface ListedPerson {
  readonly person: string;
  readonly displayName: string;
  /** Verified; '' = none. */
  readonly email: string;
  /** Told by an invitation, and proven by nobody yet; '' = none. */
  readonly claimedEmail: string;
  readonly state: string;
  readonly disabledReason: string | null;
  readonly sessions: number;
  readonly projects: readonly string[];
  readonly createdMs: number;
}

export interface ChangedPerson {
  readonly person: string;
  readonly displayName: string;
  readonly state: string;
  /** Sessions that were ended by it. */
  readonly sessions: number;
}

export interface RevokedKey {
  /** Resource name. */
  readonly key: string;
  readonly state: string;
  /** false: it had ended before. */
  readonly isNew: boolean;
}

export interface IdentityRouteDeps {
  readonly host: Host;
  readonly people: People;
  readonly members: Members;
  /** Origin under which people reach the service. */
  readonly publicUrl: string;
}

type Body = Parameters<AdminRoute>[2];

export function identityRoutes(deps: IdentityRouteDeps): AdminRoutes {
  const routes: Record<keyof typeof IDENTITY_PATHS, (body: Body) => Promise<unknown>> = {
    createProject: (body) => createProject(deps, body),
    listProjects: async () => listProjects(deps.host),
    invite: (body) => invite(deps, body),
    loginLink: (body) => loginLink(deps, body),
    listPeople: async () => listPeople(deps),
    disablePerson: (body) => setDisabled(deps, body, text(body, 'reason')),
    enablePerson: (body) => setDisabled(deps, body, null),
    endSessions: (body) => endSessions(deps, body),
    revokeKey: (body) => revokeKey(deps.host, body),
  };
  return Object.fromEntries(
    Object.entries(routes).map(([name, act]) => [
      IDENTITY_PATHS[name as keyof typeof IDENTITY_PATHS],
      (_signal, _onProgress, body) => act(body),
    ]) satisfies [string, AdminRoute][],
  );
}

async function createProject(
  { host, people, members }: IdentityRouteDeps,
  body: Body,
): Promise<CreatedProject> {
  const by = operatorOf(body);
  const project = text(body, 'project');
  const email = parseEmail('--owner', text(body, 'owner'));
  // Before a person is made for nothing; decided again in the project's own chain.
  if (host.view(project).record('project', project)) {
    throw new Refusal('INVALID_STATE', `There is a project ${project} already`);
  }
  const owner = await people.ensurePerson(by, { displayName: email, email });
  await members.createProject({ by, project, displayName: text(body, 'displayName'), owner });
  return { project, owner, email };
}

function listProjects(host: Host): ListedProject[] {
  return [...host.projects()].sort().flatMap((project) => {
    const view = host.view(project);
    if (!view.record('project', project)) return [];
    const rows = view.instances('membership', { limit: MEMBERS_MAX }).items;
    const active = rows.filter(({ value }) => value === 'active').map(membershipOf);
    const owners = active.filter(({ role }) => role === 'OWNER');
    const names = owners.map(({ displayName }) => displayName).sort();
    return [{ project, ...projectFacts(host, project), members: active.length, owners: names }];
  });
}

const ROLES: readonly string[] = ['VIEWER', 'EDITOR', 'OWNER'] satisfies Role[];

async function invite(
  { host, members, publicUrl }: IdentityRouteDeps,
  body: Body,
): Promise<MadeLink> {
  const project = text(body, 'project');
  const { displayName } = projectRecord(host.view(project), project);
  const role = text(body, 'role');
  if (!ROLES.includes(role)) {
    throw new Refusal('INVALID_FIELD', `--role is one of ${ROLES.join(', ')}`, { field: 'role' });
  }
  const { invitation, token } = await members.invitations.invite({
    ...{ project, by: operatorOf(body), email: text(body, 'email') },
    role: role as Role,
  });
  if (token === null) throw new Error('An invitation without a request id has no token');
  const { email, expiresMs } = invitation.context;
  const whom = `${String(email)}, as ${role} of ${displayName}`;
  return { link: linkAddress(publicUrl, token), expiresMs: Number(expiresMs), whom };
}

async function loginLink(deps: IdentityRouteDeps, body: Body): Promise<MadeLink> {
  const person = personOf(deps, body);
  const { token, expiresMs } = await deps.people.linkFor(operatorOf(body), person, 'operator');
  const { displayName } = contextOfPerson(personRow(deps.host.view(SYSTEM_PROJECT), person));
  return { link: linkAddress(deps.publicUrl, token), expiresMs, whom: displayName };
}

function listPeople({ host, members }: IdentityRouteDeps): ListedPerson[] {
  const system = host.view(SYSTEM_PROJECT);
  return everyPerson(system).map((row) => {
    const { displayName, email, disabledReason, createdMs } = contextOfPerson(row);
    return {
      ...{ person: row.instance, displayName, email, disabledReason, createdMs },
      claimedEmail: claimOf(system, row.instance) ?? '',
      state: String(row.value),
      sessions: signInsOf(system, row.instance).sessions.length,
      projects: members.placesOf(row.instance).map(({ project, role }) => `${project} ${role}`),
    };
  });
}

function everyPerson(system: ProjectView) {
  const rows = [];
  let after: string | undefined;
  do {
    const page = system.instances('person', { limit: 1_000, ...(after ? { after } : {}) });
    rows.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return rows;
}

async function setDisabled(
  deps: IdentityRouteDeps,
  body: Body,
  reason: string | null,
): Promise<ChangedPerson> {
  const person = personOf(deps, body);
  const system = deps.host.view(SYSTEM_PROJECT);
  const sessions = reason === null ? 0 : signInsOf(system, person).sessions.length;
  await deps.people.setPersonDisabled(operatorOf(body), person, reason);
  return changedPerson(deps.host, person, sessions);
}

async function endSessions(deps: IdentityRouteDeps, body: Body): Promise<ChangedPerson> {
  const person = personOf(deps, body);
  const by = operatorOf(body);
  const sessions = await deps.people.endAllSessions(person, 'ENDED_BY_OPERATOR', { by });
  return changedPerson(deps.host, person, sessions);
}

function changedPerson(host: Host, person: string, sessions: number): ChangedPerson {
  const row = personRow(host.view(SYSTEM_PROJECT), person);
  const { displayName } = contextOfPerson(row);
  return { person, displayName, state: String(row.value), sessions };
}

/** By resource name or id, in whichever project it is: for an emergency. */
async function revokeKey(host: Host, body: Body): Promise<RevokedKey> {
  const given = text(body, 'key');
  const id = given.slice(given.lastIndexOf('/') + 1);
  const row = host.findInstance('credential', id);
  const key = `${String(row?.context.owner ?? '')}/keys/${id}`;
  if (!row || (given !== id && given !== key)) {
    throw new Refusal('NOT_FOUND', `There is no key ${given}: "svc keys list" shows their names`);
  }
  const by = operatorOf(body);
  const { answer } = await host.submit({
    project: row.project,
    by,
    decide(draft) {
      const event = { type: 'revoked', at: draft.at, reason: 'REVOKED_BY_OPERATOR', by: by.name };
      const { changed, instance } = draft.send('credential', id, event);
      return { isNew: changed, state: String(instance.value) };
    },
  });
  return { key, ...answer };
}

/** By verified address, `people/<id>` or id. Throws NOT_FOUND. */
function personOf({ host, people }: IdentityRouteDeps, body: Body): string {
  const who = text(body, 'person');
  const system = host.view(SYSTEM_PROJECT);
  const id = who.includes('@') ? people.personByEmail(who) : who.replace(/^people\//, '');
  if (id !== undefined && system.instance('person', id)) return id;
  const claimant = personByClaim(system, emailOrNone(who));
  const hint = claimant
    ? `people/${claimant} joined by an invitation to it; give that name if it is them`
    : '"svc admin people list" shows them';
  throw new Refusal('NOT_FOUND', `Nobody is known as ${who}: ${hint}`);
}

/** Only the service's own user and root come here, so the name is taken as the command tells it. */
export function operatorOf(body: Body): Actor {
  const name = typeof body.operator === 'string' ? body.operator : '';
  return { kind: 'operator', name: `operator/${/^[\w.@-]{1,64}$/.test(name) ? name : 'unknown'}` };
}

/** Throws INVALID_FIELD. */
function text(body: Body, field: string): string {
  const value = body[field];
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  throw new Refusal('INVALID_FIELD', `${field} is missing`, { field });
}
