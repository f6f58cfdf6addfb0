/**
 * Full resource names from what people type: a name or an id is taken within the project, a full
 * name as it is. The project is given, or the one that the signed-in person is a member of.
 */

import { closestName } from '../../../actors/platform/closest-name.ts';
import type { Random } from '../../../streams/platform/random.ts';
import { ProjectService } from '../../gen/svc/project/v1/project_pb.ts';
import type { ActionContext } from './action.ts';
import type { Api } from './api.ts';
import { quoted } from './arguments.ts';
import {
  type Candidate,
  candidatesOf,
  isNamed,
  meantBy,
  nothingNamed,
  PROJECTS,
  wordsFor,
} from './candidates.ts';
import { EXIT_DENIED, refusalOf, UsageError } from './faults.ts';

const ID = /^[A-Za-z0-9._~-]{1,128}$/;

/**
 * `projects/p`, from --project, SVC_PROJECT, or the person's one project. A person may give its display
 * name. Throws `UsageError`.
 */
export async function projectName(context: ActionContext, api: Api): Promise<string> {
  const given = givenText(context);
  const { cookie } = api.access.headers();
  if (given !== undefined) {
    const isName = cookie !== undefined && !PROJECT_AS_IT_IS.test(given);
    return isName ? projectCalled(api, given) : projectOf(given);
  }
  if (cookie === undefined) {
    throw new UsageError(
      'The project is not known: set --project or SVC_PROJECT',
      'A key does not name its project. For example: --project demo, or SVC_PROJECT=demo',
    );
  }
  const { projects } = await api.call(ProjectService.method.listProjects, { pageSize: 20 });
  const [first, ...others] = projects;
  if (first && others.length === 0) return first.name;
  if (!first) throw new UsageError('You are a member of no project');
  const names = projects.map(({ name }) => name.slice('projects/'.length)).join(', ');
  throw new UsageError(`You are a member of several projects: set --project to one of ${names}`);
}

/** `projects/p` where its id was given; undefined otherwise. */
export function givenProject(context: ActionContext): string | undefined {
  const given = givenText(context);
  return given === undefined ? undefined : projectOf(given);
}

function givenText({ input, environment }: ActionContext): string | undefined {
  return input.text('project') || environment.SVC_PROJECT || undefined;
}

/** An id in small letters, or a full name: nothing is asked for it. */
const PROJECT_AS_IT_IS = /^[a-z0-9._~-]{1,128}$|^projects\//;

async function projectCalled(api: Api, given: string): Promise<string> {
  const { many, find } = PROJECTS;
  const projects = await find(api);
  const meant = meantBy(given, projects, { many });
  if (meant) return meant.name;
  const names = projects.flatMap(({ labels }) => labels);
  const closest = closestName(given, names);
  const known = names.slice(0, PROJECTS_SHOWN).map(quoted).join(', ');
  throw new UsageError(
    `You are a member of no project ${quoted(given)}`,
    closest ? `Did you mean ${quoted(closest)}?` : `Your projects: ${known || 'none'}`,
  );
}

const PROJECTS_SHOWN = 10;

function projectOf(given: string): string {
  const id = given.replace(/^projects\//, '');
  if (ID.test(id)) return `projects/${id}`;
  throw new UsageError(
    `${quoted(given)} is not a project id`,
    'A key takes ids such as "demo"; a signed-in person may give the display name',
  );
}

/** Begins the ids of incidents, deliveries and destinations. */
const ID_BEGINNING = /^[a-z]{3}_\w+$/;

/** An id as the service makes them: it is never looked up among names. */
const OWN_ID = new RegExp(
  [
    /^[a-z]{3}_[0-9A-Za-z]{26,}$/,
    /^[0-9A-HJKMNP-TV-Z]{26}$/,
    /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
    /^[0-9a-f]{32}$/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

/**
 * The full name of a thing in a collection of a project, such as `serviceAccounts`: by its full name,
 * its id, or a name that is its alone. Throws `UsageError` for a name of several, with the candidates.
 */
export async function resourceName(
  context: ActionContext,
  api: Api,
  { collection, given, takesUnknown = false }: NameGiven,
): Promise<string> {
  const full = new RegExp(`^projects/[^/]+/${collection}/[^/]+$`);
  if (full.test(given)) return given;
  const isId = ID.test(given);
  if (given === '' || (!isId && !isNamed(collection))) {
    throw new UsageError(
      `${JSON.stringify(given)} is neither an id nor projects/<id>/${collection}/<id>`,
    );
  }
  const project = await projectName(context, api);
  const asId = `${project}/${collection}/${given}`;
  // "-" stands for all, where the service takes it.
  if (!isNamed(collection) || OWN_ID.test(given) || given === '-') return asId;
  let candidates: Candidate[];
  try {
    candidates = await candidatesOf(api, project, collection, given);
  } catch (error) {
    // Who may not list may still name by id.
    if (isId && refusalOf(error)?.exitCode === EXIT_DENIED) return asId;
    throw error;
  }
  const words = wordsFor(collection);
  const meant = meantBy(given, candidates, words);
  if (meant) return meant.name;
  // Something that is not listed: an incident that is over, a VM that is yet to come.
  if (ID_BEGINNING.test(given) || (isId && takesUnknown)) return asId;
  // Near what was typed is not what the search for it finds.
  const all = collection === 'vms' ? await candidatesOf(api, project, collection, '') : candidates;
  throw nothingNamed(given, all, words);
}

interface NameGiven {
  readonly collection: string;
  readonly given: string;
  /** true: an id of something that is yet to come will do. */
  readonly takesUnknown?: boolean;
}

/** Full names of all that are given. */
export function resourceNames(
  context: ActionContext,
  api: Api,
  collection: string,
  given: readonly string[],
): Promise<string[]> {
  return Promise.all(given.map((one) => resourceName(context, api, { collection, given: one })));
}

/** Full name of what an option names; '' when it is not given. */
export async function optionalName(
  context: ActionContext,
  api: Api,
  collection: string,
  option: string,
): Promise<string> {
  const given = context.input.text(option);
  return given === undefined ? '' : resourceName(context, api, { collection, given });
}

/** Reads the full name of what an action's first argument means, in a collection of a project. */
export function firstNamed(collection: string) {
  return (context: ActionContext, api: Api): Promise<string> =>
    resourceName(context, api, { collection, given: context.input.positional(0) });
}

/** A new UUID (RFC 9562, version 4), for a request that has not been sent before. */
export function newUuid(random: Random): string {
  const bytes = Buffer.from(random.bytes(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [
    ...[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16)],
    ...[hex.slice(16, 20), hex.slice(20)],
  ].join('-');
}

/** The id under which a change goes out: given with --request-id, else a new one. */
export function requestId({ input, ports }: ActionContext): string {
  return input.text('request-id') ?? newUuid(ports.random);
}
