/**
 * An export thread whose work takes long, depending on the name of the shard's first VM: `slow`
 * continues until it is asked to stop, `stubborn` ignores that, `die` ends the thread, `broken` and
 * `hungry` fail. All other work is answered at once.
 */

import { ReadCancelled } from '../../sqlite/telemetry/history/history-error.ts';
import { serveThread } from '../../sqlite/telemetry/history/threads/supervised-thread.ts';
import type { ShardRequest } from '../../src/telemetry/export/export-thread.ts';

/** Long enough for a test to observe it, short enough for a failing test to end. */
const WORK_MS = 20_000;

serveThread(0, () => ({
  methods: {
    shard: ({ vms }: ShardRequest, isCancelled) => {
      const name = vms[0]?.displayName ?? '';
      if (name === 'die') process.exit(3);
      if (name === 'broken') throw new Error('the secret inside');
      const kept: number[][] = [];
      while (name === 'hungry') kept.push(Array.from({ length: 1_000_000 }, Math.sqrt));
      const listens = name !== 'stubborn';
      const until = performance.now() + WORK_MS;
      while ((name === 'slow' || !listens) && performance.now() < until) {
        if (listens && isCancelled()) throw new ReadCancelled();
      }
      return { result: new TextEncoder().encode(name) };
    },
  },
  close: () => {},
}));
