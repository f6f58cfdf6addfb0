/** What readers of the evaluator's soft state see. `evaluator.ts` implements it. */
import type { InstancePage, SoftInstance } from '../../../streams/alerting/evaluation/fold.ts';

export type {
  InstancePage,
  InstancePosition,
  SoftInstance,
} from '../../../streams/alerting/evaluation/fold.ts';

export interface EvaluatorView {
  /**
   * Instances of the project's rules that the evaluator holds: every one, VM by VM; or a page of
   * them, in the order of VM, rule, labels and revision.
   */
  instances(project: string, page?: InstancePage): readonly SoftInstance[];
  /** How many of the project's instances are evaluated, and of each rule how many are not. */
  room(project: string): InstanceRoom;
}

export interface InstanceRoom {
  readonly evaluated: number;
  /** By rule id; a rule that all instances of are evaluated is absent. */
  readonly unevaluated: ReadonlyMap<string, number>;
}

export const NO_INSTANCES: InstanceRoom = { evaluated: 0, unevaluated: new Map() };
