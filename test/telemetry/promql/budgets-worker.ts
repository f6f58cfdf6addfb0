/**
 * Evaluates expressions over many series in a thread whose heap fits the memory budget and the
 * label sets, and reports how each ended. Memory outside the budget ends the thread.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Budget } from '../../../src/telemetry/promql/budget.ts';
import { queryInstant } from '../../../src/telemetry/promql/engine/engine.ts';
import { PromqlError } from '../../../src/telemetry/promql/errors.ts';
import type { SeriesSource, StoredSeries } from '../../../src/telemetry/promql/series-source.ts';
import { Labels, STORED_SERIES_BYTES } from '../../../src/telemetry/promql/values.ts';

export interface BudgetsWork {
  readonly vms: number;
  readonly bytesMax: number;
  readonly expressions: readonly string[];
}

export interface Outcome {
  readonly expression: string;
  /** 'answered', or the kind of refusal. */
  readonly end: string;
}

const { vms, bytesMax, expressions } = workerData as BudgetsWork;
/** Label sets are kept between queries, as in the threads of the service. */
const stored: StoredSeries[] = [];
const run = { timesMs: Float64Array.of(0), values: Float64Array.of(1), stale: null };
for (const name of ['svc_a', 'svc_b', 'svc_c', 'svc_d']) {
  for (let vm = 0; vm < vms; vm++) {
    const labels = { __name__: name, project: 'p', vm: `vm-${vm}`, vm_name: `name of ${vm}` };
    stored.push({ labels: Labels.fromRecord(labels), runs: [run] });
  }
}

const source: SeriesSource = {
  select: ({ matchers }, budget) => {
    const found = stored.filter(({ labels }) =>
      matchers.every(({ label, matches }) => matches(labels.get(label))),
    );
    budget.takeBytes(found.length * STORED_SERIES_BYTES);
    return found.map(({ labels, runs }) => ({ labels, runs: [...runs] }));
  },
};

for (const expression of expressions) {
  const outcome: Outcome = { expression, end: endOf(expression) };
  parentPort?.postMessage(outcome);
}

function endOf(expression: string): string {
  const budget = new Budget({ bytesMax, samplesMax: 1e9 });
  try {
    queryInstant({ expression, timeMs: 0 }, { source, budget });
    return 'answered';
  } catch (error) {
    if (error instanceof PromqlError) return error.kind;
    throw error;
  }
}
