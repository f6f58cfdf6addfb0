/**
 * Loading of lists. Filters of the service may leave pages short or empty while more follows, so a
 * load goes on over pages until it has enough; after ten it stops, and the person decides whether
 * to search on.
 */

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
