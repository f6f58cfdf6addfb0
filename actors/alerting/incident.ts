/**
 * The incident: one span of firing. Every commit that changes it rewrites its record from the alert
 * instance and its rule. The samples that decided it (up to hundreds) never change, so they are in
 * a separate record that lists of incidents and later commits omit.
 */
import type { AlertInstanceContext } from '../../machines/alerting/alert-instance.ts';
import type { AlertRuleContext } from '../../machines/alerting/alert-rule.ts';
import type { MissingReason } from '../../machines/alerting/incident.ts';
import type { RetireReason } from '../../machines/platform/effects.ts';
import {
  acceptEdge,
  type DecidedInstance,
  instanceIdOf,
} from '../../streams/alerting/evaluation/notification-diff.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Edge, ObservedValue } from '../../streams/telemetry/entry.ts';
import type { Draft, EventOf, RecordWrite } from '../platform/host/host-port.ts';
import { isOfRetiredVm } from '../vms/vm-directory.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    incident: IncidentBody;
    incidentWindow: IncidentWindowBody;
  }
}

/**
 * RECOVERED by observed good samples. RETIRED when its rule was changed, paused or deleted, or its
 * VM deleted.
 */
export type IncidentState = 'FIRING' | 'RECOVERED' | 'RETIRED';

/** Body of a record of kind `incident`. Times are Unix ms; null = has not happened. */
export interface IncidentBody {
  readonly id: string;
  readonly alertInstance: string;
  readonly rule: string;
  readonly ruleVersion: number;
  readonly ruleDisplayName: string;
  readonly severity: string;
  readonly metricId: string;
  readonly operator: string;
  readonly threshold: number;
  readonly sustainedSeconds: number;
  readonly vm: string;
  /** Data center of the VM when the incident began; absent in records of older versions. */
  readonly vmDatacenter?: string;
  /** Display name of the VM when the incident began. */
  readonly vmDisplayName?: string;
  /** Canonical label part of the series, '' or `{mountpoint="/"}`. */
  readonly labels: string;
  readonly state: IncidentState;
  readonly startedMs: number;
  readonly firedMs: number;
  readonly recoveredMs: number | null;
  readonly retiredMs: number | null;
  readonly retireReason: RetireReason | null;
  readonly value: number | null;
  readonly valueMs: number | null;
  readonly dataMissingSinceMs: number | null;
  /** Absent in records of older versions, like all fields down to `firedObservedMs`. */
  readonly dataMissingReason?: MissingReason | null;
  readonly evaluatorError?: string | null;
  /** The data center of the condition. Its silent VMs are in a separate record. */
  readonly datacenter?: string;
  readonly heldVmCount?: number;
  readonly repeats?: number;
  /** The rule's recovery condition when it fired. */
  readonly recoveryThreshold?: number;
  readonly recoverySeconds?: number;
  /** The rule's own labels when it fired, without those of the series; absent = none. */
  readonly ruleLabels?: Readonly<Record<string, string>>;
  readonly runbookText?: string;
  readonly runbookUrl?: string;
  /** Time of the observation that fired it; for silence, the time of the decision. */
  readonly firedObservedMs?: number;
  readonly acknowledged: {
    readonly by: string;
    readonly atMs: number;
    readonly note: string;
  } | null;
  readonly snoozedUntilMs: number | null;
  readonly correctedAfterNotification: boolean;
}

/** Body of a record of kind `incidentWindow`, under the incident's id; written with the firing. */
export interface IncidentWindowBody {
  /** The samples that decided the incident, oldest first. */
  readonly window: readonly ObservedValue[];
}

/** The record of the samples that decided an incident. */
function incidentWindowRecord(
  incidentId: string,
  window: readonly ObservedValue[],
): RecordWrite<'incidentWindow'> {
  const body: IncidentWindowBody = { window };
  return { kind: 'incidentWindow', id: incidentId, body: { ...body } };
}

/** The record of the instance's current incident. Throws if there is none, which is a bug. */
export function incidentRecord(
  context: AlertInstanceContext,
  draft: Draft,
): RecordWrite<'incident'> {
  const { incident } = context;
  if (!incident) throw new Error('The instance to record has no incident');
  const before = draft.record('incident', incident.id)?.body;
  const body: IncidentBody = {
    ...(before ?? ruleFacts(context, draft)),
    id: incident.id,
    vm: context.vm,
    labels: context.labels,
    state: stateOf(incident),
    startedMs: incident.startedMs,
    firedMs: incident.firedMs,
    firedObservedMs: incident.firedObservedMs,
    recoveredMs: incident.recoveredMs,
    retiredMs: incident.retiredMs,
    retireReason: incident.retireReason,
    value: incident.value,
    valueMs: incident.valueMs,
    dataMissingSinceMs: incident.dataMissingSinceMs,
    dataMissingReason: incident.dataMissingReason,
    evaluatorError: incident.evaluatorError,
    repeats: incident.repeats,
    acknowledged: incident.acknowledged,
    snoozedUntilMs: incident.snoozedUntilMs,
    correctedAfterNotification: incident.correctedAfterNotification,
  };
  const sort = incidentSort(incident.firedMs);
  return { kind: 'incident', id: incident.id, body: { ...body }, sort };
}

/** Sort key of incidents that fired at that time, Unix ms. */
export function incidentSort(firedMs: number): string {
  return String(Math.max(0, firedMs)).padStart(15, '0');
}

/** The rule's fields when the incident began, unaffected by later edits. */
function ruleFacts(context: AlertInstanceContext, draft: Draft) {
  const rule = draft.instance('alertRule', context.rule);
  if (!rule) throw new Error(`The alert instance has the unknown rule ${context.rule}`);
  const { spec, version } = rule.context;
  const vm = draft.record('vm', context.vm)?.body;
  return {
    ...(vm && { vmDatacenter: vm.datacenter, vmDisplayName: vm.displayName }),
    alertInstance: instanceIdOf(context),
    rule: context.rule,
    ruleVersion: version,
    ruleDisplayName: spec.displayName,
    severity: spec.severity,
    metricId: spec.metricId,
    operator: spec.operator,
    threshold: spec.threshold,
    sustainedSeconds: spec.sustainedSeconds,
    ...(spec.recoveryThreshold !== undefined && { recoveryThreshold: spec.recoveryThreshold }),
    ...(spec.recoverySeconds !== undefined && { recoverySeconds: spec.recoverySeconds }),
    ...(spec.labels !== undefined && { ruleLabels: spec.labels }),
    ...(spec.runbookText !== undefined && { runbookText: spec.runbookText }),
    ...(spec.runbookUrl !== undefined && { runbookUrl: spec.runbookUrl }),
  };
}

function stateOf(incident: {
  recoveredMs: number | null;
  retiredMs: number | null;
}): IncidentState {
  if (incident.retiredMs !== null) return 'RETIRED';
  return incident.recoveredMs === null ? 'FIRING' : 'RECOVERED';
}

// Turns an edge of the evaluator into steps of the alert instance's machine. An instance that has
// never fired has no row. The commit that fires it runs the machine through the edges below firing
// that led to it, each with its own time, so that the recorded path is complete. Edges of an older
// evaluation revision, edges decided before (a replay), and edges of a VM retired since change
// nothing.

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    datacenterCondition: DatacenterConditionBody;
    incidentHeldVms: IncidentHeldVmsBody;
  }
}

/** `rulePending`: to be decided once the rule, with unchanged evaluation, has been applied. */
export type EdgeDecision = 'applied' | 'alreadyDecided' | 'ruleNotInForce' | 'rulePending';

/** Decides one edge inside `draft`. Deciding it twice is a no-op. */
export function decideEdge(draft: Draft, reported: Edge): EdgeDecision {
  const rule = ruleInForce(draft, reported);
  if (typeof rule === 'string') return rule;
  const edge = reported.key.vm === '' ? ofDatacenter(draft, reported) : reported;
  if (!edge) return 'alreadyDecided';
  if (isOfRetiredVm(draft, edge.key)) return 'ruleNotInForce';
  const id = instanceIdOf(edge.key);
  const existing = draft.instance('alertInstance', id);
  if (existing?.final) return 'ruleNotInForce';
  const context = existing?.context;
  const accepted = acceptEdge(decidedOf(context), edge);
  if (!accepted) return 'alreadyDecided';
  if (!existing) draft.start('alertInstance', id, { at: draft.at, ...edge.key });
  for (const event of eventsOf(edge, accepted.incidentId, rule, draft.at)) {
    draft.send('alertInstance', id, event);
  }
  if (edge.kind === 'fired') {
    draft.putRecord(incidentWindowRecord(accepted.incidentId, edge.window));
    if (edge.held) recordHeld(draft, accepted.incidentId, edge.held);
  }
  if (edge.kind === 'retired') beginGeneration(draft, reported);
  return 'applied';
}

/**
 * Body of a record of kind `datacenterCondition`, under the id of a rule's first alert instance for
 * the data center. An instance whose VMs are all removed is retired permanently; later conditions
 * get another one.
 */
interface DatacenterConditionBody {
  /** Number of retirements. */
  readonly generation: number;
  /** Time of the edge that retired it last. All edges up to it are decided. */
  readonly throughMs: number;
}

/** The edge with the condition's current generation; undefined if it was already decided. */
function ofDatacenter(draft: Draft, edge: Edge): Edge | undefined {
  const body = conditionOf(draft, edge);
  if (!body) return edge;
  if (edge.atMs <= body.throughMs) return undefined;
  return { ...edge, key: { ...edge.key, generation: body.generation } };
}

function beginGeneration(draft: Draft, edge: Edge): void {
  const { generation } = conditionOf(draft, edge) ?? { generation: 0 };
  const body: DatacenterConditionBody = { generation: generation + 1, throughMs: edge.atMs };
  draft.putRecord({ kind: 'datacenterCondition', id: instanceIdOf(edge.key), body: { ...body } });
}

function conditionOf(draft: Draft, { key }: Edge): DatacenterConditionBody | undefined {
  // Records of this kind are written only by the code above.
  return draft.record('datacenterCondition', instanceIdOf(key))?.body as
    | DatacenterConditionBody
    | undefined;
}

/** Maximum VMs named in the record of a data center's incident; the count includes all of them. */
export const HELD_VMS_MAX = 1_000;

/** Body of a record of kind `incidentHeldVms`, under the incident's id; written with the firing. */
export interface IncidentHeldVmsBody {
  readonly datacenter: string;
  /** Sorted ids of the project's VMs that were silent at that time; at most the first 1,000. */
  readonly vms: readonly string[];
  /** Total number of silent VMs. */
  readonly count: number;
}

function recordHeld(draft: Draft, id: string, { datacenter, vms }: Held): void {
  const body: IncidentHeldVmsBody = {
    datacenter,
    count: vms.length,
    vms: vms.slice(0, HELD_VMS_MAX),
  };
  draft.putRecord({ kind: 'incidentHeldVms', id, body: { ...body } });
  const incident = draft.record('incident', id);
  if (!incident) throw new Error(`The incident ${id} was just recorded but does not exist`);
  const { sort } = incident;
  const updated = { ...incident.body, datacenter, heldVmCount: vms.length };
  draft.putRecord({ kind: 'incident', id, body: updated, ...(sort !== undefined && { sort }) });
}

type Held = NonNullable<Extract<Edge, { kind: 'fired' }>['held']>;

/** The instance's past according to its row; all zero without a row. */
function decidedOf(context: AlertInstanceContext | undefined): DecidedInstance {
  if (!context) return { ordinal: 0, decidedThrough: 0, firing: false };
  const { ordinal, decidedThrough, incident } = context;
  if (!incident) return { ordinal, decidedThrough, firing: false };
  const { startedMs, dataMissingReason } = incident;
  return {
    ordinal,
    decidedThrough,
    firing: isOpen(incident),
    startedMs,
    dataMissing: incident.dataMissingSinceMs !== null,
    ...(dataMissingReason === null ? {} : { missingReason: dataMissingReason }),
    evaluatorFailed: incident.evaluatorError !== null,
  };
}

/**
 * The rule's context if the edge was evaluated under the current revision. While a version is
 * pending, nothing is notified; an edit of names alone loses no edge.
 */
function ruleInForce(
  draft: Draft,
  edge: Edge,
): AlertRuleContext | 'ruleNotInForce' | 'rulePending' {
  const rule = draft.instance('alertRule', edge.key.rule);
  if (!rule) return 'ruleNotInForce';
  const context = rule.context;
  if (context.evaluationRevision !== edge.key.evaluationRevision) return 'ruleNotInForce';
  if (rule.value === 'active') return context;
  return rule.value === 'pendingApplication' ? 'rulePending' : 'ruleNotInForce';
}

function eventsOf(
  edge: Edge,
  incidentId: string,
  { spec }: AlertRuleContext,
  at: number,
): EventOf<'alertInstance'>[] {
  const { atMs: eventMs, observedMs = eventMs, value = null } = edge;
  const decided = { at, eventMs };
  const observed = { ...decided, observedMs, value };
  switch (edge.kind) {
    case 'fired': {
      const { startedMs, notify } = edge;
      const repeatIntervalMs = spec.repeatIntervalSeconds * 1000;
      const fired = { ...observed, startedMs, incidentId, notify, repeatIntervalMs };
      return [...edge.run.map((event) => ({ ...event, at })), { type: 'sustained', ...fired }];
    }
    case 'retired':
      return [{ type: 'retired', at, reason: 'VM_DELETED' }];
    case 'recovered':
      return [{ type: 'recovered', ...observed, notify: edge.notify ?? true }];
    case 'dataMissing':
      return [{ type: 'dataMissing', ...decided, sinceMs: edge.sinceMs, reason: edge.reason }];
    case 'dataObserved':
      return [{ type: 'dataObserved', ...decided }];
    case 'evaluatorFailed':
      return [{ type: 'evaluatorFailed', at, reason: edge.reason }];
    case 'evaluatorHealthy':
      return [{ type: 'evaluatorHealthy', at }];
    case 'corrected':
      return [{ type: 'corrected', ...decided }];
  }
}

function isOpen(incident: { recoveredMs: number | null; retiredMs: number | null }): boolean {
  return incident.recoveredMs === null && incident.retiredMs === null;
}

/** Submits `items` in order, whole or in parts. Throws what `submit` throws for a single item. */
export async function submitInParts<T>(
  items: readonly T[],
  submit: (part: readonly T[]) => Promise<unknown>,
): Promise<void> {
  try {
    await submit(items);
  } catch (error) {
    const tooLarge = error instanceof Refusal && error.reason === 'REQUEST_TOO_LARGE';
    if (!tooLarge || items.length < 2) throw error;
    const middle = Math.ceil(items.length / 2);
    await submitInParts(items.slice(0, middle), submit);
    await submitInParts(items.slice(middle), submit);
  }
}
