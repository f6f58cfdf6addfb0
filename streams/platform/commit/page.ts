/**
 * Page tokens: the sort key of the last item given, opaque to callers. A token says where to go on,
 * not how many were skipped, so it holds while items come and go.
 */
import { Refusal } from '../refusal.ts';
import type { Page } from './projection.ts';

/** Sort key of an item: unique within its list, compared part by part. */
export type PageKey = readonly (string | number)[];

/** Cuts `items` (one more than asked, when there are more) to `limit` and names where to go on. */
export function pageOf<T>(
  items: readonly T[],
  limit: number,
  keyOf: (item: T) => PageKey,
): Page<T> {
  const last = items[limit - 1];
  if (items.length <= limit || last === undefined) return { items };
  const next = Buffer.from(JSON.stringify(keyOf(last))).toString('base64url');
  return { items: items.slice(0, limit), next };
}

/**
 * The key in a token. `shape` gives the type of each part. Throws `Refusal` INVALID_FIELD when the
 * token is not one of this kind of list.
 */
export function parsePageToken(token: string, shape: readonly ('string' | 'number')[]): PageKey {
  const key = parseJson(Buffer.from(token, 'base64url').toString());
  const fits =
    Array.isArray(key) &&
    key.length === shape.length &&
    key.every((part, i) => typeof part === shape[i]);
  if (fits) return key as PageKey;
  throw new Refusal('INVALID_FIELD', 'The page token is not from this list: start without one', {
    field: 'pageToken',
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not a token of ours: the caller refuses it, with the same words as any other foreign one.
    return undefined;
  }
}

/** Order of two keys: numbers by value, strings by bytes as SQLite compares them. */
export function comparePageKeys(a: PageKey, b: PageKey): number {
  for (const [i, left] of a.entries()) {
    const right = b[i];
    const order =
      typeof left === 'number' && typeof right === 'number'
        ? left - right
        : Buffer.compare(Buffer.from(String(left)), Buffer.from(String(right)));
    if (order !== 0) return order;
  }
  return 0;
}
