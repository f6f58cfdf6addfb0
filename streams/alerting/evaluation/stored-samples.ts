/**
 * Stored samples of one VM as a log: the pipeline's source for previews and recomputed incidents.
 * Rows arrive one by one in the order of their times, each received when it was observed.
 *
 *     [ rows before the marker: its past | marker | rows, one batch each | last tick ]
 *
 * Stored samples are complete, so there is no blind window.
 */
import { from, ignoreElements, map, tap } from 'rxjs';
import { valuesNow } from '../../platform/operators.ts';

import type { EvaluationRule, LogEntry } from '../../telemetry/entry.ts';
import type { VmColumns } from '../../telemetry/samples/columns.ts';
import { type RowRange, rowBatches } from '../../telemetry/samples/row-batches.ts';
import { createState, type EvaluatedEntry, evaluate, timeOf } from './pipeline.ts';

/** One VM's stored columns, and the rule to evaluate. */
export interface StoredSamples {
  readonly rule: EvaluationRule;
  readonly vm: string;
  readonly columns: VmColumns;
  /** Called every few hundred rows. Throwing ends the evaluation. */
  readonly checkpoint: () => void;
}

/** Position of the rule's marker among the stored rows, and the end of the log. */
export interface StoredLog {
  /** Time when the rule is applied, Unix ms. */
  readonly markerMs: number;
  /** Index of the first row after the marker. Default: all are after it. */
  readonly firstRow?: number;
  /** Time passes without an observation until then, Unix ms. */
  readonly untilMs: number;
}

const CHECKPOINT_ROWS = 512;
const PARTITION = 0;

/** Evaluates the samples and passes each entry to `take`. Throws the errors of `checkpoint`. */
export function evaluateStored(
  stored: StoredSamples,
  { markerMs, firstRow = 0, untilMs }: StoredLog,
  take: (evaluated: EvaluatedEntry) => void,
): void {
  const state = createState({ rules: [], firing: [], isAlwaysListening: true });
  const { rule } = stored;
  const marker: LogEntry = { kind: 'rules', atMs: markerMs, upserts: [rule], removals: [] };
  const tick: LogEntry = { kind: 'tick', atMs: untilMs };
  const log = function* (): Generator<LogEntry> {
    yield marker;
    yield* rows(stored, { first: firstRow });
    yield tick;
  };
  const past = () => from(rows(stored, { end: firstRow }));
  valuesNow(
    from(log()).pipe(
      map((entry, i) => ({
        sequence: i + 1,
        partition: PARTITION,
        storedMs: timeOf(entry),
        entry,
      })),
      evaluate({ states: new Map([[PARTITION, state]]), past: { entries: past } }),
      tap(take),
      ignoreElements(),
    ),
  );
}

function* rows({ rule, vm, columns, checkpoint }: StoredSamples, range: RowRange) {
  let row = range.first ?? 0;
  for (const batch of rowBatches(columns, { project: rule.project, vm }, range)) {
    if (row++ % CHECKPOINT_ROWS === 0) checkpoint();
    yield { kind: 'batch' as const, batch };
  }
}
