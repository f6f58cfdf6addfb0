/**
 * PromQL queries on the main thread: each runs in a query thread until its deadline or until the
 * client disconnects. `promql-evaluation.ts` bounds the resources of a query.
 */

import { HistoryError } from '../../../../sqlite/telemetry/history/history-error.ts';
import type { Clock } from '../../../../streams/platform/clock.ts';
import { Refusal } from '../../../../streams/platform/refusal.ts';
import { DAMAGED, type RecordDamage } from '../../../platform/damage.ts';
import type { Log } from '../../../platform/log.ts';
import { asksForAlerts, type PendingAlert } from '../series/alert-series.ts';
import { QUERY_MS_MAX } from '../threads/limits.ts';
import { type QueryThreads, withQueryDeadline } from '../threads/query-threads.ts';
import { errorAnswer } from './promql-json.ts';
import type {
  PromqlAnswer,
  QueryOperation,
  QueryRequest,
  ScheduledQueryRequest,
} from './query-request.ts';

export interface PromqlQueriesDeps {
  readonly threads: Pick<QueryThreads, 'call'>;
  readonly clock: Clock;
  /** Age up to which history is read, ms. */
  readonly retentionMs: number;
  /** Changes whenever a record of one of the project's VMs does. */
  readonly recordsRevision: (project: string) => number;
  /** Alerts of a project that are below firing now; called for queries that name alert series. */
  readonly pendingAlerts: (project: string) => readonly PendingAlert[];
  /** Names of the data centers that are stale now. */
  readonly staleDatacenters: () => readonly string[];
  /** Default lookback of a project's queries, ms. */
  readonly lookbackMs: (project: string) => number;
  readonly log: Log;
  /** Counts a query that needed damaged data. */
  readonly recordDamage?: RecordDamage;
}

const STORAGE_FAILED =
  'Storage is not responding; the service log has the reason. Retry the request';

const TIMED_OUT = {
  kind: 'timeout',
  message: 'query timed out in expression evaluation',
} as const;

const OUT_OF_MEMORY = {
  kind: 'execution',
  message:
    'query processing needs more memory than a query may use: use a shorter range, a larger step or fewer series',
} as const;

/**
 * Wraps the query threads. A fault of a thread becomes a response in Prometheus's format; only the
 * client's own abort is thrown.
 */
export function createPromqlQueries(deps: PromqlQueriesDeps): PromqlQueries {
  return {
    lookbackMs: (project) => deps.lookbackMs(project),
    async run(request, signal) {
      const { timeoutMs = QUERY_MS_MAX } = request;
      const work = (ended: AbortSignal) => ask(deps, { ...request, timeoutMs }, ended);
      try {
        return await withQueryDeadline({ clock: deps.clock, signal, timeoutMs }, work);
      } catch (error) {
        if (signal.aborted) throw error;
        deps.recordDamage?.(error);
        return faultAnswer(error, deps.log);
      }
    },
  };
}

async function ask(
  deps: PromqlQueriesDeps,
  request: QueryRequest & { readonly timeoutMs: number },
  signal: AbortSignal,
): Promise<PromqlAnswer> {
  const { threads, clock } = deps;
  const untilMs = clock.elapsed() + request.timeoutMs;
  const scheduled = (): ScheduledQueryRequest => ({
    request: { ...request, lookbackMs: request.lookbackMs ?? deps.lookbackMs(request.project) },
    remainingMs: untilMs - clock.elapsed(),
    retainedFromMs: clock.now() - deps.retentionMs,
    recordsRevision: deps.recordsRevision(request.project),
    staleDatacenters: deps.staleDatacenters(),
    pendingAlerts: textsOf(request.operation).some(asksForAlerts)
      ? deps.pendingAlerts(request.project)
      : [],
  });
  // The threads run this program's file; its method `promql` returns this type.
  return (await threads.call(request.project, 'promql', scheduled, signal)) as PromqlAnswer;
}

function textsOf(operation: QueryOperation): readonly string[] {
  if ('matches' in operation) return operation.matches;
  return [operation.expression];
}

/**
 * A fault that the expression did not cause, as a response or a `Refusal`. Rethrows a bug
 * unchanged: the route logs it with the request id that the caller gets.
 */
function faultAnswer(error: unknown, log: Log): PromqlAnswer {
  if (error instanceof Refusal && error.reason === 'QUERY_TIMEOUT') {
    return { ...errorAnswer(TIMED_OUT), encoding: 'identity' };
  }
  if (!(error instanceof HistoryError)) throw error;
  switch (error.reason) {
    case 'OUT_OF_MEMORY':
      return { ...errorAnswer(OUT_OF_MEMORY), encoding: 'identity' };
    case 'CLOSED':
    case 'INCOMPLETE':
      throw new Refusal('NOT_READY', error.message);
    case 'OVERLOADED':
      throw new Refusal('TOO_MANY_REQUESTS', error.message, { retryAfterSeconds: '2' });
    case 'UNAVAILABLE':
      log.error({ err: error }, 'A PromQL query failed on storage');
      throw new Refusal('NOT_READY', STORAGE_FAILED);
    case 'DAMAGED':
      log.error({ err: error }, 'A PromQL query needed damaged data');
      throw new Refusal('INTERNAL', DAMAGED);
    case 'FAULT':
      throw error;
  }
}

/** Queries run in threads of their own. */
export interface PromqlQueries {
  /**
   * Every fault of the expression or its data is a response with a status. Throws a `Refusal`
   * TOO_MANY_REQUESTS or NOT_READY, the reason of `signal` if the client disconnected, or a
   * `HistoryError` FAULT, which is only for the log.
   */
  run(request: QueryRequest, signal: AbortSignal): Promise<PromqlAnswer>;
  /** Default lookback of a project's queries, ms. */
  lookbackMs(project: string): number;
}
