/** The evaluator's soft state, for readers. `evaluator.ts` implements it. */
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
 * The current state of the evaluator. After a restart it is incomplete until the evaluator has
 * caught up with the log.
 */
export interface EvaluatorView {
  /**
   * Instances of the project's rules that the evaluator holds: all of them, VM by VM; or a page of
   * them, sorted by VM, rule, labels and revision.
   */
  instances(project: string, page?: InstancePage): readonly SoftInstance[];
  /** The instance of an active rule for a series of a VM; undefined if absent. */
  instance(series: SeriesOfRule): InspectedInstance | undefined;
  /**
   * Number of the project's instances that are evaluated, and of each rule's instances that are
   * not.
   */
  quota(project: string): InstanceQuota;
}

/** Usage of a project's quota of instances. */
export interface InstanceQuota {
  readonly evaluated: number;
  /** By rule id. A rule whose instances are all evaluated is absent. */
  readonly unevaluated: ReadonlyMap<string, number>;
}

/** For a project without active rules. */
export const NO_INSTANCES: InstanceQuota = { evaluated: 0, unevaluated: new Map() };
