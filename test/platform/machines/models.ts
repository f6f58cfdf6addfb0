/**
 * A finite model of each machine: its input, an alphabet of events for a given context (both those
 * that its guards accept and those that they must reject), and the parts of the context that
 * distinguish two states of the model. Times continue from the context, so that a path is
 * plausible.
 */
import type { AlertInstanceContext } from '../../../machines/alerting/alert-instance.ts';
import type { AlertRuleContext, AlertRuleSpec } from '../../../machines/alerting/alert-rule.ts';
import type { MaintenanceWindowContext } from '../../../machines/alerting/maintenance-window.ts';
import type { DeliveryContext } from '../../../machines/delivery/delivery.ts';
import type { DestinationContext } from '../../../machines/delivery/destination.ts';
import type { RecipientContext } from '../../../machines/delivery/recipient.ts';
import type { VmSourceContext } from '../../../machines/vms/vm-source.ts';
import { identityModels } from './identity-models.ts';
import { HOUR, type Model, modelOf, nowOf, START } from './model.ts';

const spec: AlertRuleSpec = {
  displayName: 'CPU high',
  metricId: 'cpu_utilization_pct',
  operator: 'GREATER_THAN',
  threshold: 90,
  sustainedSeconds: 300,
  severity: 'WARNING',
  allVms: true,
  vmNames: [],
  enabled: true,
  repeatIntervalSeconds: 0,
  destinationNames: [],
};

const by = 'projects/p/members/m';

const alertRule = modelOf<AlertRuleContext>({
  input: { at: START, rule: 'r', project: 'p', spec, by },
  events: ({ version }, at) => [
    ...[true, false].flatMap((enabled) =>
      [true, false].map((evaluationChanged) => {
        return { type: 'edited', at, spec: { ...spec, enabled }, by, evaluationChanged };
      }),
    ),
    ...[version - 1, version, version + 1].flatMap((version) => [
      { type: 'applied', at, version },
      { type: 'applicationFailed', at, version, reason: 'INSTANCE_LIMIT' },
    ]),
    { type: 'instanceLimitReached', at },
    { type: 'instanceLimitEnded', at },
    { type: 'deleted', at, by },
  ],
  key: (context) => [
    context.spec.enabled,
    context.syncError,
    context.appliedVersion === 0 || context.appliedVersion === context.version,
    Math.min(2, context.evaluationRevision - context.retiredThroughRevision),
  ],
});

const firing = {
  type: 'sustained',
  incidentId: 'inc_1',
  observedMs: 0,
  value: 95,
};

const alertInstance = modelOf<AlertInstanceContext>({
  input: { at: START, project: 'p', rule: 'r', evaluationRevision: 1, vm: 'v', labels: '' },
  events: ({ decidedThrough, incident }, at) => {
    const earlier = decidedThrough - 1;
    const gapStart = incident?.dataMissingSinceMs ?? at;
    return [
      { type: 'breachStarted', at, eventMs: at },
      { type: 'breachEnded', at, eventMs: at },
      ...[true, false].flatMap((notify) =>
        [0, HOUR].map((repeatIntervalMs) => {
          return { ...firing, at, eventMs: at, startedMs: at, notify, repeatIntervalMs };
        }),
      ),
      {
        ...firing,
        at,
        eventMs: decidedThrough,
        startedMs: earlier,
        notify: true,
        repeatIntervalMs: 0,
      },
      { type: 'recovered', at, eventMs: at, value: 10 },
      { type: 'recovered', at, eventMs: at, value: null },
      { type: 'recovered', at, eventMs: at, value: 10, notify: false },
      { type: 'recovered', at, eventMs: earlier, value: 10 },
      ...['NO_DATA', 'DATACENTER_STALE'].map((reason) => {
        return { type: 'dataMissing', at, eventMs: at, sinceMs: at - 90_000, reason };
      }),
      { type: 'dataMissing', at, eventMs: earlier, sinceMs: earlier, reason: 'NO_DATA' },
      { type: 'dataObserved', at, eventMs: at },
      { type: 'dataObserved', at, eventMs: gapStart },
      { type: 'evaluatorFailed', at, reason: 'out of memory' },
      { type: 'evaluatorHealthy', at },
      { type: 'acknowledged', at, by, note: 'looking' },
      { type: 'snoozed', at, untilMs: at + HOUR, by },
      { type: 'snoozed', at, untilMs: at, by },
      { type: 'unsnoozed', at, by },
      { type: 'xstate.after.snoozeEnd.alertInstance.firing.notification.snoozed', at },
      { type: 'repeatDue', at },
      ...[0, HOUR].map((repeatIntervalMs) => {
        return { type: 'repeatIntervalChanged', at, repeatIntervalMs };
      }),
      { type: 'maintenanceEnded', at },
      { type: 'corrected', at, eventMs: at },
      { type: 'retired', at, reason: 'RULE_CHANGED' },
    ];
  },
  key: ({ ordinal, repeatIntervalMs, incident }) => [
    Math.min(2, ordinal),
    repeatIntervalMs > 0,
    incident && [
      incident.notify,
      incident.acknowledged !== null,
      incident.snoozedUntilMs !== null,
      incident.dataMissingSinceMs !== null,
      incident.dataMissingReason,
      incident.correctedAfterNotification,
      Math.min(1, incident.repeats),
      incident.retiredMs !== null,
    ],
  ],
});

const maintenanceWindow = modelOf<MaintenanceWindowContext>({
  input: {
    at: START,
    project: 'p',
    rule: 'r',
    vm: null,
    note: '',
    by,
    fromMs: START + 1_000,
    untilMs: START + HOUR,
  },
  events: ({ announcedThrough }, at) => [
    { type: 'begun', at },
    { type: 'begun', at: START },
    { type: 'ended', at, by },
    { type: 'announced', at, through: announcedThrough === null ? 'one' : 'two' },
    { type: 'completed', at },
    { type: 'xstate.after.begin.maintenanceWindow.scheduled', at: START + 1_000 },
    { type: 'xstate.after.end.maintenanceWindow.active', at: START + HOUR },
  ],
  key: ({ endedMs, endedBy, announcedThrough }) => [endedMs !== null, endedBy, announcedThrough],
});

const failure = { httpStatus: 503, error: 'HTTP 503' };

const delivery = modelOf<DeliveryContext>({
  input: {
    at: START,
    project: 'p',
    event: 'FIRING',
    occurrence: 1,
    incident: 'inc_1',
    alertInstance: 'i',
    rule: 'r',
    evaluationRevision: 1,
    destination: 'd',
    recipient: null,
  },
  events: ({ attempts, createdMs }, soon) => {
    const attemptId = `att_${attempts.length}`;
    return [soon, createdMs + 24 * HOUR].flatMap((at) => [
      { type: 'attemptDue', at },
      { type: 'memberJoined', at, incident: 'inc_2', waitMs: 30_000 },
      { type: 'settled', at, dropped: 1 },
      { type: 'xstate.after.groupWait.delivery.gathering', at },
      {
        type: 'cleared',
        at,
        attemptId: `att_${attempts.length + 1}`,
        bodyDigest: 'd1',
        checks: [],
      },
      { type: 'suppressed', at, reason: 'SNOOZED' },
      { type: 'accepted', at, httpStatus: 200 },
      { type: 'accepted', at, httpStatus: 200, attemptId },
      { type: 'accepted', at, httpStatus: 200, attemptId: 'att_of_another' },
      ...[5_000, 25 * HOUR, null].flatMap((delayMs) => [
        { type: 'attemptFailed', at, unknown: delayMs === 5_000, ...failure, delayMs },
        { type: 'attemptLost', at, delayMs },
      ]),
      { type: 'attemptFailed', at, unknown: false, ...failure, delayMs: 1, attemptId: 'att_other' },
      { type: 'refused', at, httpStatus: 410, error: 'HTTP 410' },
      { type: 'xstate.after.retryDelay.delivery.waiting', at },
      ...['queued', 'gathering', 'rechecking', 'waiting'].map((state) => {
        return { type: `xstate.after.lifetimeEnd.delivery.${state}`, at: createdMs + 24 * HOUR };
      }),
    ]);
  },
  key: (context) => [
    Math.min(2, context.attempts.length),
    [Math.min(2, context.members), context.isSettled],
    context.attempts.at(-1)?.outcome,
    context.reason,
    nowOf(context) >= context.createdMs + 24 * HOUR,
  ],
});

const address = { urlDigest: 'digest 2', host: 'other.example.com', lastFour: 'efgh' };

const destination = modelOf<DestinationContext>({
  input: {
    at: START,
    project: 'p',
    kind: 'webhook',
    displayName: 'On call',
    urlId: 'url_1',
    urlDigest: 'digest',
    host: 'hooks.example.com',
    lastFour: 'abcd',
    secretId: 'sec_1',
  },
  events: (_, at) => [
    { type: 'paused', at, reason: 'HTTP 410', by },
    { type: 'resumed', at, by },
    { type: 'attemptFailed', at, error: 'HTTP 500' },
    { type: 'attemptFailed', at: at + 23 * HOUR, error: 'HTTP 500' },
    { type: 'attemptFailed', at: at + 72 * HOUR, error: 'HTTP 500' },
    { type: 'attemptAccepted', at },
    { type: 'attemptCapChanged', at, attemptCap: 64 },
    { type: 'renamed', at, displayName: 'Night', by },
    ...[0, 60_000, 900_000].map((groupWaitMs) => {
      return { type: 'groupWaitChanged', at, groupWaitMs, by };
    }),
    { type: 'retargeted', at, urlId: 'url_2', ...address, by },
    ...[0, HOUR, 48 * HOUR].map((overlapMs) => {
      return { type: 'secretRotated', at, secretId: `sec_${at}`, overlapMs, by };
    }),
    { type: 'overlapEnded', at },
    { type: 'deleted', at, by },
  ],
  key: ({ secrets, displayName, urlId, failingSinceMs, lastFailedMs, ...limits }) => [
    limits.attemptCap,
    limits.groupWaitMs,
    Math.min(3, secrets.length),
    displayName,
    urlId,
    failingSinceMs === null || Math.floor((Number(lastFailedMs) - failingSinceMs) / (20 * HOUR)),
  ],
});

const recipient = modelOf<RecipientContext>({
  input: {
    at: START,
    project: 'p',
    destination: 'd',
    membership: 'm',
    address: 'ann@example.org',
    tokenHash: 'first',
  },
  events: ({ tokenHash, tokenExpiresMs }, at) => [
    { type: 'invitedAgain', at, tokenHash: 'again' },
    { type: 'verified', at, tokenHash: tokenHash ?? 'none' },
    { type: 'verified', at, tokenHash: 'of another' },
    ...[-1, 0].map((lateMs) => {
      const pressed = (tokenExpiresMs ?? at) + lateMs;
      return { type: 'verified', at: pressed, tokenHash: tokenHash ?? 'none' };
    }),
    { type: 'unsubscribed', at },
    { type: 'bounced', at, reason: '550' },
    { type: 'removed', at, reason: 'TAKEN_OFF' },
  ],
  key: ({ tokenHash, verifiedMs, reason }) => [tokenHash, verifiedMs !== null, reason],
});

const datacenter = modelOf<{ readonly silentSinceMs: number | null }>({
  input: { at: START, name: 'DC-1' },
  events: (_, at) => [
    { type: 'silenceNoticed', at, sinceMs: at - 90_000 },
    { type: 'reported', at },
  ],
  key: ({ silentSinceMs }) => silentSinceMs !== null,
});

const claim = {
  type: 'claimed',
  copy: 'RUNNING',
  isFresh: false,
  presentCopy: 'RUNNING',
  presentSilentMs: 0,
  isPresentEnded: false,
};

const vmSource = modelOf<VmSourceContext>({
  input: { at: START, project: 'p', vm: 'v', source: 'a' },
  events: ({ source, sourceBefore }, at) =>
    [sourceBefore || 'b', source === 'c' ? 'd' : 'c'].flatMap((other) => [
      { ...claim, at, source: other, observedMs: at },
      { ...claim, at, source: other, observedMs: at, presentCopy: 'DOWN' },
      { ...claim, at, source: other, observedMs: at + HOUR, presentCopy: 'DOWN' },
      { ...claim, at, source: other, observedMs: at, copy: 'DOWN' },
      { ...claim, at, source: other, observedMs: at, presentSilentMs: 100_000 },
      { ...claim, at, source: other, observedMs: at, isFresh: true, presentSilentMs: 60_000 },
      { ...claim, at, source: other, observedMs: at, isPresentEnded: true },
      { type: 'departed', at, sinceMs: at },
      { type: 'vmRetired', at },
    ]),
  key: ({ reason, turn }) => [reason, Math.min(2, turn)],
});

/** By machine name. */
export const models: ReadonlyMap<string, Model> = new Map(
  Object.entries({
    alertRule,
    alertInstance,
    maintenanceWindow,
    delivery,
    destination,
    recipient,
    datacenter,
    vmSource,
    ...identityModels,
  }),
);
