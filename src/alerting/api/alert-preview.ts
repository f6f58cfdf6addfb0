/**
 * `PreviewAlertRule`: validates the rule as a save would and evaluates it in the query threads.
 * Nothing is decided, committed or sent.
 */

import type { MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { evaluationRuleOf } from '../../../actors/alerting/rule-markers.ts';
import { validateRuleSpec } from '../../../actors/alerting/rule-spec.ts';
import type { Host } from '../../../actors/platform/host/host-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { invalidField } from '../../../streams/platform/refusal.ts';
import { type EvaluationRule, RETENTION_MS } from '../../../streams/telemetry/entry.ts';
import { parseLabels } from '../../../streams/telemetry/samples/series-key.ts';
import {
  PreviewedHistory_Status as HistoryStatus,
  type PreviewAlertRuleRequest,
  type PreviewAlertRuleResponseSchema,
  PreviewAlertRuleResponse_QueryStatus as QueryStatus,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import type { AlertRuleSpec } from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { within } from '../../platform/api/caller.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { nameOf, parseProjectName } from '../../platform/api/resource-name.ts';
import type { AlertPreview, AlertPreviews } from '../../telemetry/query/preview/alert-preview.ts';
import { requestedSpec } from './rule-messages.ts';

export interface AlertPreviewDeps {
  readonly host: Pick<Host, 'view'>;
  readonly alertPreviews: AlertPreviews;
  readonly clock: Clock;
}

const HISTORY_SECONDS_MAX = RETENTION_MS / 1000;

export async function previewAlertRule(
  { host, alertPreviews, clock }: AlertPreviewDeps,
  request: PreviewAlertRuleRequest,
  context: HandlerContext,
): Promise<MessageInitShape<typeof PreviewAlertRuleResponseSchema>> {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const { spec, historySeconds } = request;
  if (!spec) throw invalidField('spec', 'spec is missing: give the rule to preview');
  if (historySeconds < 1 || historySeconds > HISTORY_SECONDS_MAX) {
    const message = `historySeconds is ${historySeconds}: whole seconds from 1 to ${HISTORY_SECONDS_MAX}`;
    throw invalidField('historySeconds', message);
  }
  const rule = ruleOf(project, spec);
  checkVms(host, project, spec.vmNames);
  const toMs = clock.now();
  const window = { fromMs: toMs - historySeconds * 1000, toMs };
  const call = { rule, ...window, retainedFromMs: toMs - RETENTION_MS };
  return previewMessage(project, await alertPreviews.preview(call, context.signal));
}

/** The rule as it would be evaluated, even if paused. Throws a `Refusal` as a save does. */
function ruleOf(project: string, requested: AlertRuleSpec): EvaluationRule {
  const spec = { ...validateRuleSpec(requestedSpec(requested)), enabled: true };
  const rule = evaluationRuleOf(project, { rule: 'preview', spec, evaluationRevision: 1 });
  if (!rule) throw new Error('A rule that is enabled is evaluated');
  return rule;
}

/** Refuses unknown and retired VMs: they would never fire. */
function checkVms(host: Pick<Host, 'view'>, project: string, names: readonly string[]): void {
  const view = host.view(project);
  const prefix = nameOf(project, 'vms', '');
  for (const name of names) {
    const vm = name.startsWith(prefix) ? view.record('vm', name.slice(prefix.length)) : undefined;
    if (vm && vm.body.retiredMs === undefined) continue;
    throw invalidField('spec.vmNames', `There is no VM ${name.slice(0, 200)} in the project`);
  }
}

function previewMessage(
  project: string,
  preview: AlertPreview,
): MessageInitShape<typeof PreviewAlertRuleResponseSchema> {
  return {
    queryStatus: QueryStatus[preview.queryStatus],
    historyStatus: HistoryStatus[preview.historyStatus],
    evaluatedSamples: BigInt(preview.evaluatedSamples),
    expectedSamples: BigInt(preview.expectedSamples),
    wouldHaveFired: preview.firings.map(({ vm, labels, startedMs, endedMs }) => ({
      vmName: nameOf(project, 'vms', vm),
      labels: parseLabels(labels),
      startUnix: unixSeconds(startedMs),
      ...(endedMs !== undefined && { endUnix: unixSeconds(endedMs) }),
    })),
    truncated: preview.truncated,
  };
}
