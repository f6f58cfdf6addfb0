/** The evaluation pipeline of a recorded log, assembled in one place. */

import { filter, type Observable } from 'rxjs';
import { GAP_TOLERANCE_MS, LATENESS_MS } from '../../telemetry/entry.ts';
import { foldLog, type PositionedEdges, type PositionedEntry } from './fold-log.ts';
import type { EvaluationSeed } from './state.ts';
import { withPast } from './with-past.ts';

/** Longest duration of a rule (24 h), and what may arrive late for it. */
const PAST_MS = 86_400_000 + GAP_TOLERANCE_MS + LATENESS_MS;

/** Edges of a log, one emission for each entry that has some. */
export function evaluationPipeline(
  entries: Observable<PositionedEntry>,
  seed?: EvaluationSeed,
): Observable<PositionedEdges> {
  return entries.pipe(
    withPast(PAST_MS),
    foldLog(seed),
    filter(({ edges }) => edges.length > 0),
  );
}
