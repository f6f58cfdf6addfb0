/**
 * `PreviewAlertRule`: validates the rule like a save and evaluates it in the query threads.
 * Decides, commits and sends nothing.
 */

import type { MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { evaluationRuleOf } from '../../../actors/alerting/rule-markers.ts';
import { validateRuleSpec } from '../../../actors/alerting/rule-spec.ts';
import type { Host, ProjectView } from '../../../actors/platform/host/host-port.ts';
import type { RecomputedPath } from '../../../streams/alerting/evaluation/recompute-path.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { invalidField } from '../../../streams/platform/refusal.ts';
import { type EvaluationRule, RETENTION_MS } from '../../../streams/telemetry/entry.ts';
import { parseLabels, seriesKey } from '../../../streams/telemetry/samples/batch.ts';
import {
  PreviewedHistory_Status as HistoryStatus,
  type PreviewAlertRuleRequest,
  type PreviewAlertRuleResponseSchema,
  PreviewAlertRuleResponse_QueryStatus as QueryStatus,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import type { AlertRuleSpec } from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { within } from '../../platform/api/caller.ts';
import { vmDisplayName } from '../../platform/api/display-names.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { nameOf, parseProjectName } from '../../platform/api/resource-name.ts';
import type {
  AlertPreview,
  AlertPreviewRequest,
  AlertPreviews,
} from '../../telemetry/query/preview/alert-preview.ts';
import { POINTS_MAX } from '../../telemetry/query/threads/limits.ts';
import { readingsOf, STRETCH_SECONDS_MAX, segmentMessage } from './alert-instance-explain.ts';
import { requestedSpec } from './rule-messages.ts';

export interface AlertPreviewDeps {
  readonly host: Pick<Host, 'view'>;
  readonly alertPreviews: AlertPreviews;
  readonly clock: Clock;
  /** Age up to which history is read, ms. */
  readonly retentionMs: number;
}

const HISTORY_SECONDS_MAX = RETENTION_MS / 1000;

/**
 * Returns the outcome of the rule on the stored samples. Throws a `Refusal` INVALID_FIELD for a
 * spec that a save would reject too, and the errors of the query threads.
 */
export async function previewAlertRule(
  { host, alertPreviews, clock, retentionMs }: AlertPreviewDeps,
  request: PreviewAlertRuleRequest,
  context: HandlerContext,
): Promise<MessageInitShape<typeof PreviewAlertRuleResponseSchema>> {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const { spec, historySeconds } = request;
  if (!spec) throw invalidField('spec', 'spec is missing: send the rule to preview');
  if (historySeconds < 1 || historySeconds > HISTORY_SECONDS_MAX) {
    const message = `historySeconds is ${historySeconds}: whole seconds from 1 to ${HISTORY_SECONDS_MAX}`;
    throw invalidField('historySeconds', message);
  }
  const rule = previewedRule(project, spec);
  checkVms(host, project, spec.vmNames);
  const toMs = clock.now();
  const window = { fromMs: toMs - historySeconds * 1000, toMs };
  const traced = tracedSeries(host, project, request);
  const { withInstances } = request;
  const call = { rule, ...window, retainedFromMs: toMs - retentionMs, withInstances };
  const requested = traced ? { ...call, traced } : call;
  const view = host.view(project);
  const preview = await alertPreviews.preview(requested, context.signal);
  // Checked again, because access may have ended while the history was read.
  within(context, project);
  return {
    ...previewMessage(view, preview),
    ...instancesMessage(view, preview),
    ...(traced && preview.trace && { trace: traceMessage(view, requested, traced, preview.trace) }),
    startUnixMs: BigInt(window.fromMs),
    endUnixMs: BigInt(toMs),
  };
}

/** The rule as it would be evaluated, even if paused. Throws the `Refusal`s of a save. */
function previewedRule(project: string, requested: AlertRuleSpec): EvaluationRule {
  const spec = { ...validateRuleSpec(requestedSpec(requested)), enabled: true };
  const rule = evaluationRuleOf(project, { rule: 'preview', spec, evaluationRevision: 1 });
  if (!rule) throw new Error('The enabled rule has no evaluation');
  return rule;
}

/** Rejects unknown and retired VMs, named in `field`, because they would never fire. */
export function checkVms(
  host: Pick<Host, 'view'>,
  project: string,
  names: readonly string[],
  field = 'spec.vmNames',
): void {
  const view = host.view(project);
  const prefix = nameOf(project, 'vms', '');
  for (const name of names) {
    const vm = name.startsWith(prefix) ? view.record('vm', name.slice(prefix.length)) : undefined;
    if (vm && vm.body.retiredMs === undefined) continue;
    throw invalidField(field, `There is no VM ${name.slice(0, 200)} in the project`);
  }
}

/** Rejects a VM that the rule does not select, because its trace would never fire. */
function tracedSeries(
  host: Pick<Host, 'view'>,
  project: string,
  { spec, traceVmName, traceLabels }: PreviewAlertRuleRequest,
): TracedSeries | undefined {
  if (traceVmName === '') return undefined;
  const prefix = nameOf(project, 'vms', '');
  const vm = traceVmName.startsWith(prefix) ? traceVmName.slice(prefix.length) : undefined;
  const isSelected = spec?.allVms === true || spec?.vmNames.includes(traceVmName);
  if (vm === undefined || !isSelected || !host.view(project).record('vm', vm)) {
    const message = `${traceVmName.slice(0, 200)} is not a VM of the rule. Trace one that it selects`;
    throw invalidField('traceVmName', message);
  }
  return { vm, labels: seriesKey('', traceLabels) };
}

type TracedSeries = NonNullable<AlertPreviewRequest['traced']>;

/** The path over the end of the window, in the shape of `ExplainAlertInstance`. */
function traceMessage(
  view: ProjectView,
  { rule, toMs }: Pick<AlertPreviewRequest, 'rule' | 'toMs'>,
  { vm, labels }: TracedSeries,
  { samples, gaps, segments }: RecomputedPath,
) {
  const fromMs = toMs - STRETCH_SECONDS_MAX * 1000;
  const isIn = ({ endMs }: { endMs: number }): boolean => endMs > fromMs;
  const clipped = segments.filter(isIn).map((one) => {
    return one.startMs >= fromMs ? one : { ...one, startMs: fromMs, cause: undefined };
  });
  const inStretch = samples.filter(({ observedMs }) => observedMs > fromMs).slice(-POINTS_MAX);
  const path = { samples: inStretch, gaps: gaps.filter(isIn), segments: clipped };
  return {
    ...vmFields(view, vm),
    labels: parseLabels(labels),
    ...readingsOf(rule, path),
  };
}

function vmFields(view: ProjectView, vm: string) {
  return { vmName: nameOf(view.project, 'vms', vm), vmDisplayName: vmDisplayName(view, vm) };
}

function instancesMessage(view: ProjectView, { instances, unknown }: AlertPreview) {
  return {
    instances: instances.listed.map(({ vm, labels, firings, segments, truncated }) => ({
      ...vmFields(view, vm),
      labels: parseLabels(labels),
      firings,
      segments: segments.map(segmentMessage),
      segmentsTruncated: truncated,
    })),
    instancesOmitted: BigInt(instances.omitted),
    unknownVms: BigInt(unknown.vms),
    unknownVmNames: unknown.names.map((vm) => nameOf(view.project, 'vms', vm)),
    unknownVmDisplayNames: unknown.names.map((vm) => vmDisplayName(view, vm)),
  };
}

function previewMessage(
  view: ProjectView,
  preview: AlertPreview,
): Omit<MessageInitShape<typeof PreviewAlertRuleResponseSchema>, '$typeName'> {
  return {
    queryStatus: QueryStatus[preview.queryStatus],
    historyStatus: HistoryStatus[preview.historyStatus],
    evaluatedSamples: BigInt(preview.evaluatedSamples),
    expectedSamples: BigInt(preview.expectedSamples),
    wouldHaveFired: preview.firings.map(({ vm, labels, startedMs, endedMs }) => ({
      ...vmFields(view, vm),
      labels: parseLabels(labels),
      startUnix: unixSeconds(startedMs),
      ...(endedMs !== undefined && { endUnix: unixSeconds(endedMs) }),
    })),
    truncated: preview.truncated,
  };
}
