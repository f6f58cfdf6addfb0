/**
 * Loading of lists. Filters of the service may leave pages short or empty while more follows, so a
 * load goes on over pages until it has enough; after ten it stops, and the person decides whether
 * to search on.
 */
import { useRef } from 'preact/hooks';
import { type Load, type Loader, type PollSeconds, useLoaded } from './loaded.ts';

/** One page of a list, as the API answers it. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** What is loaded of a list. */
export interface Listing<T> {
  readonly items: readonly T[];
  /** Empty when all of it is here. */
  readonly nextPageToken: string;
  /** True when pages were read up to the limit and it is still not enough: offer `Search on`. */
  readonly isSearchStopped: boolean;
}

const PAGES_MAX = 10;

/**
 * Loads until there are `enough` rows, the list ends, or ten pages were read. `from` goes on after
 * what an earlier load has.
 */
export async function loadPages<T>(
  loadPage: (pageToken: string) => Promise<Page<T>>,
  enough: number,
  from: Listing<T> = { items: [], nextPageToken: '', isSearchStopped: false },
): Promise<Listing<T>> {
  const items = [...from.items];
  const wanted = items.length + enough;
  let nextPageToken = from.nextPageToken;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const answer = await loadPage(nextPageToken);
    items.push(...answer.items);
    nextPageToken = answer.nextPageToken;
    if (nextPageToken === '' || items.length >= wanted) {
      return { items, nextPageToken, isSearchStopped: false };
    }
  }
  return { items, nextPageToken, isSearchStopped: true };
}

export interface ListLoader<T> extends Loader<Listing<T>> {
  /** Loads as many rows again, after those that are here. */
  more(): void;
}

/** How much of a list is loaded, and how often again. */
export interface ListSize<T> {
  readonly rows: number;
  /** Rows that `more` adds; left out: as many as at first. */
  readonly moreRows?: number;
  readonly pollSeconds?: PollSeconds<Listing<T>>;
}

/**
 * A list for as long as the component is on the page. Loaded again, it keeps its length.
 * @param key names the list and every filter: another key begins another list
 */
export function useListing<T>(
  key: string,
  loadPage: (pageToken: string, options: Parameters<Load<T>>[0]) => Promise<Page<T>>,
  { rows, moreRows = rows, pollSeconds }: ListSize<T>,
): ListLoader<T> {
  const wanted = useRef({ key, rows });
  if (wanted.current.key !== key) wanted.current = { key, rows };
  const load =
    (enough: () => number, from?: Listing<T>): Load<Listing<T>> =>
    (options) =>
      loadPages((pageToken) => loadPage(pageToken, options), enough(), from);
  const loader = useLoaded(
    key,
    load(() => wanted.current.rows),
    pollSeconds,
  );
  return {
    ...loader,
    more() {
      const { value, isLoading } = loader.state.peek();
      if (value === undefined || isLoading) return;
      wanted.current.rows = value.items.length + moreRows;
      loader.update(load(() => moreRows, value));
    },
  };
}
