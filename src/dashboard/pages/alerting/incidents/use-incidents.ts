/** The incident list while its page is open: loaded once and updated by the watch. */
import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { read } from '../../../data/call.ts';
import { serverClock } from '../../../data/clock.ts';
import { type Listing, type ListLoader, useListing } from '../../../data/listing.ts';
import type { Loader } from '../../../data/loaded.ts';
import type { Incident } from '../../../data/watch.ts';
import { watchIncidents } from '../../../data/watch-incidents.ts';
import {
  type IncidentsRequest,
  loadWorstFirst,
  newNames,
  PAGE_SIZE,
  withChanges,
} from './incident-list.ts';

export interface IncidentsOnPage {
  readonly loader: ListLoader<Incident>;
  /** Number of new incidents that are not displayed yet. */
  readonly waiting: ReadonlySignal<number>;
  readonly status: ReadonlySignal<'live' | 'connecting'>;
  /** Reloads the list, including the new incidents. */
  show(): void;
  /** Applies the incidents of a response. */
  change(incidents: readonly Incident[]): void;
}

/** Rows that `Load more` adds. */
const MORE_ROWS = 1_000;
/** Delay after the first change of a burst, ms, in which further changes are collected. */
const BURST_MS = 1_000;

export function useIncidents(request: IncidentsRequest): IncidentsOnPage {
  const key = `incidents ${JSON.stringify(request)}`;
  const waitingNames = useSignal<ReadonlySet<string>>(new Set());
  const waiting = useSignal(0);
  const status = useSignal<'live' | 'connecting'>('live');
  const latest = useRef(request);
  latest.current = request;

  const loader = useListing<Incident>(
    key,
    (pageToken, options) => {
      if (pageToken === '') {
        waitingNames.value = new Set();
        waiting.value = 0;
      }
      return loadWorstFirst(latest.current, pageToken, (one) =>
        read('AlertService', 'listIncidents', one, options),
      );
    },
    { rows: PAGE_SIZE, moreRows: MORE_ROWS },
  );
  const current = useRef(loader);
  current.current = loader;

  const change = (incidents: readonly Incident[]): void => {
    const { state, set } = current.current;
    const { value } = state.peek();
    if (value === undefined) return;
    const next = withChanges(value, incidents);
    if (next !== value) set(next);
  };

  const take = useRef<Take>(() => undefined);
  const meanwhile = useMeanwhile(loader.state, take);
  useEffect(() => {
    const follow = followIncidents({
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
      changed(incidents) {
        if (current.current.state.peek().isLoading) meanwhile.push(...incidents);
        take.current(incidents);
      },
    });
    take.current = follow.take;
    return follow.stop;
  }, [request.projectName]);
  return {
    loader,
    waiting,
    status,
    change,
    show: () => loader.reload(),
  };
}

type Take = (incidents: readonly Incident[]) => void;

/**
 * Collects changes that arrive during a load, because its response may predate them. They are
 * applied again after the response.
 */
function useMeanwhile(
  state: Loader<Listing<Incident>>['state'],
  take: { readonly current: Take },
): Incident[] {
  const { current: kept } = useRef<Incident[]>([]);
  useEffect(
    () =>
      state.subscribe(({ isLoading }) => {
        const changes = isLoading ? [] : kept.splice(0);
        if (changes.length > 0) take.current(changes);
      }),
    [state],
  );
  return kept;
}

interface Followed {
  readonly projectName: string;
  readonly request: () => IncidentsRequest;
  readonly loader: () => Loader<Listing<Incident>>;
  readonly change: (incidents: readonly Incident[]) => void;
  /** Names of incidents that belong in the list but are missing from it. */
  readonly arrived: (names: readonly string[]) => void;
  readonly status: (now: 'live' | 'connecting') => void;
  /** Receives the changes of the watch. */
  readonly changed: Take;
}

/** Follows the watch until stopped. `take` applies changes to the list or collects them. */
function followIncidents(followed: Followed): {
  readonly take: Take;
  readonly stop: () => void;
} {
  const own = new AbortController();
  let candidates = new Set<string>();
  let cancelBurst: () => void = () => undefined;
  const ask = async (): Promise<void> => {
    const requested = candidates;
    candidates = new Set();
    // Only the service can decide which of them match the filters.
    const request = { ...followed.request(), pageSize: PAGE_SIZE };
    const { incidents } = await read('AlertService', 'listIncidents', request, own);
    const displayed = new Set(
      followed
        .loader()
        .state.peek()
        .value?.items.map(({ name }) => name),
    );
    const isNew = (name: string): boolean => requested.has(name) && !displayed.has(name);
    followed.arrived(incidents.map(({ name }) => name).filter(isNew));
  };
  const take = (incidents: readonly Incident[]): void => {
    followed.change(incidents);
    const { value, loadedMs } = followed.loader().state.peek();
    if (value === undefined || loadedMs === undefined) return;
    const fresh = newNames(value, loadedMs, incidents);
    if (fresh.length === 0) return;
    if (candidates.size === 0) {
      // Leaving the page cancels the request; any other failure shows up when the list is loaded.
      cancelBurst = serverClock.wakeAfter(BURST_MS, () => void ask().catch(() => undefined));
    }
    for (const name of fresh) candidates.add(name);
  };
  const watch = watchIncidents(followed.projectName, {
    changed: followed.changed,
    listAnew: () => followed.loader().reload(),
    status: followed.status,
  });
  return {
    take,
    stop() {
      own.abort();
      cancelBurst();
      watch.stop();
    },
  };
}
