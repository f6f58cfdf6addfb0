/** The choice of the theme, in the header and on the page of the account. */
import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { themeNames } from './texts.ts';
import { chooseTheme, readTheme, themes } from './theme-choice.ts';

/** What this tab shows; another tab follows when it is loaded again. */
const theme = signal(readTheme());

/** @param props.label read out, where no text stands beside it; else `id` is that of the text's label */
export function ThemeSelect(props: { readonly label?: string; readonly id?: string }): VNode {
  const { label, id } = props;
  return (
    <select
      {...(label !== undefined && { 'aria-label': label })}
      {...(id !== undefined && { id })}
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
  );
}
