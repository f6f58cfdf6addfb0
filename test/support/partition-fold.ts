/**
 * One partition's log through the evaluation pipeline, entry by entry, from a state that can be
 * replaced between two entries.
 */
import { from, Subject } from 'rxjs';
import { pastFromMs } from '../../streams/alerting/evaluation/catch-up.ts';
import { endReplay } from '../../streams/alerting/evaluation/instance.ts';
import {
  createState,
  evaluate,
  type PlacedMarker,
  timeOf,
} from '../../streams/alerting/evaluation/pipeline.ts';
import { rebase } from '../../streams/alerting/evaluation/set-back.ts';
import type { EvaluationSeed, EvaluationState } from '../../streams/alerting/evaluation/state.ts';
import type { Edge, LogEntry } from '../../streams/telemetry/entry.ts';
import type { PlacedEntry } from '../../streams/telemetry/entry-codec.ts';

const PARTITION = 0;

/** A state at the start of a member, which reads the log from its floor. */
export function beginState(seed: EvaluationSeed): EvaluationState {
  const state = createState(seed);
  state.isReplaying = true;
  return state;
}

/** Ends the reading of the log that was written before the start, as the evaluator does. */
export function endBacklog(state: EvaluationState): void {
  state.isReplaying = false;
  state.isLive = true;
  state.aheadFromMs = Number.POSITIVE_INFINITY;
  for (const { vms } of state.projects.values()) {
    for (const { buffers } of vms.values()) endReplay(buffers.values());
  }
  if (Number.isFinite(state.nowMs)) rebase(state, state.nowMs);
}

export class PartitionFold {
  readonly #log: readonly LogEntry[];
  readonly #entries = new Subject<PlacedEntry>();
  readonly #states: Map<number, EvaluationState>;
  #next: number;
  #edges: readonly Edge[] = [];
  #fault: unknown;

  /** @param next position of the first entry in `log`, which it folds on request */
  constructor(log: readonly LogEntry[], state: EvaluationState, next = 0) {
    this.#log = log;
    this.#next = next;
    this.#states = new Map([[PARTITION, state]]);
    const past = { entries: (marker: PlacedMarker) => from(this.#past(marker)) };
    this.#entries.pipe(evaluate({ states: this.#states, past })).subscribe({
      next: ({ edges }) => {
        this.#edges = edges;
      },
      error: (error: unknown) => {
        this.#fault = error;
      },
    });
  }

  get state(): EvaluationState {
    const state = this.#states.get(PARTITION);
    if (!state) throw new RangeError('The partition has no state');
    return state;
  }

  set state(state: EvaluationState) {
    this.#states.set(PARTITION, state);
  }

  /** Folds the next entry. @returns its edges */
  step(): readonly Edge[] {
    const entry = this.#log[this.#next++];
    if (!entry) throw new RangeError('The log has no further entry');
    const sequence = this.#next;
    this.#entries.next({ sequence, partition: PARTITION, storedMs: timeOf(entry), entry });
    if (this.#fault !== undefined) throw this.#fault;
    return this.#edges;
  }

  *#past({ sequence, storedMs, entry }: PlacedMarker): Generator<LogEntry> {
    const fromMs = pastFromMs(entry, storedMs);
    for (const before of this.#log.slice(0, sequence - 1)) {
      if (before.kind === 'batch' && timeOf(before) >= fromMs) yield before;
    }
  }
}
