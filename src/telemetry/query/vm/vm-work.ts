/** What a query thread does for the RPCs on VMs: reads, works out, and makes the answer's bytes. */
import { HistoryError, ReadCancelled } from '../../../../sqlite/telemetry/history/history-error.ts';
import type { HistoryView } from '../../../../sqlite/telemetry/history/store/history-view.ts';
import { Refusal, type RefusalReason } from '../../../../streams/platform/refusal.ts';
import type { ThreadWork } from '../thread/thread-work.ts';
import { answerVmQuery, type MetricFailure, type VmQuery } from './answer.ts';
import { type AnswerFormat, answerBytes, inventoryBytes } from './answer-bytes.ts';
import { inventoryEntry, type KnownVm } from './inventory.ts';

/** Argument of `vmQuery`. */
export interface VmQueryCall {
  readonly query: VmQuery;
  readonly format: AnswerFormat;
}

/** Argument of `vmInventory`: a page of VMs, in its order. */
export interface VmInventoryCall {
  readonly project: string;
  readonly vms: readonly KnownVm[];
  readonly nextPageToken: string;
  readonly nowMs: number;
  readonly inventoryOnly: boolean;
  readonly format: AnswerFormat;
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

export const vmWork: ThreadWork = ({ history }) => ({
  vmQuery: ({ query, format }: VmQueryCall, isCancelled) =>
    replyOf(() => {
      const answer = answerVmQuery(history, query, isCancelled);
      return { bytes: answerBytes(answer, format), failures: answer.failures };
    }),
  vmInventory: (call: VmInventoryCall, isCancelled) =>
    replyOf(() => {
      const failures: { vm: string; message: string }[] = [];
      const entries = call.vms.map((vm) => {
        if (isCancelled()) throw new ReadCancelled();
        return inventoryEntry(vm, newestOf(history, call, vm.id, failures), call);
      });
      return { bytes: inventoryBytes({ ...call, entries }, call.format), failures };
    }),
});

/** One VM's damaged chunk is not the page's: it is noted, and the others are answered. */
function newestOf(
  history: HistoryView,
  { project, nowMs }: VmInventoryCall,
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
