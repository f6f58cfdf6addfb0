/**
 * Opens all parts that answer queries: the threads, and the state that only the main thread knows,
 * such as changed VM records and stale data centers.
 */

import { promqlLookbackSeconds } from '../../../actors/identity/members.ts';
import type { Host } from '../../../actors/platform/host/host-port.ts';
import { vmDirectoryOf } from '../../../actors/vms/vm-directory.ts';
import {
  type ThreadEnd,
  threadEntry,
} from '../../../sqlite/telemetry/history/threads/supervised-thread.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import type { RecordDamage } from '../../platform/damage.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { RoomBase, Storage } from '../../platform/room-base.ts';
import {
  createIncidentRecomputations,
  type IncidentRecomputations,
} from './explain/recompute-incident.ts';
import { type AlertPreviews, createAlertPreviews } from './preview/alert-preview.ts';
import {
  createPromqlQueries,
  type PromqlQueries,
  type PromqlQueriesDeps,
} from './promql/promql-queries.ts';
import { LIST_HEAP_BYTES_MAX, LIST_THREADS } from './threads/limits.ts';
import { QueryThreads } from './threads/query-threads.ts';
import { createVmQueries, type VmQueries } from './vm/vm-queries.ts';

export interface QueriesParts {
  readonly base: Pick<RoomBase, 'clock' | 'log' | 'metrics' | 'closers'>;
  /** History, and the projection's file, from which the threads read VM records. */
  readonly storage: Pick<Storage, 'history' | 'controlPath'>;
  readonly host: Pick<Host, 'view' | 'onApplied'>;
  /** See `PromqlQueriesDeps`. */
  readonly pendingAlerts: PromqlQueriesDeps['pendingAlerts'];
  readonly recordDamage?: RecordDamage;
}

/** The parts that answer queries; each has its own queue, limits and errors. */
export interface Queries {
  readonly promqlQueries: PromqlQueries;
  readonly vmQueries: VmQueries;
  readonly alertPreviews: AlertPreviews;
  readonly incidentRecomputations: IncidentRecomputations;
}

/** The file that query threads run. */
export const QUERY_THREAD = threadEntry(import.meta.url, 'query-thread');

/** The file that the thread for lists runs. */
const LIST_THREAD = threadEntry(import.meta.url, 'list-thread');

/**
 * Delay before the first thread starts, ms: after the start of the service and before the first
 * query.
 */
const START_AFTER_MS = 500;

/** One thread starts soon, the others with the first query that needs them; `closers` ends them. */
export function openQueries(parts: QueriesParts): Queries {
  const { base, storage, host, pendingAlerts, recordDamage } = parts;
  const { clock, log, metrics, closers } = base;
  const { history, controlPath } = storage;
  const failures = metrics.counter(
    'svc_query_part_failures_total',
    'Metrics and VMs that failed in a query whose other parts succeeded',
  );
  const common = {
    clock,
    history: history.share,
    controlPath,
    entry: QUERY_THREAD,
    onEnd: (end: ThreadEnd) => log.error({ err: end.cause, kind: end.kind }, end.message),
  };
  const threads = new QueryThreads(common);
  closers.add('query threads', () => threads.close());
  const listThreads = new QueryThreads({
    ...common,
    entry: LIST_THREAD,
    name: 'list thread',
    threads: LIST_THREADS,
    heapBytesMax: LIST_HEAP_BYTES_MAX,
  });
  closers.add('list threads', () => listThreads.close());
  const cancel = clock.wakeAfter(START_AFTER_MS, () => threads.start());
  closers.add('start of query threads', () => cancel());
  countThreads({ query: threads, list: listThreads }, metrics);
  const vmDirectory = vmDirectoryOf(host);
  const stale = new StaleDatacenters(host);
  closers.add('stale data centers', () => stale.close());
  return {
    promqlQueries: createPromqlQueries({
      threads,
      clock,
      log,
      ...(recordDamage && { recordDamage }),
      pendingAlerts,
      retentionMs: history.retentionMs,
      recordsRevision: (project) => vmDirectory.revision(project),
      staleDatacenters: () => stale.names(),
      lookbackMs: (project) => promqlLookbackSeconds(host.view(project), project) * 1_000,
    }),
    vmQueries: createVmQueries({ threads, listThreads, clock, log, failures }),
    alertPreviews: createAlertPreviews({ threads, clock, log, failures }),
    incidentRecomputations: createIncidentRecomputations({ threads, clock }),
  };
}

function countThreads(
  pools: Readonly<Record<'query' | 'list', QueryThreads>>,
  metrics: Metrics,
): void {
  metrics.gauge(
    'svc_query_threads',
    'Events of the query threads: queries by outcome, crashed threads, and threads that were ended because a query did not stop',
    ['pool', 'kind'],
    (gauge) => {
      for (const [pool, { counts }] of Object.entries(pools)) {
        for (const [kind, count] of Object.entries(counts)) gauge.set({ pool, kind }, count);
      }
    },
  );
}

/** Maximum number of data centers of one deployment; more would be a fault elsewhere. */
const DATACENTERS_MAX = 1000;

/** The data centers that are stale now, recounted when a commit may have changed them. */
class StaleDatacenters {
  readonly #host: QueriesParts['host'];
  readonly #undo: () => void;
  #names: readonly string[] | undefined;

  constructor(host: QueriesParts['host']) {
    this.#host = host;
    this.#undo = host.onApplied(({ commit }) => {
      if (commit.project === SYSTEM_PROJECT) this.#names = undefined;
    });
  }

  names(): readonly string[] {
    if (this.#names === undefined) {
      const view = this.#host.view(SYSTEM_PROJECT);
      const { items } = view.instances('datacenter', { limit: DATACENTERS_MAX });
      const stale = items.filter(({ value }) => value === 'stale');
      this.#names = stale.map(({ instance }) => instance);
    }
    return this.#names;
  }

  close(): void {
    this.#undo();
  }
}
