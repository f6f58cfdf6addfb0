/**
 * Methods of `ProjectService` for the caller and their projects, for people only. Each method
 * declares who may call it, and `within` decides.
 */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { type People, personOf as personIn } from '../../../actors/identity/people.ts';
import { unprovenEmailOf } from '../../../actors/identity/people-index.ts';
import type { ListOptions } from '../../../actors/platform/host/host-port.ts';
import { ID } from '../../../actors/platform/resource-id.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import {
  type CreateProjectRequest,
  CreateProjectRequestSchema,
  type EndSessionRequest,
  EndSessionRequestSchema,
  type ListProjectsRequest,
  type ProjectService,
  type SignOutEverywhereRequest,
  SignOutEverywhereRequestSchema,
  type UpdateProjectRequest,
  UpdateProjectRequestSchema,
} from '../../gen/svc/project/v1/project_pb.ts';
import { actorOf, personOf, requestKeyOf, within } from '../../platform/api/caller.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { collect } from '../../platform/api/paging.ts';
import { parseProjectName } from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';
import type { MemberDeps } from './members.ts';
import { projectMessage } from './project-messages.ts';
import type { serviceInfoOf } from './service-info.ts';

export interface ProjectDeps extends MemberDeps {
  readonly people: People;
  /** The people who may create projects. */
  readonly projectCreation: 'operator' | 'people';
  readonly serviceInfo: ReturnType<typeof serviceInfoOf>;
}

type Service = ServiceImpl<typeof ProjectService>;

type CallerMethods =
  | 'getSelf'
  | 'getServiceInfo'
  | 'listSessions'
  | 'endSession'
  | 'signOutEverywhere'
  | 'listProjects'
  | 'createProject'
  | 'getProject'
  | 'updateProject';

export function callerMethods(deps: ProjectDeps): Pick<Service, CallerMethods> {
  return {
    getSelf: (_request, context) => getSelf(deps, context),
    getServiceInfo: () => deps.serviceInfo,
    listSessions: (_request, context) => listSessions(deps, context),
    endSession: (request, context) => endSession(deps, request, context),
    signOutEverywhere: (request, context) => signOutEverywhere(deps, request, context),
    listProjects: (request, context) => listProjects(deps, request, context),
    createProject: (request, context) => createProject(deps, request, context),
    updateProject: (request, context) => updateProject(deps, request, context),
    getProject({ name }, context) {
      const project = within(context, parseProjectName('name', name));
      const place = personOf(context).memberOf(project);
      if (!place) throw new Refusal('PROJECT_BOUNDARY', 'You are not a member of this project');
      return projectMessage(deps.host, { project, ...place });
    },
  };
}

async function updateProject(
  { host, members }: ProjectDeps,
  request: UpdateProjectRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('name', request.name));
  const place = personOf(context).memberOf(project);
  if (!place) throw new Refusal('PROJECT_BOUNDARY', 'You are not a member of this project');
  const { promqlLookbackSeconds } = request;
  if (promqlLookbackSeconds === undefined) {
    throw invalidField(
      'promqlLookbackSeconds',
      'The request changes nothing: send promqlLookbackSeconds',
    );
  }
  await members.setPromqlLookback({
    project,
    by: actorOf(context),
    seconds: promqlLookbackSeconds,
    request: requestKeyOf(context, UpdateProjectRequestSchema, request),
  });
  return projectMessage(host, { project, ...place });
}

function getSelf({ host }: ProjectDeps, context: HandlerContext) {
  const { person, session, name } = personOf(context);
  const known = personIn(host, person);
  const row = host.view(SYSTEM_PROJECT).instance('session', session);
  if (!known || !row) throw new Error(`${name} is signed in but has no row`);
  const { method, expiresMs } = row.context;
  const { displayName, email } = known;
  const sessionExpiresUnix = unixSeconds(expiresMs);
  const unprovenEmail = unprovenEmailOf(host.view(SYSTEM_PROJECT), person, email);
  return { name, displayName, email, unprovenEmail, signInMethod: method, sessionExpiresUnix };
}

function listSessions({ people }: ProjectDeps, context: HandlerContext) {
  const { person, session: current, name } = personOf(context);
  const sessions = people.sessionsOf(person).map((each) => ({
    name: `${name}/sessions/${each.session}`,
    signInMethod: each.method,
    agent: each.agent,
    current: each.session === current,
    createdUnix: unixSeconds(each.createdMs),
    lastUsedUnix: unixSeconds(each.lastUsedMs),
    expiresUnix: unixSeconds(each.expiresMs),
  }));
  return { sessions };
}

const SESSION = new RegExp(`^people/(${ID})/sessions/(${ID})$`);

async function endSession(
  { people }: ProjectDeps,
  request: EndSessionRequest,
  context: HandlerContext,
) {
  const key = requestKeyOf(context, EndSessionRequestSchema, request);
  const { person } = personOf(context);
  const [, of, session] = SESSION.exec(request.name) ?? [];
  if (of === undefined || session === undefined) {
    const message = 'name is not the name of a session. Send one like people/.../sessions/...';
    throw invalidField('name', message);
  }
  if (of !== person) throw new Refusal('NOT_FOUND', 'The session is not yours');
  await people.endOwnSession({ person, session, request: key });
  return {};
}

async function signOutEverywhere(
  { people }: ProjectDeps,
  request: SignOutEverywhereRequest,
  context: HandlerContext,
) {
  const options = {
    by: actorOf(context),
    request: requestKeyOf(context, SignOutEverywhereRequestSchema, request),
  };
  const { person } = personOf(context);
  return { sessions: await people.endAllSessions(person, 'SIGNED_OUT_EVERYWHERE', options) };
}

/** Sorted by id. The token holds the last id, so that the list may change between pages. */
async function listProjects(
  { host, members }: ProjectDeps,
  request: ListProjectsRequest,
  context: HandlerContext,
) {
  const places = members.placesOf(personOf(context).person);
  const read = ({ limit, after = '' }: ListOptions) => {
    const rest = places.filter(({ project }) => project > after);
    const next = rest.length > limit ? rest[limit - 1]?.project : undefined;
    const items = rest.slice(0, limit).map((place) => projectMessage(host, place));
    return { items, ...(next !== undefined && { next }) };
  };
  const page = await collect('projects', request, read, turnsOf(context));
  return { projects: page.items, nextPageToken: page.nextPageToken };
}

async function createProject(
  { host, members, projectCreation }: ProjectDeps,
  request: CreateProjectRequest,
  context: HandlerContext,
) {
  const { person } = personOf(context);
  if (projectCreation !== 'people') {
    throw new Refusal(
      'INVALID_STATE',
      'Only the operator creates projects here. Ask for "svc admin project create"',
    );
  }
  const { projectId: project, displayName } = request;
  await members.createProject({
    by: actorOf(context),
    project,
    displayName,
    owner: person,
    request: requestKeyOf(context, CreateProjectRequestSchema, request),
  });
  const place = members.placesOf(person).find((each) => each.project === project);
  if (!place) throw new Refusal('PROJECT_BOUNDARY', 'You are no longer a member of this project');
  return projectMessage(host, place);
}
