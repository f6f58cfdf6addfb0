/** Light, dark, or as the system says: kept in this browser, applied to the page's root. */
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const KEY = 'svc-theme';

/** The kept choice; `system` where there is none, or where the browser keeps nothing. */
export function readTheme(): Theme {
  const kept = fromStorage();
  return themes.find((theme) => theme === kept) ?? 'system';
}

function fromStorage(): string | null {
  try {
    return window.localStorage.getItem(KEY);
  } catch {
    // The person's settings forbid storage.
    return null;
  }
}

/** `light-dark()` in the styles follows the root's `color-scheme`, which follows this attribute. */
export function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
}

/** Applies a choice, and keeps it where the browser lets us. */
export function chooseTheme(theme: Theme): void {
  applyTheme(theme);
  try {
    window.localStorage.setItem(KEY, theme);
  } catch {
    // It holds for this page.
  }
}
