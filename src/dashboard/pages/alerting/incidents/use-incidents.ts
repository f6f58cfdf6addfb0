/** The list of incidents for as long as its page is open: loaded, and changed as the watch says. */
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
  /** Incidents that belong into the list and wait. */
  readonly waiting: ReadonlySignal<number>;
  readonly status: ReadonlySignal<'live' | 'connecting'>;
  /** Loads the list again, with those that wait. */
  show(): void;
  /** Takes what an answer says of some of them. */
  change(incidents: readonly Incident[]): void;
}

/** Rows that `Load more` adds. */
const MORE_ROWS = 1_000;
/** Changes come in bursts: after the first one of a burst, so long is waited for the others, ms. */
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
 * Where to put what comes while a load is under way, whose answer may be from before it: it is taken
 * again once the answer is there.
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
  /** Names of incidents that belong into the list and are not in it. */
  readonly arrived: (names: readonly string[]) => void;
  readonly status: (now: 'live' | 'connecting') => void;
  /** What the watch brings; to be taken. */
  readonly changed: Take;
}

/** Follows the watch until it is stopped. `take` puts changes into the list, or beside it. */
function followIncidents(followed: Followed): {
  readonly take: Take;
  readonly stop: () => void;
} {
  const own = new AbortController();
  let candidates = new Set<string>();
  let cancelBurst: () => void = () => undefined;
  const ask = async (): Promise<void> => {
    const asked = candidates;
    candidates = new Set();
    // Which of them match the filters, only the service says.
    const request = { ...followed.request(), pageSize: PAGE_SIZE };
    const { incidents } = await read('AlertService', 'listIncidents', request, own);
    const shown = new Set(
      followed
        .loader()
        .state.peek()
        .value?.items.map(({ name }) => name),
    );
    const isNew = (name: string): boolean => asked.has(name) && !shown.has(name);
    followed.arrived(incidents.map(({ name }) => name).filter(isNew));
  };
  const take = (incidents: readonly Incident[]): void => {
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
