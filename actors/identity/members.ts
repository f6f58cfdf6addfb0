/**
 * Projects and who belongs to them. Memberships and invitations live in their project's chain, so
 * that limits, and the rule that an owner is left, are decided where they cannot be raced past.
 */
import type { Role } from '../../machines/identity/membership.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Draft, Host, ProjectView, RequestKey } from '../platform/host/host-port.ts';
import { isOneLine, NOT_ONE_LINE } from '../platform/one-line.ts';
import { createInvitations, type InvitationDeps, revokeAllKeys } from './invitations.ts';
import { changeRole, join, leave, membershipOf } from './membership-changes.ts';
import { assertActive, shownName, toldOf } from './people-index.ts';
import type { Members, Place } from './people-port.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    project: ProjectBody;
    projectsBeingMade: { readonly attempts: readonly Attempt[] };
  }
}

/** Projects that one person may make. */
export const PROJECTS_OF_PERSON_MAX = 100;
/** As resource names have it: lower-case letters, digits and dashes. */
const PROJECT_ID = /^[a-z0-9][a-z0-9-]{0,62}$/;

export function createMembers(deps: InvitationDeps): Members {
  const { host } = deps;
  return {
    invitations: createInvitations(deps),
    createProject: (request) => createProject(host, request),
    placesOf: (person) => placesOf(host, person),
    async addMember({ by, project, person, role }) {
      const { answer } = await host.submit({
        project,
        by,
        decide(draft) {
          projectRecord(draft, project);
          return join(draft, factsOf(host, person), role, by);
        },
      });
      return answer;
    },
    async setRole({ project, by, member, role, request }) {
      await host.submit({
        project,
        by,
        ...(request && { request }),
        decide(draft) {
          changeRole(draft, member, role, by);
          return {};
        },
      });
    },
    async removeMember({ project, by, member, reason, request }) {
      await host.submit({
        project,
        by,
        ...(request && { request }),
        decide(draft) {
          leave(draft, member, reason, by);
          return {};
        },
      });
      // For more keys than one decision takes; not by a resend for a member who has come back.
      const isGone = host.view(project).instance('membership', member)?.value === 'removed';
      if (isGone) await revokeAllKeys(host, { project, member, reason: 'MEMBER_REMOVED', by });
    },
  };
}

/** Body of a project's record. `createdMs` is absent where an older version made it. */
export interface ProjectBody {
  readonly displayName: string;
  readonly createdMs?: number;
}

/** Throws NOT_FOUND. */
export function projectRecord(view: Pick<ProjectView, 'record'>, project: string): ProjectBody {
  const record = view.record('project', project);
  if (record) return record.body;
  throw new Refusal('NOT_FOUND', `There is no project ${project}`);
}

async function createProject(
  host: Host,
  { by, project, displayName, owner, request }: Parameters<Members['createProject']>[0],
): Promise<void> {
  checkProject(project, displayName);
  const maker = by.kind === 'human' ? owner : null;
  if (request || maker !== null) await reserve(host, { by, project, maker, request });
  await host.submit({
    project,
    by,
    ...(request && { request }),
    decide(draft) {
      assertFree(host, draft, project);
      const facts = owner === null ? undefined : factsOf(host, owner);
      // Again: a resend long after an attempt that was cut off finds what was made since.
      if (maker !== null) checkCount(ownedBy(host, maker));
      const body = { displayName: shownName(displayName, project), createdMs: draft.at };
      draft.putRecord({ kind: 'project', id: project, body });
      if (facts) join(draft, facts, 'OWNER', by);
      return {};
    },
  });
}

/** Record of a person: projects that are being made by them. */
const BEING_MADE = 'projectsBeingMade';
/** How long an attempt that came to nothing counts, ms: a project is made in far less. */
const ATTEMPT_MS = 600_000;

interface Attempt {
  readonly project: string;
  readonly atMs: number;
}

/**
 * In a chain that all projects share, so that neither the count of a person's projects is raced past
 * by making several at once, nor one request id is used for two projects. What is refused leaves no
 * commit. Throws INVALID_STATE, LIMIT_EXCEEDED.
 */
async function reserve(
  host: Host,
  asked: {
    readonly by: Actor;
    readonly project: string;
    /** The person whose projects are counted; null: the operator's are not. */
    readonly maker: string | null;
    readonly request: RequestKey | undefined;
  },
): Promise<void> {
  const { by, project, maker, request } = asked;
  await host.submit({
    project: SYSTEM_PROJECT,
    by,
    ...(request && { request }),
    decide(draft) {
      assertFree(host, host.view(project), project);
      if (maker !== null) noteAttempt(host, draft, maker, project);
      return { project };
    },
  });
}

function noteAttempt(host: Host, draft: Draft, person: string, project: string): void {
  const noted = draft.record(BEING_MADE, person)?.body.attempts;
  // Records of this kind are written here alone.
  const before = Array.isArray(noted) ? (noted as Attempt[]) : [];
  const others = before.filter(
    (each) =>
      each.project !== project &&
      draft.at < each.atMs + ATTEMPT_MS &&
      !host.view(each.project).record('project', each.project),
  );
  checkCount(ownedBy(host, person) + others.length);
  const attempts = [...others, { project, atMs: draft.at }];
  draft.putRecord({ kind: BEING_MADE, id: person, body: { attempts } });
}

/** Also taken without a record: samples may have come in for an id that nobody has made. */
function assertFree(host: Host, view: Pick<ProjectView, 'record'>, project: string): void {
  if (!view.record('project', project) && !host.projects().includes(project)) return;
  throw new Refusal('INVALID_STATE', `There is a project ${project} already`);
}

function checkProject(project: string, displayName: string): void {
  if (!PROJECT_ID.test(project)) {
    const message =
      'A project id has lower-case letters, digits and dashes, at most 63, and begins';
    throw new Refusal('INVALID_FIELD', `${message} with a letter or digit`, { field: 'projectId' });
  }
  if (!isOneLine(displayName)) {
    throw new Refusal('INVALID_FIELD', `displayName ${NOT_ONE_LINE}`, { field: 'displayName' });
  }
  if (shownName(displayName, '') !== '') return;
  throw new Refusal('INVALID_FIELD', 'displayName is missing: say how people call the project', {
    field: 'displayName',
  });
}

function ownedBy(host: Host, person: string): number {
  return placesOf(host, person).filter(({ role }) => role === 'OWNER').length;
}

function checkCount(owned: number): void {
  if (owned < PROJECTS_OF_PERSON_MAX) return;
  throw new Refusal('LIMIT_EXCEEDED', `You own ${PROJECTS_OF_PERSON_MAX} projects already`, {
    limit: String(PROJECTS_OF_PERSON_MAX),
  });
}

/** Every project that the person is a member of now, in the order of their ids. */
function placesOf(host: Pick<Host, 'findInstancesOf'>, person: string): Place[] {
  return host.findInstancesOf('membership', person).flatMap((row) => {
    if (row.value !== 'active') return [];
    const role: Role = membershipOf(row).role;
    return [{ project: row.project, member: row.instance, role }];
  });
}

function factsOf(host: Pick<Host, 'view'>, person: string) {
  const system = host.view(SYSTEM_PROJECT);
  return { person, ...toldOf(system, person, assertActive(system, person)) };
}
