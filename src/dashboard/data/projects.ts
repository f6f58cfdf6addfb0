/**
 * The projects of the person, with the role in each. The service decides what a role may do; the
 * dashboard leaves out of the navigation, or disables, what would be refused.
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

/** Id of the project whose page is open. */
export const projectId = computed(() => match.value?.parameters.project);

/** Resource name of the project whose page is open, `projects/p`; undefined on other pages. */
export const projectName = computed(() =>
  projectId.value === undefined ? undefined : `projects/${projectId.value}`,
);

/** The open project; undefined while it is not loaded, or where the person is no member. */
export const project = computed(() => {
  const state = projectsState.value;
  if (state.is !== 'loaded') return undefined;
  return state.projects.find(({ name }) => name === projectName.value);
});

/** A role in a project, each more than the one before it. */
export type Role = Exclude<PageRole, 'SIGNED_IN'>;

/** Role in the open project; undefined while it is not known, or where there is none. */
export const role = computed<Role | undefined>(() => {
  const known = project.value?.role;
  return known === 'ROLE_UNSPECIFIED' ? undefined : known;
});

const ranks: readonly PageRole[] = ['SIGNED_IN', 'VIEWER', 'EDITOR', 'OWNER'];

/** True when a role may do what needs `needed`. While it is not known: nothing but read. */
export function mayDo(needed: PageRole, has: PageRole | undefined = role.value): boolean {
  return ranks.indexOf(has ?? 'VIEWER') >= ranks.indexOf(needed);
}

/** More projects than a person has; a page of the list holds as many as it may. */
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
    // What failed is in the browser's own log; the person can do no more than try again.
    projectsState.value = { is: 'failed' };
  }
}
