/**
 * The one thread that writes `history.db`: encoding a flush or merging a day takes many
 * milliseconds, too long for the thread that receives samples.
 */

import { HeadReader } from '../head/head-reader.ts';
import { openHistoryFile } from '../history-file.ts';
import { serveThread } from '../threads/supervised-thread.ts';
import { ChunkWriter, type FlushTarget } from './chunk-writer.ts';
import type { HistoryShare } from './history-view.ts';

// Lowest priority: samples and queries have waiting callers, chunks do not.
const NICENESS = 5;

export const thread = serveThread(NICENESS, (share: HistoryShare) => {
  const database = openHistoryFile(share.path);
  const writer = new ChunkWriter(database, new HeadReader(share.head));
  return {
    methods: {
      flush: (targets: readonly FlushTarget[]) => ({ result: writer.flush(targets) }),
      moveFloors: (floors: readonly (readonly [number, number])[]) => {
        writer.moveFloors(floors);
        return { result: undefined };
      },
      upkeep: (options: { nowMs: number; dropBeforeMs: number }) => ({
        result: writer.upkeep(options),
      }),
      waitingDays: (nowMs: number) => ({ result: writer.waitingDays(nowMs) }),
    },
    close: () => database.close(),
  };
});
