/** The line on top of every page: the project, the person's account, the theme. */
import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { projectId, projectsState } from '../data/projects.ts';
import { navigate } from '../router/location.ts';
import { pathOf } from '../router/match.ts';
import { PROGRAM, texts, themeNames } from './texts.ts';
import { chooseTheme, readTheme, themes } from './theme-choice.ts';

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
      <ThemeSwitch />
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

const theme = signal(readTheme());

function ThemeSwitch(): VNode {
  return (
    <label>
      <span class="visually-hidden">{texts.theme}</span>
      <select
        value={theme.value}
        onChange={({ currentTarget }) => {
          const chosen = themes.find((one) => one === currentTarget.value) ?? 'system';
          theme.value = chosen;
          chooseTheme(chosen);
        }}
      >
        {themes.map((one) => (
          <option key={one} value={one}>
            {themeNames[one]}
          </option>
        ))}
      </select>
    </label>
  );
}
