/** The projects of the person, with the role in each: what the navigation and the start page need. */
import { computed, signal } from '@preact/signals';
import type { ListProjectsResponseJson, ProjectJson } from '../../gen/svc/project/v1/project_pb.ts';
import { match } from '../router/location.ts';
import type { PageRole } from '../routes.ts';

export type ProjectsState =
  | { readonly is: 'loading' }
  | { readonly is: 'failed' }
  | { readonly is: 'loaded'; readonly projects: readonly ProjectJson[] };

export const projectsState = signal<ProjectsState>({ is: 'loading' });

/** Id of the project whose page is open. */
export const projectId = computed(() => match.value?.parameters.project);

/** Role in the open project; undefined while it is not known, or where there is none. */
export const role = computed<PageRole | undefined>(() => {
  const state = projectsState.value;
  if (state.is !== 'loaded') return undefined;
  const project = state.projects.find(({ name }) => name === `projects/${projectId.value}`);
  return project?.role === 'ROLE_UNSPECIFIED' ? undefined : (project?.role as PageRole | undefined);
});

const METHOD = '/svc.project.v1.ProjectService/ListProjects';

/** Reads all pages of the list; a session that has ended leads to the sign-in and back. */
export async function loadProjects(): Promise<void> {
  projectsState.value = { is: 'loading' };
  try {
    const projects: ProjectJson[] = [];
    for (let pageToken = ''; ; ) {
      const answer = await fetch(METHOD, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'connect-protocol-version': '1' },
        body: JSON.stringify({ pageToken }),
      });
      if (answer.status === 401) return signIn();
      if (!answer.ok) throw new Error(`${METHOD} answered ${answer.status}`);
      const page = (await answer.json()) as ListProjectsResponseJson;
      projects.push(...(page.projects ?? []));
      pageToken = page.nextPageToken ?? '';
      if (pageToken === '') break;
    }
    projectsState.value = { is: 'loaded', projects };
  } catch {
    // What failed is in the browser's own log; the person can do no more than try again.
    projectsState.value = { is: 'failed' };
  }
}

function signIn(): void {
  const { pathname, search } = window.location;
  const query = new URLSearchParams({ return: `${pathname}${search}` });
  window.location.assign(`/auth/sign-in?${query}`);
}
