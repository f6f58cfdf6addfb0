/** What readers of the evaluator's soft state see. `evaluator.ts` implements it. */
import type { SoftInstance } from '../streams/evaluation/fold.ts';

export type { SoftInstance } from '../streams/evaluation/fold.ts';

export interface EvaluatorView {
  /** Every instance of the project's rules that the evaluator holds, VM by VM. */
  instances(project: string): readonly SoftInstance[];
}
