/** What readers of the evaluator's soft state see. `evaluator.ts` implements it. */

/** An alert instance as it stands, fired or not. Times are Unix ms, of observations. */
export interface SoftInstance {
  readonly project: string;
  readonly rule: string;
  readonly evaluationRevision: number;
  readonly vm: string;
  /** Canonical label part of the series, or ''. */
  readonly labels: string;
  readonly state: 'IDLE' | 'SUSTAINING' | 'FIRING';
  /** Since when it is in this state. */
  readonly sinceMs: number;
  /** Absent: no value of the metric has been observed. */
  readonly lastValue?: number;
  readonly lastObservedMs?: number;
  readonly dataState: 'OBSERVED' | 'MISSING';
  readonly missingSinceMs?: number;
}

export interface EvaluatorView {
  /** Every instance of the project's rules that the evaluator holds. */
  instances(project: string): readonly SoftInstance[];
}
