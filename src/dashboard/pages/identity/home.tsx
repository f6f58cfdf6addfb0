/**
 * The start page: a list of projects. With a single project it redirects there; `?all` keeps the
 * list, from which the user can create another.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.tsx';
import { Loading } from '../../components/data-view.tsx';
import { loadProjects, type Project, projectsState } from '../../data/projects.ts';
import { useServiceInfo } from '../../data/service-info.ts';
import { texts as frameTexts, pageTitles } from '../../layout/texts.ts';
import { navigate, query } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';
import { CreateProject } from './create-project.tsx';
import { texts } from './texts.ts';

export function Page(): VNode {
  const state = projectsState.value;
  const isAll = query.value.has('all');
  const only = state.is === 'loaded' && state.projects.length === 1 ? state.projects[0] : undefined;
  useEffect(() => {
    if (only && !isAll) navigate(overviewOf(only), { replace: true });
  }, [only, isAll]);
  return (
    <>
      <h1>{pageTitles.home}</h1>
      {state.is === 'loading' && <Loading lines={3} />}
      {state.is === 'failed' && (
        <p role="alert">
          {frameTexts.projectsFailed}{' '}
          <button type="button" onClick={() => void loadProjects()}>
            {frameTexts.retry}
          </button>
        </p>
      )}
      {state.is === 'loaded' && <Projects projects={state.projects} />}
    </>
  );
}

function Projects({ projects }: { readonly projects: readonly Project[] }): VNode {
  const info = useServiceInfo();
  const mayCreate = info.state.value.value?.peopleCreateProjects;
  const isCreating = useSignal(false);
  return (
    <>
      {projects.length === 0 && (
        <div class="empty">
          <p>
            <strong>{texts.home.none}</strong>
          </p>
          {mayCreate === true && <p>{texts.home.askOwner}</p>}
          {mayCreate === false && (
            <p>
              {texts.home.operator} <code>{texts.home.command}</code>
            </p>
          )}
        </div>
      )}
      <ul class="projects">
        {projects.map((project) => (
          <li key={project.name}>
            <a href={overviewOf(project)}>
              <strong>{project.displayName || project.name}</strong>
              <code>{project.name}</code>
              <span class="weak">{texts.home.role(project.role)}</span>
            </a>
          </li>
        ))}
      </ul>
      {mayCreate === true && (
        <ActionButton
          onPress={() => {
            isCreating.value = true;
          }}
        >
          {texts.home.create}
        </ActionButton>
      )}
      <CreateProject isOpen={isCreating} />
    </>
  );
}

function overviewOf({ name }: Project): string {
  return pathOf('overview', { project: name.replace(/^projects\//, '') });
}
