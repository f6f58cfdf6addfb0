/**
 * `ReplayAlertRule`: validates the rule like a save, and replays it in a thread over stored
 * history. Decides, commits and sends nothing. Only callers who may also change destinations see
 * destinations, recipients and bodies.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { activePeople, recipientsOf, whyNotTo } from '../../../actors/alerting/eligible.ts';
import { validateRuleSpec } from '../../../actors/alerting/rule-spec.ts';
import type { Host, Instance, ProjectView } from '../../../actors/platform/host/host-port.ts';
import { vmDirectoryOf } from '../../../actors/vms/vm-directory.ts';
import type { AlertRuleSpec } from '../../../machines/alerting/alert-rule.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { invalidField } from '../../../streams/platform/refusal.ts';
import { parseLabels } from '../../../streams/telemetry/samples/batch.ts';
import { checkVms } from '../../alerting/api/alert-preview.ts';
import { requestedSpec } from '../../alerting/api/rule-messages.ts';
import type {
  ReplayAlertRuleRequest,
  ReplayAlertRuleResponse_NotificationSchema,
  ReplayAlertRuleResponseSchema,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import { Delivery_Event, Delivery_State } from '../../gen/svc/monitoring/v1/delivery_pb.ts';
import { mayWrite, within } from '../../platform/api/caller.ts';
import { destinationDisplayName, vmDisplayName } from '../../platform/api/display-names.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { nameOf, parseProjectName } from '../../platform/api/resource-name.ts';
import { REPLAY_SECONDS_MAX, REPLAY_VMS_MAX } from '../../telemetry/query/threads/limits.ts';
import type { RuleReplays } from '../open-rule-replays.ts';
import { lastSegment } from '../replay.ts';
import type {
  ReplayedDestination,
  ReplayedNotification,
  ReplayedVm,
  RuleReplay,
} from '../rule-replay.ts';

export interface RuleReplayDeps {
  readonly host: Host;
  readonly ruleReplays: RuleReplays;
  readonly clock: Clock;
  /** Age up to which history is read, ms. */
  readonly retentionMs: number;
  /** Origin of links in bodies. */
  readonly publicUrl: () => string;
}

export async function replayAlertRule(
  { host, ruleReplays, clock, publicUrl, retentionMs }: RuleReplayDeps,
  request: ReplayAlertRuleRequest,
  context: HandlerContext,
): Promise<MessageInitShape<typeof ReplayAlertRuleResponseSchema>> {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const { historySeconds } = request;
  if (historySeconds < 1 || historySeconds > REPLAY_SECONDS_MAX) {
    const message = `historySeconds is ${historySeconds}; it must be whole seconds from 1 to ${REPLAY_SECONDS_MAX}`;
    throw invalidField('historySeconds', message);
  }
  if (!request.spec) throw invalidField('spec', 'spec is missing: send the rule to replay');
  const spec = { ...validateRuleSpec(requestedSpec(request.spec)), enabled: true };
  checkVms(host, project, spec.vmNames);
  const vms = vmsOf(host, project, spec, request.vmNames);
  const isDisplayed = mayWrite(context, project);
  const destinations = destinationsOf(host, project, spec, isDisplayed);
  const view = host.view(project);
  const toMs = clock.now();
  const period = { fromMs: toMs - historySeconds * 1000, toMs };
  const replay = await ruleReplays.replay(
    {
      project,
      projectDisplayName: view.record('project', project)?.body.displayName ?? '',
      spec,
      vms,
      destinations,
      ...period,
      retainedFromMs: toMs - retentionMs,
      ...(isDisplayed && { publicUrl: publicUrl() }),
    },
    context.signal,
  );
  // Checked again, because access may have ended while the history was read.
  within(context, project);
  const show = isDisplayed ? (one: ReplayedNotification) => confidential(view, one) : () => ({});
  return {
    ...replayMessage(view, replay, show),
    startTimeUnix: unixSeconds(period.fromMs),
    endTimeUnix: unixSeconds(period.toMs),
    vmNames: vms.map(({ id }) => nameOf(project, 'vms', id)),
  };
}

/**
 * The VMs to replay. Throws INVALID_FIELD for unknown ones, for too many, and for VMs that are not
 * the rule's.
 */
function vmsOf(
  host: Host,
  project: string,
  spec: AlertRuleSpec,
  named: readonly string[],
): ReplayedVm[] {
  checkVms(host, project, named, 'vmNames');
  const other = named.find((name) => !spec.allVms && !spec.vmNames.includes(name));
  if (other !== undefined) {
    throw invalidField('vmNames', `The rule does not select ${other}. Name VMs that it selects`);
  }
  const directory = vmDirectoryOf(host).vms(project);
  const chosen = named.length > 0 || !spec.allVms;
  const ids = chosen
    ? new Set((named.length > 0 ? named : spec.vmNames).map(lastSegment))
    : [...directory].filter(([, { retiredMs }]) => retiredMs === undefined).map(([id]) => id);
  const all = [...ids];
  if (all.length > REPLAY_VMS_MAX) {
    const message = `A replay reads at most ${REPLAY_VMS_MAX} VMs, not ${all.length}. Select them in vmNames`;
    throw invalidField('vmNames', message);
  }
  return all.flatMap((id) => {
    const body = directory.get(id);
    if (!body) return [];
    const { displayName, datacenter, registeredMs, generationMs } = body;
    const facts = { id, displayName, datacenter, registeredMs };
    return [{ ...facts, ...(generationMs !== undefined && { generationMs }) }];
  });
}

/**
 * The current state of the destinations that the specification names. Throws INVALID_FIELD for an
 * unknown one. A caller who may not see destinations learns nothing about them; each counts as one
 * that accepts.
 */
function destinationsOf(
  host: Host,
  project: string,
  { destinationNames }: AlertRuleSpec,
  isDisplayed: boolean,
): ReplayedDestination[] {
  const view = host.view(project);
  const prefix = nameOf(project, 'destinations', '');
  return destinationNames.map((name) => {
    const id = name.startsWith(prefix) ? name.slice(prefix.length) : undefined;
    const row = id === undefined ? undefined : view.instance('destination', id);
    if (row) return destinationOf(host, view, row);
    if (isDisplayed || id === undefined) {
      const message = `There is no destination ${name.slice(0, 200)} in the project`;
      throw invalidField('spec.destinationNames', message);
    }
    return { id, kind: 'webhook', displayName: '', state: 'active', recipients: [] };
  });
}

function destinationOf(
  host: Host,
  view: ProjectView,
  row: Instance<'destination'>,
): ReplayedDestination {
  const { kind, displayName } = row.context;
  const isActive = activePeople(host);
  const recipients = recipientsOf(view, row).flatMap((id) => {
    if (id === null) return [];
    const reason = whyNotTo(view, id, isActive);
    return [{ id, ...(reason && { reason }) }];
  });
  const state = row.value === 'paused' || row.value === 'deleted' ? row.value : 'active';
  return { id: row.instance, kind, displayName, state, recipients };
}

type NotificationMessage = MessageInitShape<typeof ReplayAlertRuleResponse_NotificationSchema>;

/** The fields that only callers who may change destinations see. */
function confidential(
  view: ProjectView,
  { destination, recipient, body }: ReplayedNotification,
): NotificationMessage {
  const row = recipient === null ? undefined : view.instance('recipient', recipient);
  return {
    destinationName: nameOf(view.project, 'destinations', destination),
    destinationDisplayName: destinationDisplayName(view, destination),
    ...(body !== undefined && { body }),
    ...(row && { recipient: row.context.address }),
  };
}

function replayMessage(
  view: ProjectView,
  replay: RuleReplay,
  show: (notification: ReplayedNotification) => NotificationMessage,
): MessageInitShape<typeof ReplayAlertRuleResponseSchema> {
  const { notifications, truncated, unread, observedSamples, expectedSamples } = replay;
  return {
    notifications: notifications.map((one) => ({
      atUnix: unixSeconds(one.atMs),
      event: Delivery_Event[one.event],
      vmName: one.vm === '' ? '' : nameOf(view.project, 'vms', one.vm),
      vmDisplayName: vmDisplayName(view, one.vm),
      labels: parseLabels(one.labels),
      outcome: Delivery_State[one.state.toUpperCase() as keyof typeof Delivery_State],
      reason: one.reason,
      ...show(one),
    })),
    truncated,
    unreadVmNames: unread.map((vm) => nameOf(view.project, 'vms', vm)),
    unreadVmDisplayNames: unread.map((vm) => vmDisplayName(view, vm)),
    observedSamples: BigInt(observedSamples),
    expectedSamples: BigInt(expectedSamples),
  };
}
