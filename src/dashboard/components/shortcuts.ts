/**
 * Keyboard shortcuts: single keys and pairs such as `g i`. They are inactive while the user types,
 * a modifier is held or a dialog is open, and can be turned off (WCAG 2.1.4).
 */
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { serverClock } from '../data/clock.ts';
import { preferences } from '../data/preferences.ts';

export interface Shortcut {
  /** One key, or two separated by a space: `/`, `g i`. */
  readonly keys: string;
  /** Description in the list that `?` opens. */
  readonly name: string;
  readonly run: () => void;
}

/** Shortcuts of the current page, in the order of their registration. */
export const activeShortcuts = signal<readonly Shortcut[]>([]);

/** Maximum delay between the keys of a pair, ms. */
const PAIR_MS_MAX = 1_500;

/** Interprets a key after the previous one: a shortcut, the first key of a pair, or nothing. */
export function matchKey(
  shortcuts: readonly { readonly keys: string }[],
  before: string | undefined,
  key: string,
): { readonly found: number } | { readonly begins: string } | undefined {
  const keys = before === undefined ? key : `${before} ${key}`;
  // The newest wins: a dialog's table before the page's.
  const found = shortcuts.findLastIndex((shortcut) => shortcut.keys === keys);
  if (found >= 0) return { found };
  if (before !== undefined) return matchKey(shortcuts, undefined, key);
  if (shortcuts.some((shortcut) => shortcut.keys.startsWith(`${key} `))) return { begins: key };
  return undefined;
}

/** Listens to the keyboard; call once. Returns a function that stops it. */
export function startShortcuts(): () => void {
  let before: string | undefined;
  let forget: () => void = () => undefined;
  const onKey = (event: KeyboardEvent): void => {
    if (preferences.shortcuts.value === 'off' || isForSomethingElse(event)) return;
    const shortcuts = activeShortcuts.peek();
    const match = matchKey(shortcuts, before, event.key);
    forget();
    before = undefined;
    if (match === undefined) return;
    event.preventDefault();
    if ('found' in match) {
      shortcuts[match.found]?.run();
      return;
    }
    before = match.begins;
    forget = serverClock.wakeAfter(PAIR_MS_MAX, () => {
      before = undefined;
    });
  };
  document.addEventListener('keydown', onKey);
  return () => {
    forget();
    document.removeEventListener('keydown', onKey);
  };
}

function isForSomethingElse(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return true;
  const { target } = event;
  if (!(target instanceof Element)) return false;
  const isTyping = target.closest(
    'input:not([type=checkbox]), textarea, select, [contenteditable]',
  );
  return isTyping !== null || document.querySelector('dialog[open]') !== null;
}

/** Registers shortcuts while the component is mounted; their actions may change at each render. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    const own = latest.current.map(({ keys, name }, i) => ({
      keys,
      name,
      run: () => latest.current[i]?.run(),
    }));
    activeShortcuts.value = [...activeShortcuts.peek(), ...own];
    return () => {
      activeShortcuts.value = activeShortcuts.peek().filter((each) => !own.includes(each));
    };
  }, []);
}
