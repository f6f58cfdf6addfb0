/**
 * A query thread whose work takes long, depending on the expression: `slow` continues until it is
 * asked to stop, `stubborn` ignores that, `die` ends the thread, `hoard` fills its heap, `mistake`
 * throws an unexpected error, `disk` an error of the disk. All other expressions are answered at
 * once.
 */

import { ReadCancelled } from '../../sqlite/telemetry/history/history-error.ts';
import { serveThread } from '../../sqlite/telemetry/history/threads/supervised-thread.ts';
import type { ScheduledQueryRequest } from '../../src/telemetry/query/promql/query-request.ts';

/** Long enough for a test to observe it, short enough for a failing test to end. */
const WORK_MS = 20_000;

serveThread(0, () => ({
  methods: {
    promql: ({ request }: ScheduledQueryRequest, isCancelled) => {
      const expression = 'expression' in request.operation ? request.operation.expression : '';
      if (expression === 'die') process.exit(3);
      if (expression === 'mistake') throw new TypeError('x is undefined');
      if (expression === 'disk') throw Object.assign(new Error('read'), { code: 'EIO' });
      if (expression === 'hoard') hoard();
      const until = performance.now() + WORK_MS;
      const listens = expression !== 'stubborn';
      if (expression === 'slow' || !listens) {
        while (performance.now() < until) if (listens && isCancelled()) throw new ReadCancelled();
      }
      const body = new TextEncoder().encode(JSON.stringify({ status: 'success' }));
      return { result: { status: 200, body, encoding: 'identity' } };
    },
  },
  close: () => {},
}));

function hoard(): never {
  const kept: string[][] = [];
  for (let i = 0; ; i++) kept.push(Array.from({ length: 1000 }, (_, n) => `${i} ${n} of a hoard`));
}
