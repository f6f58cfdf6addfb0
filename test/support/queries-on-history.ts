/**
 * Queries over a real history in a folder of the test: rows are in the head and in chunks, VM
 * records in a projection, and the threads are the service's own.
 */

import { openInstanceStore } from '../../sqlite/platform/control/instance-store.ts';
import { RecordReader } from '../../sqlite/platform/control/record-reader.ts';
import { openDatabase } from '../../sqlite/platform/database.ts';
import {
  type HistoryShare,
  HistoryView,
} from '../../sqlite/telemetry/history/store/history-view.ts';
import type { History } from '../../sqlite/telemetry/history/store/store.ts';
import type { ThreadEnd } from '../../sqlite/telemetry/history/threads/supervised-thread.ts';
import { createLog } from '../../src/platform/log.ts';
import { QUERY_THREAD } from '../../src/telemetry/query/open-queries.ts';
import { promqlMethods } from '../../src/telemetry/query/promql/promql-evaluation.ts';
import {
  createPromqlQueries,
  type PromqlQueries,
} from '../../src/telemetry/query/promql/promql-queries.ts';
import type {
  PromqlAnswer,
  QueryOperation,
  QueryRequest,
} from '../../src/telemetry/query/promql/query-request.ts';
import { SeriesThread } from '../../src/telemetry/query/series/series-thread.ts';
import { QueryThreads } from '../../src/telemetry/query/threads/query-threads.ts';
import { systemClock, VirtualClock } from '../../streams/platform/clock.ts';
import { BatchBuilder } from '../../streams/telemetry/samples/batch.ts';
import { openStore, PARTITION, START } from './history-from-log.ts';
import { copyMigratedDatabases } from './migrated-databases.ts';

/** One row; times are ms after the start. Defaults: project `demo`, VM `a`, 2 vCPUs, running. */
export interface ReportedRow {
  readonly at: number;
  readonly values?: Readonly<Record<string, number>>;
  readonly project?: string;
  readonly vm?: string;
  readonly vcpus?: number;
  readonly state?: number;
  readonly boot?: string;
}

export interface Envelope {
  readonly status: string;
  readonly errorType?: string;
  readonly error?: string;
  readonly warnings?: readonly string[];
  readonly data?: unknown;
}

export interface HistoryQueries {
  readonly history: History;
  readonly clock: VirtualClock;
  readonly threads: QueryThreads;
  readonly queries: PromqlQueries;
  /** Names of stale data centers, which the test may change. */
  readonly stale: string[];
  /** Lines of the log. */
  readonly lines: string[];
  append(...rows: ReportedRow[]): void;
  /** Registers or renames a VM, by default of project `demo`. */
  record(
    vm: string,
    displayName: string,
    options?: {
      project?: string;
      datacenter?: string;
      /** First rows of further sources, ms after the start. */
      turns?: readonly number[];
    },
  ): void;
  run(
    operation: QueryOperation,
    request?: Partial<QueryRequest>,
    signal?: AbortSignal,
  ): Promise<PromqlAnswer>;
  /** An instant query at ms after the start: values by the text of their labels. */
  instant(expression: string, at: number, project?: string): Promise<Record<string, number>>;
  close(): Promise<void>;
}

const NEVER = new AbortController().signal;

export function envelopeOf({ body }: PromqlAnswer): Envelope {
  return JSON.parse(Buffer.from(body).toString()) as Envelope;
}

/**
 * Opens queries, which the test closes. `entry`: another file for the threads; default: the
 * service's own.
 */
export function openQueries(options: {
  readonly folder: string;
  /** Runs queries in the test's own thread, because a worker takes half a second to start. */
  readonly isInline?: boolean;
  /** Bound of the columns that inline queries cache, bytes. */
  readonly cacheBytesMax?: number;
  readonly threads?: number;
  /** Heap of each thread, bytes. */
  readonly heapBytesMax?: number;
  readonly entry?: URL;
}): HistoryQueries {
  const { folder, isInline = false, cacheBytesMax, ...of } = options;
  const clock = new VirtualClock(START);
  const controlPath = copyMigratedDatabases(folder);
  const control = openDatabase({ path: controlPath, synchronous: 'NORMAL', migrations: [] });
  openInstanceStore(control);
  const history = openStore({ folder, clock });
  const lines: string[] = [];
  const log = createLog({
    level: 'info',
    readable: false,
    clock,
    write: (line: string) => lines.push(line),
  });
  const onEnd = ({ kind, message }: ThreadEnd) => log.error({ kind }, message);
  const threads = new QueryThreads({
    clock,
    history: history.share,
    controlPath,
    onEnd,
    entry: QUERY_THREAD,
    ...of,
  });
  const inline = isInline
    ? openInline({ share: history.share, controlPath, cacheBytesMax })
    : undefined;
  const stale: string[] = [];
  const putRecord = control.prepare<[string, string, string]>(
    `INSERT INTO records (project, kind, id, sort, body) VALUES (?, 'vm', ?, '', ?)
     ON CONFLICT DO UPDATE SET body = excluded.body`,
  );
  let revision = 0;
  let sequence = 0;
  const queries = createPromqlQueries({
    threads: inline ?? threads,
    clock,
    log,
    retentionMs: history.retentionMs,
    recordsRevision: () => revision,
    lookbackMs: () => 300_000,
    staleDatacenters: () => stale,
    pendingAlerts: () => [],
  });
  const world: HistoryQueries = {
    history,
    clock,
    threads,
    queries,
    stale,
    lines,
    append(...rows) {
      const builder = new BatchBuilder();
      for (const { at, values = {}, project = 'demo', vm = 'a', ...row } of rows) {
        builder.add({
          project,
          vm,
          observedMs: START + at,
          sequence: at,
          stateReason: '',
          boot: row.boot ?? 'b',
          vcpus: row.vcpus ?? 2,
          state: row.state ?? 1,
          series: Object.keys(values),
          values: Object.values(values),
        });
      }
      history.append(builder.build(clock.now()), { partition: PARTITION, sequence: ++sequence });
    },
    record(vm, displayName, { project = 'demo', datacenter = 'dc-1', turns = [] } = {}) {
      const turnsMs = turns.map((ms) => START + ms);
      const reportedBy = { source: 'a', turn: turns.length + 1, sinceMs: START, turnsMs };
      const body = {
        displayName,
        datacenter,
        expandedMonitoring: false,
        registeredMs: START,
        ...(turns.length > 0 && { reportedBy }),
      };
      putRecord.run(project, vm, JSON.stringify(body));
      revision++;
    },
    run(operation, request = {}, signal = NEVER) {
      const plain = { project: 'demo', limit: 0, encoding: 'identity' } as const;
      return queries.run({ ...plain, operation, ...request }, signal);
    },
    async instant(expression, at, project = 'demo') {
      const answer = await world.run(
        { kind: 'instant', expression, timeMs: START + at },
        { project },
      );
      const { status, data, error } = envelopeOf(answer);
      if (status !== 'success') throw new Error(error);
      return valuesOf(data);
    },
    async close() {
      inline?.close();
      await threads.close();
      await history.close();
      control.close();
    },
  };
  return world;
}

/** Runs the work of a query thread here. */
function openInline(options: {
  share: HistoryShare;
  controlPath: string;
  cacheBytesMax: number | undefined;
}) {
  const { share, controlPath, cacheBytesMax } = options;
  const records = new RecordReader(controlPath);
  const series = new SeriesThread({
    share,
    records,
    ...(cacheBytesMax !== undefined && { cacheBytesMax }),
  });
  const history = new HistoryView(share);
  const methods = promqlMethods(series, systemClock);
  return {
    async call(_project: string, method: string, argument: () => unknown, signal: AbortSignal) {
      return methods[method]?.(argument() as never, () => signal.aborted).result;
    },
    close() {
      series.close();
      history.close();
      records.close();
    },
  };
}

interface VectorElement {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

function valuesOf(data: unknown): Record<string, number> {
  const { result } = data as { readonly result: readonly VectorElement[] };
  return Object.fromEntries(
    result.map(({ metric, value }) => {
      const { __name__: name = '', ...labels } = metric;
      const text = Object.entries(labels).map(([label, of]) => `${label}=${of}`);
      return [`${name}{${text.join(',')}}`, Number(value[1])];
    }),
  );
}
