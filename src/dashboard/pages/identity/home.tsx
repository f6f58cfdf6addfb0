/** The start page: the projects to choose from. With one project it goes there at once. */
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { loadProjects, type Project, projectsState } from '../../data/projects.ts';
import { pageTitles, texts } from '../../layout/texts.ts';
import { navigate } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';

export function Page(): VNode {
  const state = projectsState.value;
  const only = state.is === 'loaded' && state.projects.length === 1 ? state.projects[0] : undefined;
  useEffect(() => {
    if (only) navigate(overviewOf(only), { replace: true });
  }, [only]);
  return (
    <>
      <h1>{pageTitles.home}</h1>
      {state.is === 'loading' && <p>{texts.loading}</p>}
      {state.is === 'failed' && (
        <p role="alert">
          {texts.projectsFailed}{' '}
          <button type="button" onClick={() => void loadProjects()}>
            {texts.retry}
          </button>
        </p>
      )}
      {state.is === 'loaded' && state.projects.length === 0 && (
        <p>
          {texts.noProjects}. {texts.noProjectsHelp}
        </p>
      )}
      {state.is === 'loaded' && (
        <ul>
          {state.projects.map((project) => (
            <li key={project.name}>
              <a href={overviewOf(project)}>{project.displayName || project.name}</a>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function overviewOf({ name }: Project): string {
  return pathOf('overview', { project: name.replace(/^projects\//, '') });
}
