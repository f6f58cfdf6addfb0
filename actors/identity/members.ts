/**
 * Projects and their members. Memberships and invitations are in their project's chain, so that
 * limits, and the rule that one owner must remain, are decided without races.
 */
import type { Role } from '../../machines/identity/membership.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import type { Draft, Host, ProjectView, RequestKey } from '../platform/host/host-port.ts';
import { isOneLine, NOT_ONE_LINE } from '../platform/plain-text.ts';
import {
  createInvitations,
  type InvitationDeps,
  type Invitations,
  revokeAllKeys,
} from './invitations.ts';
import { changeRole, join, leave } from './membership-changes.ts';
import { assertActive, displayedName, memberFactsOf } from './people-index.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    project: ProjectBody;
    projectsBeingMade: { readonly attempts: readonly Attempt[] };
  }
}

/** Maximum projects that one person may create. */
export const PROJECTS_OF_PERSON_MAX = 100;
/** Form of an id in resource names: lower-case letters, digits and dashes. */
const PROJECT_ID = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** Membership of a person in one project. */
export interface Place {
  readonly project: string;
  /** Id of the membership. */
  readonly member: string;
  readonly role: Role;
}

interface MemberChange {
  readonly project: string;
  readonly by: Actor;
  readonly member: string;
  readonly request?: RequestKey;
}

/** Projects, memberships and invitations. Each change is decided at the head of its project. */
export interface Members {
  readonly invitations: Invitations;
  /** Sets the look-back of PromQL queries; 0 = the default. Throws a `Refusal` INVALID_FIELD. */
  setPromqlLookback(request: {
    readonly project: string;
    readonly by: Actor;
    readonly seconds: number;
    readonly request?: RequestKey;
  }): Promise<void>;
  /**
   * Creates a project whose OWNER is `owner` (id of a person). Throws a `Refusal`: INVALID_STATE
   * (it exists), INVALID_FIELD, LIMIT_EXCEEDED.
   */
  createProject(request: {
    readonly by: Actor;
    readonly project: string;
    readonly displayName: string;
    readonly owner: string | null;
    readonly request?: RequestKey;
  }): Promise<void>;
  /**
   * Makes a person a member, or changes their role. Returns the member's id. Throws: NOT_FOUND,
   * IDENTITY_DISABLED, LIMIT_EXCEEDED, INVALID_STATE (the last owner).
   */
  addMember(request: {
    readonly by: Actor;
    readonly project: string;
    readonly person: string;
    readonly role: Role;
  }): Promise<string>;
  /** The person's current memberships, sorted by project id. */
  placesOf(person: string): readonly Place[];
  /** Throws a `Refusal`: NOT_FOUND, INVALID_STATE (the last owner). */
  setRole(request: MemberChange & { readonly role: Role }): Promise<void>;
  /**
   * Also revokes the member's personal keys. Throws a `Refusal`: NOT_FOUND, INVALID_STATE (the last
   * owner).
   */
  removeMember(request: MemberChange & { readonly reason: string }): Promise<void>;
}

/** Wraps the host, and the invitations with it. */
export function createMembers(deps: InvitationDeps): Members {
  const { host } = deps;
  return {
    invitations: createInvitations(deps),
    createProject: (request) => createProject(host, request),
    setPromqlLookback: (request) => setPromqlLookback(host, request),
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
      // For keys beyond one decision. A resent request must not affect a member who has returned.
      const isGone = host.view(project).instance('membership', member)?.value === 'removed';
      if (isGone) await revokeAllKeys(host, { project, member, reason: 'MEMBER_REMOVED', by });
    },
  };
}

/** Body of a project's record. `createdMs` is absent in records of an older version. */
export interface ProjectBody {
  readonly displayName: string;
  readonly createdMs?: number;
  /** Default look-back of PromQL queries; absent = that of Prometheus. */
  readonly promqlLookbackSeconds?: number;
}

/**
 * Time for which the newest observation counts as the present in PromQL, seconds. Below two
 * sampling intervals, a series would flicker; above an hour, nothing would ever appear missing.
 */
const PROMQL_LOOKBACK_SECONDS = { min: 60, max: 3_600, default: 300 } as const;

/** The project's setting, or the default. */
export function promqlLookbackSeconds(view: Pick<ProjectView, 'record'>, project: string): number {
  const body = view.record('project', project)?.body;
  return body?.promqlLookbackSeconds ?? PROMQL_LOOKBACK_SECONDS.default;
}

/** Throws NOT_FOUND. */
export function projectRecord(view: Pick<ProjectView, 'record'>, project: string): ProjectBody {
  const record = view.record('project', project);
  if (record) return record.body;
  throw new Refusal('NOT_FOUND', `There is no project ${project}`);
}

/** Throws INVALID_FIELD. */
async function setPromqlLookback(
  host: Host,
  { project, by, seconds, request }: Parameters<Members['setPromqlLookback']>[0],
): Promise<void> {
  const { min, max } = PROMQL_LOOKBACK_SECONDS;
  if (seconds !== 0 && !(Number.isInteger(seconds) && seconds >= min && seconds <= max)) {
    const message = `promqlLookbackSeconds is ${seconds}; it must be ${min} to ${max}, or 0 for the default`;
    throw invalidField('promqlLookbackSeconds', message);
  }
  await host.submit({
    project,
    by,
    ...(request && { request }),
    decide(draft) {
      // A project that samples created has no record yet.
      const known = draft.record('project', project)?.body ?? { displayName: project };
      const { promqlLookbackSeconds: _, ...rest } = known;
      const body = seconds === 0 ? rest : { ...rest, promqlLookbackSeconds: seconds };
      draft.putRecord({ kind: 'project', id: project, body });
      return {};
    },
  });
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
      // Checked again, because a resent request may arrive long after the reservation.
      if (maker !== null) checkCount(ownedBy(host, maker));
      const body = { displayName: displayedName(displayName, project), createdMs: draft.at };
      draft.putRecord({ kind: 'project', id: project, body });
      if (facts) join(draft, facts, 'OWNER', by);
      return {};
    },
  });
}

/** Record of a person: the projects that they are creating. */
const BEING_MADE = 'projectsBeingMade';
/** Time for which an unfinished attempt counts, ms. Creating a project takes far less. */
const ATTEMPT_MS = 600_000;

interface Attempt {
  readonly project: string;
  readonly atMs: number;
}

/**
 * Reserves the project in the chain of `_system`, so that concurrent requests can neither exceed a
 * person's number of projects nor use one request id for two projects. A refusal leaves no commit.
 * Throws INVALID_STATE, LIMIT_EXCEEDED.
 */
async function reserve(
  host: Host,
  reservation: {
    readonly by: Actor;
    readonly project: string;
    /** Person whose projects are counted; null for the operator, who has no limit. */
    readonly maker: string | null;
    readonly request: RequestKey | undefined;
  },
): Promise<void> {
  const { by, project, maker, request } = reservation;
  await host.submit({
    project: SYSTEM_PROJECT,
    by,
    ...(request && { request }),
    decide(draft) {
      assertFree(host, host.view(project), project);
      if (maker !== null) recordAttempt(host, draft, maker, project);
      return { project };
    },
  });
}

function recordAttempt(host: Host, draft: Draft, person: string, project: string): void {
  const noted = draft.record(BEING_MADE, person)?.body.attempts;
  // Only this file writes records of this kind.
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

/** Throws for an existing project, even one without a record, which samples may have created. */
function assertFree(host: Host, view: Pick<ProjectView, 'record'>, project: string): void {
  if (!view.record('project', project) && !host.projects().includes(project)) return;
  throw new Refusal('INVALID_STATE', `The project ${project} already exists`);
}

function checkProject(project: string, displayName: string): void {
  if (!PROJECT_ID.test(project)) {
    const message = 'A project id has at most 63 lower-case letters, digits and dashes, and begins';
    throw invalidField('projectId', `${message} with a letter or digit`);
  }
  if (!isOneLine(displayName)) {
    throw invalidField('displayName', `displayName ${NOT_ONE_LINE}`);
  }
  if (displayedName(displayName, '') !== '') return;
  throw new Refusal('INVALID_FIELD', 'displayName is missing. Choose a name for the project', {
    field: 'displayName',
  });
}

function ownedBy(host: Host, person: string): number {
  return placesOf(host, person).filter(({ role }) => role === 'OWNER').length;
}

function checkCount(owned: number): void {
  if (owned < PROJECTS_OF_PERSON_MAX) return;
  throw new Refusal('LIMIT_EXCEEDED', `You already own ${PROJECTS_OF_PERSON_MAX} projects`, {
    limit: String(PROJECTS_OF_PERSON_MAX),
  });
}

/** The person's current memberships, sorted by project id. */
function placesOf(host: Pick<Host, 'findInstancesOf'>, person: string): Place[] {
  return host.findInstancesOf('membership', person).flatMap((row) => {
    if (row.value !== 'active') return [];
    const role: Role = row.context.role;
    return [{ project: row.project, member: row.instance, role }];
  });
}

function factsOf(host: Pick<Host, 'view'>, person: string) {
  const system = host.view(SYSTEM_PROJECT);
  return { person, ...memberFactsOf(system, person, assertActive(system, person)) };
}
