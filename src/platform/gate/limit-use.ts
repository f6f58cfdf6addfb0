/**
 * Use of each limit of a project, read from the part that enforces it: for members
 * (`GetProjectLimits`) and for the operator (`svc admin limits show`).
 */
import type { EvaluatorView } from '../../../actors/alerting/evaluator/evaluator-port.ts';
import type { ChangeLimits } from '../../../actors/platform/change-limits.ts';
import type { Host } from '../../../actors/platform/host/host-port.ts';
import {
  DEFAULT_LIMITS,
  LIMIT_NAMES,
  type LimitName,
  limitsOf,
  PROJECT_LIMITS,
  type ProjectLimits,
} from '../../../actors/platform/project-limits.ts';
import type {
  IngestLimits,
  IngestRates,
  RowMemory,
} from '../../../actors/telemetry/ingest/ingest-limits.ts';
import type { VmRegistry } from '../../../actors/vms/vm-registry.ts';
import { CALL_CLASSES, classRules } from './call-classes.ts';
import type { ProjectGate } from './project-gate.ts';

export interface LimitUse {
  readonly name: LimitName;
  readonly limit: number;
  /** Absent: not measured yet, which is not zero. */
  readonly used?: number | undefined;
  readonly unit: string;
  readonly description: string;
}

export interface LimitUseOptions {
  readonly host: Pick<Host, 'view' | 'changeUse'>;
  readonly changeLimits: Pick<ChangeLimits, 'rateOf'>;
  readonly evaluator: Pick<EvaluatorView, 'quota'>;
  readonly registry: Pick<VmRegistry, 'countOf'>;
  readonly ingestLimits: Pick<IngestLimits, 'seriesOf'>;
  readonly memory: RowMemory;
  readonly ingestRates: Pick<IngestRates, 'used'>;
  readonly gate: Pick<ProjectGate, 'running'>;
}

/** Classes of calls that run at most `concurrency` calls, not a multiple of it. */
const COUNTED_CLASSES = CALL_CLASSES.filter((kind) => {
  const { limit, slots } = classRules[kind];
  return limit === 'concurrency' && slots(DEFAULT_LIMITS).running === DEFAULT_LIMITS.concurrency;
});

export class ProjectLimitUse {
  readonly #options: LimitUseOptions;

  constructor(options: LimitUseOptions) {
    this.#options = options;
  }

  /** Every limit of the project, in the order of the table. */
  of(project: string): readonly LimitUse[] {
    const limits = limitsOf(this.#options.host.view(project));
    const used = this.#used(project, limits);
    return LIMIT_NAMES.map((name) => {
      const { unit, help } = PROJECT_LIMITS[name];
      return { name, limit: limits[name], used: used[name], unit, description: help };
    });
  }

  #used(project: string, limits: ProjectLimits): Readonly<Record<LimitName, number | undefined>> {
    const { host, evaluator, registry, ingestLimits, memory, ingestRates, gate, changeLimits } =
      this.#options;
    const changed = host.changeUse(project);
    const view = host.view(project);
    const tenant = `projects/${project}`;
    const vms = registry.countOf(project);
    const series = ingestLimits.seriesOf(project);
    return {
      rules: view.countInstances('alertRule', { final: false }),
      destinations: view.countInstances('destination', { final: false }),
      instances: evaluator.quota(project).evaluated,
      vms,
      // Series are counted as they are reported; VMs without any have not reported since the start.
      series: series === 0 && vms > 0 ? undefined : series,
      headBytes: memory.quota(project).used,
      // Each class has the whole limit to itself; the class nearest to it counts.
      concurrency: Math.max(...COUNTED_CLASSES.map((kind) => gate.running(tenant, kind))),
      openStreams: gate.running(tenant, 'stream'),
      ...ingestRates.used(project),
      changesPerSecond: changeLimits.rateOf(project, limits),
      changeBytesPerDay: changed.bytes,
      thingsPerDay: changed.things,
    };
  }
}
