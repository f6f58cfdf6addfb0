/**
 * Pages of lists, the same for all readers. A page token is the sort key of the last item returned,
 * opaque to callers: it marks a position rather than a count, so it stays valid while items are
 * added and removed.
 */
import { Refusal } from '../refusal.ts';
import type { ListOptions, Page } from './projection.ts';

/** Sort key of an item: unique within its list, compared part by part. */
export type PageKey = readonly (string | number)[];

/** Reads one page of a list; the reader decides on the items and their order. */
export type PageReader<T> = (page: Pick<ListOptions, 'limit' | 'after'>) => Page<T>;

/** Every page of a list to its end. Each is read on demand, so a turn may pass in between. */
export function* pagesOf<T>(limit: number, read: PageReader<T>): Generator<Page<T>, void> {
  let page = read({ limit });
  yield page;
  while (page.next !== undefined) {
    page = read({ limit, after: page.next });
    yield page;
  }
}

/** Every item of a list, read in pages of `limit`. */
export function* itemsOf<T>(limit: number, read: PageReader<T>): Generator<T, void> {
  for (const { items } of pagesOf(limit, read)) yield* items;
}

/**
 * Rows in ascending order of a number, page by page to their end; `read` returns those after a
 * number. Each page is read on demand.
 */
export function* pagesAfter<T>(
  from: number,
  read: (after: number) => readonly T[],
  placeOf: (row: T) => number,
): Generator<readonly T[], void> {
  for (let after = from; ; ) {
    const page = read(after);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = placeOf(last);
  }
}

/**
 * Shortens `items` (one more than requested, if available) to `limit` and adds the next position.
 */
export function pageOf<T>(
  items: readonly T[],
  limit: number,
  keyOf: (item: T) => PageKey,
): Page<T> {
  const last = items[limit - 1];
  if (items.length <= limit || last === undefined) return { items };
  return { items: items.slice(0, limit), next: pageToken(keyOf(last)) };
}

/** The token of this key. */
export function pageToken(key: PageKey): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url');
}

/**
 * The key in a token. `shape` gives the type of each part. Throws `Refusal` INVALID_FIELD if the
 * token does not belong to this kind of list.
 */
export function parsePageToken(token: string, shape: readonly ('string' | 'number')[]): PageKey {
  const key = parseJson(Buffer.from(token, 'base64url').toString());
  const fits =
    Array.isArray(key) &&
    key.length === shape.length &&
    key.every((part, i) => typeof part === shape[i]);
  if (fits) return key as PageKey;
  throw foreignToken();
}

/** Refusal of a token that this list did not make. */
export function foreignToken(): Refusal {
  const message = 'pageToken is not one of this list: start without it';
  return new Refusal('INVALID_FIELD', message, { field: 'pageToken' });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not a token of ours: the caller refuses it with the same message as any other foreign one.
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
