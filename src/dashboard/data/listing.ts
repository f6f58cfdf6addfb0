/**
 * Loading of lists. Filters of the service may leave pages short or empty even if more follow, so a
 * load continues over pages until it has enough rows. After ten pages it stops, and the user
 * decides whether to continue.
 */
import { useRef } from 'preact/hooks';
import { type ReadOptions, read } from './call.ts';
import { type Load, type Loader, type PollSeconds, useLoaded } from './loaded.ts';
import type { ReadName, RequestOf, ResponseOf, ServiceName } from './rpc-types.ts';

/** One page of a list, as returned by the API. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** The loaded part of a list. */
export interface Listing<T> {
  readonly items: readonly T[];
  /** Empty if the list is complete. */
  readonly nextPageToken: string;
  /** True if the page limit was reached without enough rows: offer `Continue searching`. */
  readonly isSearchStopped: boolean;
}

const PAGES_MAX = 10;

/**
 * Loads until there are `enough` rows, the list ends, or ten pages were read. `from` continues
 * after an earlier load.
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

type ItemOf<List> = List extends readonly (infer T)[] ? T : never;

/** Loads the pages of a method's list; `field` is its name in the response. */
export function pagesOf<
  S extends ServiceName,
  N extends ReadName<S>,
  F extends keyof ResponseOf<S, N>,
>(service: S, method: N, field: F, request: RequestOf<S, N>) {
  return async (
    pageToken: string,
    options: ReadOptions,
  ): Promise<Page<ItemOf<ResponseOf<S, N>[F]>>> => {
    const answer = await read(service, method, { ...request, pageToken }, options);
    const { nextPageToken } = answer as typeof answer & { readonly nextPageToken: string };
    return { items: answer[field] as readonly ItemOf<ResponseOf<S, N>[F]>[], nextPageToken };
  };
}

export interface ListLoader<T> extends Loader<Listing<T>> {
  /** Loads as many rows again, after the present ones. */
  more(): void;
}

/** How much of a list is loaded, and how often it is reloaded. */
export interface ListSize<T> {
  readonly rows: number;
  /** Rows that `more` adds; defaults to the initial number. */
  readonly moreRows?: number;
  readonly pollSeconds?: PollSeconds<Listing<T>>;
}

/**
 * A list while the component is mounted. Reloading keeps its length.
 * @param key names the list and every filter: a new key starts a new list
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
