/** Theme selector, in the header and on the account page. */
import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { themeNames } from './texts.ts';
import { chooseTheme, readTheme, themes } from './theme-choice.ts';

/** Theme of this tab; other tabs follow when reloaded. */
const theme = signal(readTheme());

/**
 * @param props.label accessible name if there is no visible label; otherwise `id` links to the
 * visible one
 */
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
