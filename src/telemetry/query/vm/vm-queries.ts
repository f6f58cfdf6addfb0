/**
 * The RPCs on VMs: requests from the main thread, and the methods of the query threads that read,
 * compute and encode their responses, 10 s each (LIMIT-03). Lists of VMs have a thread of their
 * own, so that they do not wait for slow queries.
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
 * Queries on VMs, as the main thread calls them. Responses are bytes, encoded in the thread that
 * has the points.
 */
export interface VmQueries {
  /**
   * `QueryVMMonitoringResponse` in the requested format. Throws a `Refusal` (RESPONSE_TOO_LARGE,
   * QUERY_TIMEOUT), a `HistoryError`, or the reason of `signal`.
   */
  query(request: VmQueryRequest, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
  /** `ListVMMonitoringResponse`, or `VMMonitoring` for a single VM; throws the same. */
  inventory(request: VmInventoryRequest, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
  /** States of VMs, from the newest observation of each; throws the same. */
  states(request: VmStatesRequest, signal: AbortSignal): Promise<VmStates>;
}

export interface VmQueriesDeps {
  readonly threads: Pick<QueryThreads, 'call'>;
  /** Threads for lists only. */
  readonly listThreads: Pick<QueryThreads, 'call'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Counts metrics and VMs that a response reports as failed. */
  readonly failures: { inc(): void };
}

/** Wraps the query threads. VMs and metrics that a response reports as failed are logged here. */
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

/**
 * Justifies the cast above: the threads run this program's file, whose methods return a `VmReply`.
 */
function bytesOf(
  reply: VmReply,
  { log, failures }: Pick<VmQueriesDeps, 'log' | 'failures'>,
): Uint8Array<ArrayBuffer> {
  switch (reply.kind) {
    case 'answer':
      for (const failure of reply.failures) {
        failures.inc();
        log.error(failure, 'A part of a response could not be read');
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
  /** Number of VMs on all pages; undefined for a single VM. */
  readonly totalSize: number | undefined;
  readonly format: AnswerFormat;
}

/** Argument of `vmStates`. */
export interface VmStatesRequest {
  readonly project: string;
  readonly ids: readonly string[];
  /** For each VM: whether its data center is stale. */
  readonly isStale: readonly boolean[];
  readonly nowMs: number;
}

/** States of the requested VMs, in their order. */
export interface VmStates {
  readonly states: readonly VmState[];
  readonly telemetry: readonly InventoryEntry['telemetry'][];
}

/** Result of a thread: refusals are values, because exceptions do not carry them across threads. */
export type VmReply =
  | {
      readonly kind: 'answer';
      readonly bytes: Uint8Array<ArrayBuffer>;
      /** Parts that could not be read: for the log. */
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

/**
 * One VM's damaged chunk does not fail the page: it is recorded, and the other VMs are returned.
 */
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
