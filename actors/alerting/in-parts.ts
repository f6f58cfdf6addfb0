/**
 * Splits a change of many items into as few commits as needed. The size of a commit is known only
 * once it is decided (destinations, windows), so a part refused as too large is halved.
 */
import { Refusal } from '../../streams/platform/refusal.ts';

/** Submits `items` in order, whole or in parts. Throws what `submit` throws for a single item. */
export async function submitInParts<T>(
  items: readonly T[],
  submit: (part: readonly T[]) => Promise<unknown>,
): Promise<void> {
  try {
    await submit(items);
  } catch (error) {
    const tooLarge = error instanceof Refusal && error.reason === 'REQUEST_TOO_LARGE';
    if (!tooLarge || items.length < 2) throw error;
    const middle = Math.ceil(items.length / 2);
    await submitInParts(items.slice(0, middle), submit);
    await submitInParts(items.slice(middle), submit);
  }
}
