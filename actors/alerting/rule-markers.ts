/**
 * Log entries and seeds for the evaluator, made from rows: a rule as evaluated, the markers that
 * activate rules and end retired VMs, and the seed of a state that starts at the log's floor.
 */
import type { AlertInstanceContext } from '../../machines/alerting/alert-instance.ts';
import type { AlertRuleContext } from '../../machines/alerting/alert-rule.ts';
import type { Incident } from '../../machines/alerting/incident.ts';
import type { EvaluationSeed } from '../../streams/alerting/evaluation/state.ts';
import { itemsInTurns } from '../../streams/platform/operators.ts';
import {
  type EvaluationRule,
  GAP_TOLERANCE_MS,
  type Operator,
  type RetiredVm,
  type RulesEntry,
} from '../../streams/telemetry/entry.ts';
import type { Draft, Instance, ProjectView } from '../platform/host/host-port.ts';
import { liveInstances } from '../platform/host/live-instances.ts';
import { limitsOf } from '../platform/project-limits.ts';
import type { VmBody } from '../vms/vm-directory.ts';

/** The rule as evaluated; undefined if it is paused. */
export function evaluationRuleOf(
  project: string,
  {
    rule,
    spec,
    evaluationRevision,
  }: Pick<AlertRuleContext, 'rule' | 'spec' | 'evaluationRevision'>,
): EvaluationRule | undefined {
  if (!spec.enabled) return undefined;
  const { recoveryThreshold } = spec;
  return {
    project,
    rule,
    evaluationRevision,
    metricId: spec.metricId,
    // A rule is only committed with an operator of the list (rule-spec.ts).
    operator: spec.operator as Operator,
    threshold: spec.threshold,
    sustainedMs: spec.sustainedSeconds * 1000,
    recoveryMs: (spec.recoverySeconds ?? 0) * 1000,
    ...(recoveryThreshold === undefined ? {} : { recoveryThreshold }),
    ...(spec.allVms ? {} : { vms: spec.vmNames.map(lastSegment) }),
  };
}

/** The log entry that activates the rule's desired revision, or ends its evaluation. */
export function ruleMarker(project: string, row: Instance<'alertRule'>, atMs: number): RulesEntry {
  const context = row.context;
  const { evaluationRevision } = context;
  const evaluated = row.final ? undefined : evaluationRuleOf(project, context);
  return {
    kind: 'rules',
    atMs,
    upserts: evaluated ? [{ ...evaluated, ...newRun(evaluated, context, atMs) }] : [],
    removals: evaluated ? [] : [{ project, rule: row.instance, evaluationRevision }],
  };
}

/** A rule as read from a marker. Without a revision (older versions), it is the desired one. */
export interface FoldedRule {
  readonly isEvaluated: boolean;
  readonly evaluationRevision?: number;
}

/**
 * Applies the rule's desired version if the marker matches it. A marker without a rule means
 * paused.
 */
export function confirmRule(draft: Draft, rule: string, folded: FoldedRule): void {
  const row = draft.instance('alertRule', rule);
  if (row?.value !== 'pendingApplication') return;
  const context = row.context;
  const { version, spec, evaluationRevision } = context;
  if (spec.enabled !== folded.isEvaluated) return;
  if ((folded.evaluationRevision ?? evaluationRevision) !== evaluationRevision) return;
  draft.send('alertRule', rule, { type: 'applied', at: draft.at, version });
}

/** A rule resumed within its own window starts a new run at the resumption. */
function newRun(
  { sustainedMs }: EvaluationRule,
  { resumedMs }: AlertRuleContext,
  atMs: number,
): Pick<EvaluationRule, 'fromMs'> {
  const windowStartMs = atMs - sustainedMs - GAP_TOLERANCE_MS;
  return resumedMs !== null && resumedMs > windowStartMs ? { fromMs: resumedMs } : {};
}

/**
 * Active rules and firing instances from rows: the start of a fold whose earlier log was truncated.
 */
export async function seedOf(view: ProjectView): Promise<EvaluationSeed> {
  const { project } = view;
  const rules: EvaluationRule[] = [];
  for await (const { value, context } of liveInstances(view, 'alertRule')) {
    if (value !== 'active') continue;
    const rule = evaluationRuleOf(project, context);
    if (rule !== undefined) rules.push(rule);
  }
  const limits = [{ project, instances: limitsOf(view).instances }];
  const firing: EvaluationSeed['firing'][number][] = [];
  for await (const { context } of liveInstances(view, 'alertInstance')) {
    const alert = context;
    const seed = seedIncidentOf(project, alert);
    if (seed) firing.push({ ...seed, ...heldOf(view, alert) });
  }
  return { rules, firing, limits, retired: await retiredVms(view) };
}

/** The last incident of an instance, open or recovered, decided up to `decidedThrough`. */
function seedIncidentOf(
  project: string,
  context: AlertInstanceContext,
): EvaluationSeed['firing'][number] | undefined {
  const { rule, evaluationRevision, vm, labels, generation, incident, decidedThrough } = context;
  if (incident === null || incident.retiredMs !== null) return undefined;
  const { recoveredObservedMs } = incident;
  return {
    key: {
      project,
      rule,
      evaluationRevision,
      vm,
      labels,
      ...(generation !== undefined && { generation }),
    },
    startedMs: incident.startedMs,
    firedMs: incident.firedObservedMs,
    ...(recoveredObservedMs === null ? {} : { recoveredMs: recoveredObservedMs }),
    ...missingOf(incident),
    evaluatorFailed: incident.evaluatorError !== null,
    corrected: incident.correctedAfterNotification,
    decidedThrough,
  };
}

/** The silent VMs of a data center's incident. */
function heldOf(view: ProjectView, { incident }: AlertInstanceContext) {
  const record = incident ? view.record('incidentHeldVms', incident.id) : undefined;
  // Records of this kind are always written as `IncidentHeldVmsBody`.
  const body = record?.body;
  return body ? { heldVms: body.vms } : {};
}

function missingOf({ dataMissingSinceMs, dataMissingReason }: Incident) {
  if (dataMissingSinceMs === null) return { dataMissing: false };
  const missingReason = dataMissingReason ?? 'NO_DATA';
  return { dataMissing: true, missingSinceMs: dataMissingSinceMs, missingReason };
}

function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

/** Maximum records read in one turn of the event loop. */
const PAGE = 200;

/**
 * Every VM of the project that was ever retired, with the time of its last retirement. It may have
 * returned since.
 */
export async function retiredVms(view: ProjectView): Promise<RetiredVm[]> {
  const found: RetiredVm[] = [];
  for await (const { id, body } of itemsInTurns(PAGE, (page) => view.records('vm', page))) {
    // Records of this kind are always written as `VmBody`.
    const retired = retiredVmOf(view.project, id, body);
    if (retired) found.push(retired);
  }
  return found;
}

/** Undefined for a VM that was never retired. */
export function retiredVmOf(
  project: string,
  vm: string,
  { generation, generationMs }: Pick<VmBody, 'generation' | 'generationMs'>,
): RetiredVm | undefined {
  if (generation === undefined || generationMs === undefined) return undefined;
  return { project, vm, generation, atMs: generationMs };
}

/** The entry that ends the evaluation of these VMs, all in projects of one partition. */
export function retirementMarker(retired: readonly RetiredVm[], atMs: number): RulesEntry {
  return { kind: 'rules', atMs, upserts: [], removals: [], retired };
}
