/**
 * Preferences of this browser: time zone and shortcuts. (The theme has its own module, because it
 * is read before the first paint.) Kept in localStorage for all tabs.
 */
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { type Format, preferredLocale } from '../messages/format.ts';

/** One choice from a closed list, stored under a key. */
function choice<T extends string>(key: string, values: readonly [T, ...T[]]): Signal<T> {
  const stored = readStored(key);
  const chosen = signal<T>(values.find((value) => value === stored) ?? values[0]);
  let isFirst = true;
  chosen.subscribe((value) => {
    if (!isFirst) writeStored(key, value);
    isFirst = false;
  });
  return chosen;
}

/** The first value of each is the default. */
export const preferences = {
  zone: choice('svc-zone', ['local', 'utc']),
  shortcuts: choice('svc-shortcuts', ['on', 'off']),
};

/** Format of numbers and times on this page. */
export const format: ReadonlySignal<Format> = computed(() => ({
  locale: preferredLocale(navigator.languages),
  timeZone: preferences.zone.value === 'utc' ? 'UTC' : undefined,
}));

function readStored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    // Storage is disabled in this browser: use the default.
    return null;
  }
}

function writeStored(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Kept until the tab is closed.
  }
}
