/** Says in a form that opens that what was typed before, and not saved, is still in it. */
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Draft } from '../data/draft.ts';
import { texts } from '../messages/en.ts';

/** A draft as the dialog around its fields knows it, whatever is in it. */
export type TypedDraft = Pick<Draft<object>, 'isTyped' | 'discard'>;

/** To be put beside the fields, so that it appears with them: what is typed from then on says nothing. */
export function RestoredNote({ draft }: { readonly draft: TypedDraft }): VNode | null {
  const wasTyped = useMemo(() => draft.isTyped(), [draft]);
  return wasTyped && draft.isTyped() ? <p class="weak">{texts.typedBefore}</p> : null;
}
