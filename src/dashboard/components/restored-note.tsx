/** Tells the user of a form that it still contains earlier, unsaved input. */
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Draft } from '../data/draft.ts';
import { texts } from '../messages/en.ts';

/** The part of a draft that a dialog around its fields needs, whatever its type. */
export type TypedDraft = Pick<Draft<object>, 'isTyped' | 'discard'>;

/**
 * Place it next to the fields so that it appears with them. Input typed afterwards does not trigger
 * it.
 */
export function RestoredNote({ draft }: { readonly draft: TypedDraft }): VNode | null {
  const wasTyped = useMemo(() => draft.isTyped(), [draft]);
  return wasTyped && draft.isTyped() ? <p class="weak">{texts.typedBefore}</p> : null;
}
