/** The header of every page: project, user account, theme. */
import type { VNode } from 'preact';
import { projectId, projectsState } from '../data/projects.ts';
import { navigate } from '../router/location.ts';
import { pathOf } from '../router/match.ts';
import { PROGRAM, texts } from './texts.ts';
import { ThemeSelect } from './theme-select.tsx';

export function Header(): VNode {
  return (
    <header class="header">
      <a class="brand" href={pathOf('home')}>
        {PROGRAM}
      </a>
      <ProjectSwitcher />
      <a class="account" href={pathOf('account')}>
        {texts.account}
      </a>
      <ThemeSelect label={texts.theme} />
    </header>
  );
}

function ProjectSwitcher(): VNode | null {
  const state = projectsState.value;
  if (state.is !== 'loaded' || state.projects.length === 0) return null;
  const open = projectId.value;
  return (
    <label>
      <span class="visually-hidden">{texts.project}</span>
      <select
        value={open ?? ''}
        onChange={({ currentTarget }) =>
          navigate(pathOf('overview', { project: currentTarget.value }))
        }
      >
        {open === undefined && <option value="">{texts.chooseProject}</option>}
        {state.projects.map(({ name, displayName }) => {
          const id = name.replace(/^projects\//, '');
          return (
            <option key={id} value={id}>
              {displayName || id}
            </option>
          );
        })}
      </select>
    </label>
  );
}
