/**
 * The RPCs on VMs: requests from the main thread, and the methods of the query threads that read,
 * compute and encode their answers, 10 s each (LIMIT-03). Lists of VMs have a thread of their own,
 * so that they do not wait behind slow queries.
 */

import { HistoryError, ReadCancelled } from '../../../../sqlite/telemetry/history/history-error.ts';
import type { HistoryView } from '../../../../sqlite/telemetry/history/store/history-view.ts';
import type { ThreadMethod } from '../../../../sqlite/telemetry/history/threads/supervised-thread.ts';
import type { Clock } from '../../../../streams/platform/clock.ts';
import { Refusal, type RefusalReason } from '../../../../streams/platform/refusal.ts';
import type { VmState } from '../../../../streams/telemetry/samples/batch.ts';
import type { Log } from '../../../platform/log.ts';
import { type QueryThreads, runQuery } from '../threads/query-threads.ts';
import { answerVmQuery, type MetricFailure, type VmQuery } from './answer.ts';
import { type AnswerFormat, answerBytes, inventoryBytes, vmBytes } from './answer-bytes.ts';
import { type InventoryEntry, inventoryEntry, type KnownVm, statusOf } from './inventory.ts';

/**
 * Queries on VMs, as the main thread calls them. Answers are bytes already, encoded in the thread
 * that has the points.
 */
export interface VmQueries {
  /**
   * `QueryVMMonitoringResponse` in the format asked for. Throws a `Refusal` (RESPONSE_TOO_LARGE,
   * QUERY_TIMEOUT), a `HistoryError`, or the reason of `signal`.
   */
  query(request: VmQueryRequest, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
  /** `ListVMMonitoringResponse`, or `VMMonitoring` of an only one; throws the same. */
  inventory(request: VmInventoryRequest, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
  /** How VMs are, by what is newest of each; throws the same. */
  states(request: VmStatesRequest, signal: AbortSignal): Promise<VmStates>;
}

export interface VmQueriesDeps {
  readonly threads: Pick<QueryThreads, 'call'>;
  /** Of lists alone. */
  readonly listThreads: Pick<QueryThreads, 'call'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Counts metrics and VMs that an answer reports as failed. */
  readonly failures: { inc(): void };
}

/** Wraps the query threads. VMs and metrics that an answer reports as failed are logged here. */
export function createVmQueries(deps: VmQueriesDeps): VmQueries {
  const { threads, listThreads, clock } = deps;
  return {
    async query(request, signal) {
      const { project } = request.query;
      const reply = await runQuery(
        { threads, clock },
        { project, method: 'vmQuery', argument: request, signal },
      );
      return bytesOf(reply as VmReply, deps);
    },
    async inventory(request, signal) {
      const { project } = request;
      const reply = await runQuery(
        { threads: listThreads, clock },
        { project, method: 'vmInventory', argument: request, signal },
      );
      return bytesOf(reply as VmReply, deps);
    },
    async states(request, signal) {
      const { project } = request;
      return (await runQuery(
        { threads: listThreads, clock },
        { project, method: 'vmStates', argument: request, signal },
      )) as VmStates;
    },
  };
}

/** The cast above: the threads run our own file, whose methods answer with a `VmReply`. */
function bytesOf(
  reply: VmReply,
  { log, failures }: Pick<VmQueriesDeps, 'log' | 'failures'>,
): Uint8Array<ArrayBuffer> {
  switch (reply.kind) {
    case 'answer':
      for (const failure of reply.failures) {
        failures.inc();
        log.error(failure, 'A part of an answer could not be read');
      }
      return reply.bytes;
    case 'refused':
      throw new Refusal(reply.reason, reply.message);
  }
}

/** Argument of `vmQuery`. */
export interface VmQueryRequest {
  readonly query: VmQuery;
  readonly format: AnswerFormat;
}

/** Argument of `vmInventory`: a page of VMs, in its order. */
export interface VmInventoryRequest {
  readonly project: string;
  readonly vms: readonly KnownVm[];
  readonly nextPageToken: string;
  readonly nowMs: number;
  readonly inventoryOnly: boolean;
  /** VMs on all pages together; undefined: one VM is answered by itself. */
  readonly totalSize: number | undefined;
  readonly format: AnswerFormat;
}

/** Argument of `vmStates`. */
export interface VmStatesRequest {
  readonly project: string;
  readonly ids: readonly string[];
  /** Of each: is its data center stale? */
  readonly isStale: readonly boolean[];
  readonly nowMs: number;
}

/** Of each VM asked for, in that order. */
export interface VmStates {
  readonly states: readonly VmState[];
  readonly telemetry: readonly InventoryEntry['telemetry'][];
}

/** What comes back: refusals, which a thread's faults do not carry, come as values. */
export type VmReply =
  | {
      readonly kind: 'answer';
      readonly bytes: Uint8Array<ArrayBuffer>;
      /** What of it could not be read: for the log. */
      readonly failures: readonly (
        | MetricFailure
        | { readonly vm: string; readonly message: string }
      )[];
    }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly message: string };

/** The methods of a query thread, by name. */
export const vmMethods = (history: HistoryView): Readonly<Record<string, ThreadMethod>> => ({
  vmQuery: ({ query, format }: VmQueryRequest, isCancelled) =>
    replyOf(() => {
      const answer = answerVmQuery(history, query, isCancelled);
      return { bytes: answerBytes(answer, format), failures: answer.failures };
    }),
  vmInventory: (request: VmInventoryRequest, isCancelled) =>
    replyOf(() => {
      const failures: { vm: string; message: string }[] = [];
      const entries = request.vms.map((vm) => {
        if (isCancelled()) throw new ReadCancelled();
        return inventoryEntry(vm, newestOf(history, request, vm.id, failures), request);
      });
      const { totalSize, format, project } = request;
      const [first] = entries;
      const bytes =
        totalSize === undefined && first
          ? vmBytes(project, first, format)
          : inventoryBytes({ ...request, totalSize: totalSize ?? 0, entries }, format);
      return { bytes, failures };
    }),
  vmStates({ project, ids, isStale, nowMs }: VmStatesRequest, isCancelled) {
    const states: VmState[] = [];
    const telemetry: InventoryEntry['telemetry'][] = [];
    for (const [i, id] of ids.entries()) {
      if (isCancelled()) throw new ReadCancelled();
      const latest = newestOf(history, { project, nowMs }, id, []);
      const datacenterState = isStale[i] ? 'stale' : 'live';
      const now = statusOf(latest, { datacenterState, nowMs });
      states.push(now.state);
      telemetry.push(now.telemetry);
    }
    return { result: { states, telemetry } satisfies VmStates };
  },
});

/** One VM's damaged chunk is not the page's: it is noted, and the others are answered. */
function newestOf(
  history: HistoryView,
  { project, nowMs }: Pick<VmInventoryRequest, 'project' | 'nowMs'>,
  vm: string,
  failures: { vm: string; message: string }[],
) {
  try {
    return history.newest(project, vm, nowMs);
  } catch (error) {
    if (!(error instanceof HistoryError)) throw error;
    failures.push({ vm, message: error.message });
    return 'unreadable';
  }
}

function replyOf(make: () => Omit<VmReply & { kind: 'answer' }, 'kind'>): {
  result: VmReply;
  transfer?: ArrayBuffer[];
} {
  try {
    const { bytes, failures } = make();
    return { result: { kind: 'answer', bytes, failures }, transfer: [bytes.buffer] };
  } catch (error) {
    if (error instanceof Refusal) {
      return { result: { kind: 'refused', reason: error.reason, message: error.message } };
    }
    throw error;
  }
}
