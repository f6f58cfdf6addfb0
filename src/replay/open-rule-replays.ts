/** Opens the threads that replay rules, and sends requests to them. */
import type { History } from '../../sqlite/telemetry/history/store/store.ts';
import {
  type StartWorker,
  type ThreadEnd,
  threadEntry,
} from '../../sqlite/telemetry/history/threads/supervised-thread.ts';
import type { Closers } from '../platform/closers.ts';
import type { RoomBase } from '../platform/room-base.ts';
import { REPLAY_HEAP_BYTES_MAX, REPLAY_THREADS } from '../telemetry/query/threads/limits.ts';
import { QueryThreads, runQuery } from '../telemetry/query/threads/query-threads.ts';
import type { RuleReplay, RuleReplayRequest } from './rule-replay.ts';

/** The file that replay threads run. */
const REPLAY_THREAD = threadEntry(import.meta.url, 'replay-thread');

export interface RuleReplays {
  /**
   * Throws a `Refusal` (RESPONSE_TOO_LARGE, QUERY_TIMEOUT), a `HistoryError`, or the reason of
   * `signal`.
   */
  replay(request: RuleReplayRequest, signal: AbortSignal): Promise<RuleReplay>;
}

export interface RuleReplaysParts {
  readonly base: Pick<RoomBase, 'clock' | 'log'> & { readonly closers: Pick<Closers, 'add'> };
  /** History, and the projection's file, which every thread gets. A replay does not read it. */
  readonly storage: { readonly history: Pick<History, 'share'>; readonly controlPath: string };
  /** Default: worker threads of Node. */
  readonly startWorker?: StartWorker | undefined;
}

/** A thread starts with the first replay that needs it; `closers` ends them. */
export function openRuleReplays({ base, storage, startWorker }: RuleReplaysParts): RuleReplays {
  const { clock, log, closers } = base;
  const { history, controlPath } = storage;
  const threads = new QueryThreads({
    clock,
    history: history.share,
    controlPath,
    entry: REPLAY_THREAD,
    startWorker,
    name: 'replay thread',
    threads: REPLAY_THREADS,
    heapBytesMax: REPLAY_HEAP_BYTES_MAX,
    onEnd: (end: ThreadEnd) => log.error({ err: end.cause, kind: end.kind }, end.message),
  });
  closers.add('replay threads', () => threads.close());
  return {
    async replay(request, signal) {
      const { project } = request;
      const call = { project, method: 'replayRule', argument: request, signal };
      // The threads run our own file, whose method has this result.
      const answer = (await runQuery({ threads, clock }, call)) as RuleReplay;
      const { unread } = answer;
      if (unread.length > 0) {
        log.error(
          { vms: unread.length, vm: unread[0] },
          'The history of some VMs could not be read for a replay',
        );
      }
      return answer;
    },
  };
}
