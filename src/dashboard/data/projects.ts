/**
 * The user's projects and role in each. The service decides what a role may do; the dashboard hides
 * or disables what would be rejected.
 */
import { computed, signal } from '@preact/signals';
import { match } from '../router/location.ts';
import type { PageRole } from '../routes.ts';
import { read } from './call.ts';
import { loadPages } from './listing.ts';
import type { ResponseOf } from './rpc-types.ts';

export type Project = ResponseOf<'ProjectService', 'listProjects'>['projects'][number];

export type ProjectsState =
  | { readonly is: 'loading' }
  | { readonly is: 'failed' }
  | { readonly is: 'loaded'; readonly projects: readonly Project[] };

export const projectsState = signal<ProjectsState>({ is: 'loading' });

/** Id of the project of the open page. */
export const projectId = computed(() => match.value?.parameters.project);

/** Resource name of the project of the open page, `projects/p`; undefined on other pages. */
export const projectName = computed(() =>
  projectId.value === undefined ? undefined : `projects/${projectId.value}`,
);

/** The open project; undefined until it is loaded, or if the user is not a member. */
export const project = computed(() => {
  const state = projectsState.value;
  if (state.is !== 'loaded') return undefined;
  return state.projects.find(({ name }) => name === projectName.value);
});

/** A role in a project; each includes the previous one. */
export type Role = Exclude<PageRole, 'SIGNED_IN'>;

/** Role in the open project; undefined if unknown or if there is none. */
export const role = computed<Role | undefined>(() => {
  const known = project.value?.role;
  return known === 'ROLE_UNSPECIFIED' ? undefined : known;
});

const ranks: readonly PageRole[] = ['SIGNED_IN', 'VIEWER', 'EDITOR', 'OWNER'];

/** True if a role satisfies `needed`. An unknown role may only read. */
export function mayDo(needed: PageRole, has: PageRole | undefined = role.value): boolean {
  return ranks.indexOf(has ?? 'VIEWER') >= ranks.indexOf(needed);
}

/** More projects than any user has. A page of the list is as large as allowed. */
const PROJECTS_MAX = 10_000;

/** Reads all pages of the list. */
export async function loadProjects(): Promise<void> {
  projectsState.value = { is: 'loading' };
  try {
    const { items } = await loadPages<Project>(async (pageToken) => {
      const answer = await read('ProjectService', 'listProjects', { pageSize: 1_000, pageToken });
      return { items: answer.projects, nextPageToken: answer.nextPageToken };
    }, PROJECTS_MAX);
    projectsState.value = { is: 'loaded', projects: items };
  } catch {
    // The browser logs the failure; the user can only try again.
    projectsState.value = { is: 'failed' };
  }
}
