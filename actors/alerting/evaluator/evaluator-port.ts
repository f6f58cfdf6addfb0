/** The evaluator's soft state, for its readers. `evaluator.ts` implements it. */
import type {
  InspectedInstance,
  InstancePage,
  SeriesOfRule,
  SoftInstance,
} from '../../../streams/alerting/evaluation/inspect.ts';

export type {
  InspectedInstance,
  InstancePage,
  InstancePosition,
  SeriesOfRule,
  SoftInstance,
} from '../../../streams/alerting/evaluation/inspect.ts';

/**
 * What the evaluator holds at this moment. After a restart it is incomplete until the evaluator has
 * caught up with the log.
 */
export interface EvaluatorView {
  /**
   * Instances of the project's rules that the evaluator holds: every one, VM by VM; or a page of
   * them, in the order of VM, rule, labels and revision.
   */
  instances(project: string, page?: InstancePage): readonly SoftInstance[];
  /** The one of a rule in force for a series of a VM; undefined: there is none. */
  instance(series: SeriesOfRule): InspectedInstance | undefined;
  /** How many of the project's instances are evaluated, and how many of each rule are not. */
  quota(project: string): InstanceQuota;
}

/** How far a project's quota of instances reaches now. */
export interface InstanceQuota {
  readonly evaluated: number;
  /** By rule id; a rule whose instances are all evaluated is absent. */
  readonly unevaluated: ReadonlyMap<string, number>;
}

/** Of a project that has no rule in force. */
export const NO_INSTANCES: InstanceQuota = { evaluated: 0, unevaluated: new Map() };
