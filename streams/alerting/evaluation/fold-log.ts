/** The evaluator as an operator: log entries in, the edges of each out; state goes along in a scan. */

import { defer, map, type OperatorFunction, scan } from 'rxjs';
import type { Edge, LogEntry } from '../../telemetry/entry.ts';
import { createState, fold } from './fold.ts';
import type { EvaluationSeed, EvaluationState } from './state.ts';

/** A log entry with its place, and for a rules marker what was stored before it. */
export interface PositionedEntry {
  readonly sequence: number;
  readonly entry: LogEntry;
  readonly past?: Iterable<LogEntry>;
}

/** What one entry led to; one emission an entry, also when `edges` is empty. */
export interface PositionedEdges {
  readonly sequence: number;
  readonly edges: readonly Edge[];
}

interface Accumulated extends PositionedEdges {
  readonly state: EvaluationState;
}

/** Folds the log. Each subscription has a state of its own, begun from `seed`. */
export function foldLog(seed?: EvaluationSeed): OperatorFunction<PositionedEntry, PositionedEdges> {
  return (entries) =>
    defer(() => {
      const begin: Accumulated = { state: createState(seed), sequence: 0, edges: [] };
      return entries.pipe(
        scan(({ state }, { sequence, entry, past }): Accumulated => {
          return { sequence, ...fold(state, entry, past) };
        }, begin),
        map(({ sequence, edges }) => ({ sequence, edges })),
      );
    });
}
