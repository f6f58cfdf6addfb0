/**
 * The RPCs on VMs as the main thread sees them: a checked question in, bytes out. Reading, working
 * out and encoding happen in query threads, 10 s each (LIMIT-03). Lists of VMs are no
 * queries: they have a thread of their own, so that they wait behind nobody's slow ones.
 */
import type { Clock } from '../../../../streams/platform/clock.ts';
import { Refusal } from '../../../../streams/platform/refusal.ts';
import type { Log } from '../../../platform/log.ts';
import { withDeadline } from '../query-deadline.ts';
import { withinMemory } from '../thread/memory-refusal.ts';
import type { QueryThreads } from '../thread/query-threads.ts';
import type { VmInventoryCall, VmQueryCall, VmReply } from './vm-work.ts';

export interface VmQueries {
  /**
   * `QueryVMMonitoringResponse` in the format asked for. Throws a `Refusal` (RESPONSE_TOO_LARGE,
   * QUERY_TIMEOUT), a `HistoryError`, or the reason of `signal`.
   */
  query(call: VmQueryCall, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
  /** `ListVMMonitoringResponse`; throws the same. */
  inventory(call: VmInventoryCall, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
}

export interface VmQueriesDeps {
  readonly threads: Pick<QueryThreads, 'call'>;
  /** Of lists alone. */
  readonly listThreads: Pick<QueryThreads, 'call'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Counts metrics and VMs that an answer tells as failed. */
  readonly failures: { inc(): void };
}

export function createVmQueries(deps: VmQueriesDeps): VmQueries {
  const { threads, listThreads, clock } = deps;
  return {
    async query(call, signal) {
      const { project } = call.query;
      const reply = await withDeadline({ clock, signal }, (ended) =>
        withinMemory(threads.call(project, 'vmQuery', () => call, ended)),
      );
      return bytesOf(reply as VmReply, deps);
    },
    async inventory(call, signal) {
      const { project } = call;
      const reply = await withDeadline({ clock, signal }, (ended) =>
        withinMemory(listThreads.call(project, 'vmInventory', () => call, ended)),
      );
      return bytesOf(reply as VmReply, deps);
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
