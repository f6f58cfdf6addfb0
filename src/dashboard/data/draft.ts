/**
 * Drafts: input survives the end of a session, a reload and a new version of the dashboard. They
 * are kept in sessionStorage, so for this tab only. Secrets are never kept: `secrets` names their
 * fields, which are left out.
 */
import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

const KEY_PREFIX = 'svc-draft:';

/** Storage of drafts. */
export type DraftStore = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

export interface Draft<T extends object> {
  readonly value: Signal<T>;
  /** True if the draft has input, typed now or restored. */
  isTyped(): boolean;
  /** Discards the draft because it was saved or abandoned. */
  discard(): void;
}

/** Opens the draft of `key`; fields that it lacks come from `initial`. */
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
      // The subscriber that stores each change would store this one too.
      value.value = initial;
      store.removeItem(KEY_PREFIX + key);
    },
    keep() {
      // Listeners of nested changes run late, when the draft is already discarded.
      if (value.peek() === initial) return;
      const open = Object.entries(value.peek()).filter(
        ([field]) => !secrets.some((secret) => secret === field),
      );
      try {
        store.setItem(KEY_PREFIX + key, JSON.stringify(Object.fromEntries(open)));
      } catch {
        // The store is full or disabled: the form works, but a reload loses its input.
      }
    },
  };
}

/** A draft while the component is mounted; every change is stored. */
export function useDraft<T extends object>(
  key: string,
  initial: T,
  secrets: readonly (keyof T & string)[] = [],
): Draft<T> {
  // `key` identifies the draft; the rest is its initial value.
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
 * Writes input into a draft, and resets a change that was rejected or is complete: the next one is
 * a new change.
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
    // Written by another version: start with an empty form.
    return undefined;
  }
}
