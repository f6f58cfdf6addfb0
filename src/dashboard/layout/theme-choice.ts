/** Light, dark or system theme: stored in this browser and applied to the root element. */
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const KEY = 'svc-theme';

/** The stored theme; `system` if there is none or storage is unavailable. */
export function readTheme(): Theme {
  const kept = fromStorage();
  return themes.find((theme) => theme === kept) ?? 'system';
}

function fromStorage(): string | null {
  try {
    return window.localStorage.getItem(KEY);
  } catch {
    // The browser's settings forbid storage.
    return null;
  }
}

/** `light-dark()` in the styles follows the root's `color-scheme`, which follows this attribute. */
export function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
}

/** Applies a theme and stores it if the browser allows. */
export function chooseTheme(theme: Theme): void {
  applyTheme(theme);
  try {
    window.localStorage.setItem(KEY, theme);
  } catch {
    // Applies to this page only.
  }
}
