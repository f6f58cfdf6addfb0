/**
 * Projects and who belongs to them. Memberships and invitations live in their project's chain, so
 * that limits, and the rule that an owner is left, are decided where they cannot be raced past.
 */
import type { Role } from '../../machines/membership.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/commit/commit.ts';
import { Refusal } from '../../streams/refusal.ts';
import type { RequestKey } from '../alerting/port.ts';
import type { Host, StoredRecord } from '../host-port.ts';
import { createInvitations, type InvitationDeps, revokeAllKeys } from './invitations.ts';
import { changeRole, join, leave, membershipOf } from './membership-changes.ts';
import { assertActive, shownName, toldOf } from './people-index.ts';
import type { Members, Place } from './people-port.ts';

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
export function projectRecord(
  view: { record(kind: string, id: string): StoredRecord | undefined },
  project: string,
): ProjectBody {
  const record = view.record('project', project);
  if (record) return record.body as unknown as ProjectBody;
  throw new Refusal('NOT_FOUND', `There is no project ${project}`);
}

async function createProject(
  host: Host,
  { by, project, displayName, owner, request }: Parameters<Members['createProject']>[0],
): Promise<void> {
  checkProject(project, displayName);
  if (request) await noteRequest(host, by, project, request);
  await host.submit({
    project,
    by,
    ...(request && { request }),
    decide(draft) {
      // Also where there is no record: samples may have come in for an id that nobody has made.
      const isTaken = draft.record('project', project) || host.projects().includes(project);
      if (isTaken) throw new Refusal('INVALID_STATE', `There is a project ${project} already`);
      const facts = owner === null ? undefined : factsOf(host, owner);
      if (owner !== null && by.kind === 'human') checkCount(host, owner);
      const body = { displayName: shownName(displayName, project), createdMs: draft.at };
      draft.putRecord({ kind: 'project', id: project, body });
      if (facts) join(draft, facts, 'OWNER', by);
      return {};
    },
  });
}

/** In a chain that all projects share: the same request id for another project is told apart. */
async function noteRequest(
  host: Host,
  by: Actor,
  project: string,
  request: RequestKey,
): Promise<void> {
  await host.submit({ project: SYSTEM_PROJECT, by, request, decide: () => ({ project }) });
}

function checkProject(project: string, displayName: string): void {
  if (!PROJECT_ID.test(project)) {
    const message =
      'A project id has lower-case letters, digits and dashes, at most 63, and begins';
    throw new Refusal('INVALID_FIELD', `${message} with a letter or digit`, { field: 'projectId' });
  }
  if (shownName(displayName, '') !== '') return;
  throw new Refusal('INVALID_FIELD', 'displayName is missing: say how people call the project', {
    field: 'displayName',
  });
}

function checkCount(host: Host, person: string): void {
  const owned = placesOf(host, person).filter(({ role }) => role === 'OWNER');
  if (owned.length < PROJECTS_OF_PERSON_MAX) return;
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
