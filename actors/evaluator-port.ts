/** What readers of the evaluator's soft state see. `evaluator.ts` implements it. */
import type { InstancePage, SoftInstance } from '../streams/evaluation/fold.ts';

export type { InstancePage, InstancePosition, SoftInstance } from '../streams/evaluation/fold.ts';

export interface EvaluatorView {
  /**
   * Instances of the project's rules that the evaluator holds: every one, VM by VM; or a page of
   * them, in the order of VM, rule, labels and revision.
   */
  instances(project: string, page?: InstancePage): readonly SoftInstance[];
}
