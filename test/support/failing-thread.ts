/**
 * A thread with methods that a healthy one does not have: it dies, or works until it is asked to
 * stop.
 */

import { ReadCancelled } from '../../sqlite/telemetry/history/history-error.ts';
import { serveThread } from '../../sqlite/telemetry/history/threads/supervised-thread.ts';

serveThread(0, () => ({
  methods: {
    echo: (argument: unknown) => ({ result: argument }),
    // In a worker this ends only the thread, in the middle of the call.
    die: (code: number) => process.exit(code),
    untilCancelled: (_: unknown, isCancelled) => {
      const until = performance.now() + 10_000;
      while (!isCancelled() && performance.now() < until);
      throw new ReadCancelled();
    },
  },
  close: () => {},
}));
