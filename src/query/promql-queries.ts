/**
 * Reads of the PromQL URL as the main thread sees them: admitted a few at once for each project,
 * run in a query thread, given up when the asker has gone or the time is over. What a query may
 * take is bounded in the thread (`thread/promql-work.ts`).
 */
import { HistoryError } from '../../sqlite/history/history-error.ts';
import type { Clock } from '../../streams/clock.ts';
import { RETENTION_MS } from '../../streams/evaluation/entry.ts';
import { Refusal } from '../../streams/refusal.ts';
import { errorAnswer } from './promql-error-answer.ts';
import { encodeError } from './promql-json.ts';
import type { PromqlAnswer, PromqlQueries, PromqlRequest } from './promql-request.ts';
import type { QueryGate } from './query-gate.ts';
import type { PromqlWork } from './thread/promql-work.ts';
import type { QueryThreads } from './thread/query-threads.ts';

export interface PromqlQueriesDeps {
  readonly threads: Pick<QueryThreads, 'call'>;
  /** Of all queries of a project, whatever they are asked through. */
  readonly gate: QueryGate;
  readonly clock: Clock;
  /** Changes whenever a record of one of the project's VMs does. */
  readonly recordsRevision: (project: string) => number;
  /** Names of the data centers that are stale now. */
  readonly staleDatacenters: () => readonly string[];
}

/** Upstream timeout of a query (interface, section 8), ms; waiting for admission is not in it. */
const QUERY_MS_MAX = 10_000;

const TIMED_OUT = {
  kind: 'timeout',
  message: 'query timed out in expression evaluation',
} as const;

export function createPromqlQueries(deps: PromqlQueriesDeps): PromqlQueries {
  return {
    async run(request, signal) {
      try {
        return await deps.gate.run(request.project, signal, (ended) => ask(deps, request, ended));
      } catch (error) {
        if (signal.aborted) throw error;
        return faultAnswer(error);
      }
    },
  };
}

async function ask(
  deps: PromqlQueriesDeps,
  request: PromqlRequest,
  signal: AbortSignal,
): Promise<PromqlAnswer> {
  const { threads, clock } = deps;
  const { timeoutMs = QUERY_MS_MAX } = request;
  const untilMs = clock.elapsed() + timeoutMs;
  const over = new AbortController();
  const cancel = clock.wakeAfter(timeoutMs, () => over.abort(timedOut()));
  const work = (): PromqlWork => ({
    request,
    remainingMs: untilMs - clock.elapsed(),
    retainedFromMs: clock.now() - RETENTION_MS,
    recordsRevision: deps.recordsRevision(request.project),
    staleDatacenters: deps.staleDatacenters(),
  });
  try {
    const ended = AbortSignal.any([signal, over.signal]);
    // The threads run our own file, whose answer to `promql` is this.
    return (await threads.call(request.project, 'promql', work, ended)) as PromqlAnswer;
  } finally {
    cancel();
  }
}

function timedOut(): Refusal {
  return new Refusal('QUERY_TIMEOUT', TIMED_OUT.message);
}

/** What is no fault of the expression. Throws what has no answer of Prometheus's kind. */
function faultAnswer(error: unknown): PromqlAnswer {
  if (error instanceof Refusal && error.reason === 'QUERY_TIMEOUT') {
    return { ...errorAnswer(TIMED_OUT), encoding: 'identity' };
  }
  if (!(error instanceof HistoryError)) throw error;
  const { message } = error;
  switch (error.reason) {
    case 'CLOSED':
      throw new Refusal('NOT_READY', message);
    case 'OVERLOADED':
      throw new Refusal('TOO_MANY_REQUESTS', message, { retryAfterSeconds: '2' });
    case 'DAMAGED':
      return { status: 500, body: encodeError('internal', message), encoding: 'identity' };
    case 'UNAVAILABLE':
      return { status: 503, body: encodeError('unavailable', message), encoding: 'identity' };
  }
}
