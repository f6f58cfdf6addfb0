/**
 * Drafts: what was typed survives a session's end, a reload and a new version of the dashboard. Kept
 * in sessionStorage, so for this tab alone. Secrets are never put into a draft: their fields are
 * named in `secrets` and left out.
 */
import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

const KEY_PREFIX = 'svc-draft:';

/** Where drafts are kept. */
export type DraftStore = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

export interface Draft<T extends object> {
  readonly value: Signal<T>;
  /** True while something is typed: just now, or earlier and found again. */
  isTyped(): boolean;
  /** Forgets it: it was saved, or given up. */
  discard(): void;
}

/** Opens the draft of `key`, with fields that are missing in it from `initial`. */
export function openDraft<T extends object>(
  store: DraftStore,
  key: string,
  initial: T,
  secrets: readonly (keyof T & string)[] = [],
): Draft<T> & { keep(): void } {
  const found = parseDraft(store.getItem(KEY_PREFIX + key));
  const value = signal<T>({ ...initial, ...found });
  return {
    value,
    isTyped: () => JSON.stringify(value.value) !== JSON.stringify(initial),
    discard() {
      // Whoever keeps each change would keep this one too.
      value.value = initial;
      store.removeItem(KEY_PREFIX + key);
    },
    keep() {
      // Listeners of a change that is part of another one run late: it is discarded by then.
      if (value.peek() === initial) return;
      const open = Object.entries(value.peek()).filter(
        ([field]) => !secrets.some((secret) => secret === field),
      );
      try {
        store.setItem(KEY_PREFIX + key, JSON.stringify(Object.fromEntries(open)));
      } catch {
        // The store is full or switched off: the form works, and a reload loses what is in it.
      }
    },
  };
}

/** A draft for as long as the component is on the page; it is kept at every change. */
export function useDraft<T extends object>(
  key: string,
  initial: T,
  secrets: readonly (keyof T & string)[] = [],
): Draft<T> {
  // `key` names the draft; the rest is its first value.
  const draft = useMemo(() => openDraft(sessionStorage, key, initial, secrets), [key]);
  useEffect(() => {
    const first = draft.value.peek();
    return draft.value.subscribe((value) => {
      if (value !== first) draft.keep();
    });
  }, [draft]);
  return draft;
}

/**
 * Puts what is typed into a draft. A change that was refused, or is done, is over with it: the next one
 * is another.
 */
export function typing<T extends object>(
  draft: Pick<Draft<T>, 'value'>,
  change: { reset(): void },
): (changes: Partial<T>) => void {
  return (changes) => {
    draft.value.value = { ...draft.value.peek(), ...changes };
    change.reset();
  };
}

function parseDraft(text: string | null): object | undefined {
  if (text === null) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    // Written by another version: the form begins afresh.
    return undefined;
  }
}
