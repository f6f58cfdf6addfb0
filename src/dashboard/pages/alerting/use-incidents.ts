/** The list of incidents for as long as its page is open: loaded, and changed as the watch says. */
import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { read } from '../../data/call.ts';
import { serverClock } from '../../data/clock.ts';
import { type Loader, useLoaded } from '../../data/loaded.ts';
import { type Listing, loadPages } from '../../data/pages.ts';
import type { Incident } from '../../data/watch.ts';
import { watchIncidents } from '../../data/watch-incidents.ts';
import {
  type IncidentsRequest,
  loadWorstFirst,
  newNames,
  PAGE_SIZE,
  withChanges,
} from './incident-list.ts';

export interface IncidentsOnPage {
  readonly loader: Loader<Listing<Incident>>;
  /** Incidents that belong into the list and wait. */
  readonly waiting: ReadonlySignal<number>;
  readonly status: ReadonlySignal<'live' | 'connecting'>;
  readonly isLoadingMore: ReadonlySignal<boolean>;
  /** Loads the list anew, with those that wait. */
  show(): void;
  more(): Promise<void>;
  /** Takes what an answer says of some of them. */
  change(incidents: readonly Incident[]): void;
}

/** Rows that `Load more` adds. */
const MORE_ROWS = 1_000;
/** Changes come in bursts: after the first one of a burst, so long is waited for the others, ms. */
const BURST_MS = 1_000;

type ReadOptions = Parameters<Parameters<typeof useLoaded<unknown>>[1]>[0];

export function useIncidents(request: IncidentsRequest): IncidentsOnPage {
  const key = `incidents ${JSON.stringify(request)}`;
  const waitingNames = useSignal<ReadonlySet<string>>(new Set());
  const waiting = useSignal(0);
  const status = useSignal<'live' | 'connecting'>('live');
  const isLoadingMore = useSignal(false);
  // A list that is loaded again keeps its length.
  const shownRows = useRef(PAGE_SIZE);
  const latest = useRef(request);
  latest.current = request;

  const pageWith = (options: Partial<ReadOptions>) => (token: string) =>
    loadWorstFirst(latest.current, token, (one) =>
      read('AlertService', 'listIncidents', one, options),
    );
  const loader = useLoaded<Listing<Incident>>(key, async (options) => {
    const listing = await loadPages(pageWith(options), shownRows.current);
    waitingNames.value = new Set();
    waiting.value = 0;
    return listing;
  });
  const current = useRef(loader);
  if (current.current !== loader) shownRows.current = PAGE_SIZE;
  current.current = loader;

  const change = (incidents: readonly Incident[]): void => {
    const { state, set } = current.current;
    const { value } = state.peek();
    if (value === undefined) return;
    const next = withChanges(value, incidents);
    if (next !== value) set(next);
  };

  useEffect(
    () =>
      followIncidents({
        projectName: String(request.projectName),
        request: () => latest.current,
        loader: () => current.current,
        change,
        arrived(names) {
          waitingNames.value = new Set([...waitingNames.peek(), ...names]);
          waiting.value = waitingNames.value.size;
        },
        status: (now) => {
          status.value = now;
        },
      }),
    [request.projectName],
  );

  return {
    ...{ loader, waiting, status, isLoadingMore, change },
    show: () => loader.reload(),
    async more() {
      const { value } = loader.state.peek();
      if (value === undefined || isLoadingMore.peek()) return;
      isLoadingMore.value = true;
      try {
        const listing = await loadPages(pageWith({}), MORE_ROWS, value);
        shownRows.current = listing.items.length;
        loader.set(listing);
      } finally {
        isLoadingMore.value = false;
      }
    },
  };
}

interface Followed {
  readonly projectName: string;
  readonly request: () => IncidentsRequest;
  readonly loader: () => Loader<Listing<Incident>>;
  readonly change: (incidents: readonly Incident[]) => void;
  /** Names of incidents that belong into the list and are not in it. */
  readonly arrived: (names: readonly string[]) => void;
  readonly status: (now: 'live' | 'connecting') => void;
}

/** Follows the watch until the result is called. */
function followIncidents(followed: Followed): () => void {
  const own = new AbortController();
  let candidates = new Set<string>();
  let cancelBurst: () => void = () => undefined;
  const ask = async (): Promise<void> => {
    const asked = candidates;
    candidates = new Set();
    // Which of them match the filters, only the service says.
    const request = { ...followed.request(), pageSize: PAGE_SIZE };
    const { incidents } = await read('AlertService', 'listIncidents', request, own);
    followed.arrived(incidents.map(({ name }) => name).filter((name) => asked.has(name)));
  };
  const watch = watchIncidents(followed.projectName, {
    changed(incidents) {
      followed.change(incidents);
      const { value, loadedMs } = followed.loader().state.peek();
      if (value === undefined || loadedMs === undefined) return;
      const fresh = newNames(value, loadedMs, incidents);
      if (fresh.length === 0) return;
      if (candidates.size === 0) {
        // Leaving the page ends it; every other failure shows when the list is loaded.
        cancelBurst = serverClock.wakeAfter(BURST_MS, () => void ask().catch(() => undefined));
      }
      for (const name of fresh) candidates.add(name);
    },
    listAnew: () => followed.loader().reload(),
    status: followed.status,
  });
  return () => {
    own.abort();
    cancelBurst();
    watch.stop();
  };
}
