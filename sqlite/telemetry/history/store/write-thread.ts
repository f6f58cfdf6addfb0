/**
 * The one thread that writes `history.db`: encoding a flush or merging a day takes many
 * milliseconds, which the thread that takes samples in does not have.
 */

import { HeadReader } from '../head/head-reader.ts';
import { openHistoryFile } from '../history-file.ts';
import { serveThread } from '../threads/supervised-thread.ts';
import { ChunkWriter, type FlushTarget } from './chunk-writer.ts';
import type { HistoryShare } from './history-view.ts';

// Nobody waits for a chunk; samples and queries are waited for.
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
