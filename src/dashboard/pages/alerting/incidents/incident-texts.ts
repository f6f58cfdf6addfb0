/** Texts of the incident pages. */
import { localized } from '../../../messages/localized.ts';

export const texts = localized({
  list: {
    label: 'Incidents',
    rowLabel: (rule: string, vm: string) => `Select ${rule}, ${vm}`,
    show: 'Show',
    open: 'Open',
    all: 'Open and ended, newest first',
    rule: 'Rule',
    vm: 'VM',
    vmHint: 'Name or id',
    datacenter: 'Data center',
    severity: 'Severity',
    attention: 'Attention',
    attentionOnly: 'Unacknowledged',
    what: 'What',
    where: 'Where',
    value: 'Value',
    since: 'Since',
    state: 'State',
    nothingOpen: 'No firing incidents.',
    nothingOpenHelp: 'To include ended incidents, set Show to Open and ended.',
    nothingFound: 'No incidents match these filters.',
    chosen: (count: number) => (count === 1 ? '1 selected' : `${count} selected`),
    chosenMax: (max: number) => `At most ${max} at once`,
    clear: 'Clear selection',
    chooseAll: (count: number) => `Select the first ${count}`,
    connecting: 'Live updates are interrupted. Reconnecting …',
    noVm: (text: string) => `No VM is named ${text}`,
    several: (text: string) => `Several VMs are named ${text}. Choose one by id`,
  },
  act: {
    acknowledge: 'Acknowledge',
    acknowledgeEffect: 'Firing and reminders continue',
    snooze: 'Snooze',
    snoozeHint: '1 h, 4 h, or until a time of your choice',
    unsnooze: 'End the snooze',
    unsnoozeEffect: 'Sends one notification at once, then resumes reminders',
    note: 'Note for other members (optional)',
    forHours: (hours: number) => `${hours} h`,
    until: 'Until',
    untilTime: 'Another time, at most 7 days ahead',
    untilZone: (zone: string) => `Time zone: ${zone}`,
    snoozeEffect: (until: string) => `No notifications until ${until}. Evaluation continues`,
    snoozeUntil: 'Snooze until then',
    chooseTime: 'Choose a time within the next 7 days',
    cancel: 'Cancel',
    acknowledgeTitle: (count: number) =>
      count === 1 ? 'Acknowledge this incident' : `Acknowledge ${count} incidents`,
    snoozeTitle: (count: number) =>
      count === 1 ? 'Snooze this incident' : `Snooze ${count} incidents`,
    acknowledged: 'Acknowledged',
    acknowledgedBy: (name: string) => `Acknowledged by ${name}`,
    snoozed: (until: string) => `Snoozed until ${until}`,
    unsnoozed: 'Snooze ended',
    ended: 'The incident has ended',
    already: 'Already acknowledged',
    notDone: (count: number) =>
      count === 1 ? '1 incident was not changed' : `${count} incidents were not changed`,
    refused: 'The change failed',
  },
  page: {
    condition: (value: string, operator: string, threshold: string) =>
      `${value} ${operator} ${threshold}`,
    sustained: (condition: string, duration: string) => `${condition} for ${duration}`,
    value: 'Value',
    lastDecision: 'at the last evaluation',
    condition_: 'Condition',
    where: 'Where',
    since: 'Since',
    ended: 'Ended',
    rule: 'Rule',
    labels: 'Labels',
    dataCenter: (name: string) => `Data center ${name}`,
    silentVms: (count: string) => `${count} silent VMs`,
    acknowledged: 'Acknowledged',
    by: (name: string) => `by ${name}`,
    nobody: 'Not acknowledged',
    snoozed: 'Snoozed',
    snoozedUntil: (time: string, age: string) =>
      `until ${time} (${age}); no notifications are sent, evaluation continues`,
    notSnoozed: 'Not snoozed',
    reminders: (count: number) => (count === 1 ? '1 reminder so far' : `${count} reminders so far`),
    missing: (time: string, reason: string) => `No data since ${time}: ${reason}. Still firing.`,
    evaluatorError: (reason: string) => `The rule cannot be evaluated: ${reason}. Still firing.`,
    corrected:
      'Late samples showed that the condition had not held. Notifications already sent are not recalled.',
    retired: (reason: string) => `Retired: ${reason}. This is not a recovery.`,
    person: 'a person',
    instance: 'Alert instance',
  },
  deliveries: {
    title: 'Notifications',
    label: 'Deliveries of this incident',
    none: 'No notifications were sent.',
    noneHelp: 'The rule has no destinations, or the incident was snoozed or ended first.',
    event: 'Notification',
    incident: 'Incident',
    test: 'Test, no incident',
    several: (count: number) => `${count} incidents`,
    outcome: 'Outcome',
    when: 'When',
    attempts: 'Attempts',
    to: 'To',
    sentMeaning:
      'Accepted means that the endpoint took the message. It does not mean that anyone read it.',
  },
  timeline: {
    title: 'Timeline',
    trail: 'In the audit trail',
    label: 'Steps of this incident',
    observed: 'observed',
    decided: 'decided',
    notRecorded: 'not recorded',
    delivery: 'Delivery',
    step: 'Step',
    by: 'By',
    left: 'Only the newest steps are shown. The Audit trail page lists all of them.',
    none: 'No steps are recorded.',
  },
  window: {
    title: 'Why it is firing',
    recorded: 'As decided',
    recomputed: 'Recomputed',
    tabs: 'Recorded or recomputed',
    chart: (metric: string, vm: string) => `Deciding samples of ${metric}, ${vm}`,
    slider: 'Time within the incident',
    differs: 'Re-evaluating the stored samples leads to a different decision.',
    notPossible: 'The samples have expired. Only those kept when it fired are shown.',
    noSamples: 'It fired because samples were missing, so there are none to draw.',
    recomputedHelp:
      'Dashed: recomputed now from stored samples with the current rule. No notifications were sent for it.',
    long: 'Only the last 24 hours are recomputed.',
    path: 'State of the alert instance',
    now: 'Then',
    tooOld: 'Samples are stored for 7 days. Only those kept when it fired are shown.',
    whole: 'Show the whole incident',
    decision: 'Show only the decision',
  },
  history: {
    title: 'Surrounding readings',
    tooOld: 'Readings are stored for 7 days. Those of this incident have expired.',
    none: (reason: string | undefined) =>
      reason === undefined ? 'No readings in this range.' : `No readings in this range: ${reason}.`,
  },
});

/** Names of the events of an alert instance and of final delivery states. */
export const eventNames: Readonly<Record<string, string>> = localized({
  breachStarted: 'Breach started',
  breachEnded: 'Breach ended',
  sustained: 'Fired',
  recovered: 'Recovered',
  retired: 'Retired',
  dataMissing: 'Data missing',
  dataObserved: 'Data observed again',
  evaluatorFailed: 'Evaluation failed',
  evaluatorHealthy: 'Evaluation recovered',
  acknowledged: 'Acknowledged',
  snoozed: 'Snoozed',
  unsnoozed: 'Snooze ended early',
  snoozeEnded: 'Snooze expired',
  repeated: 'Reminder',
  repeatDue: 'Reminder',
  repeatIntervalChanged: 'Repeat interval changed',
  corrected: 'Corrected by late samples',
  leftOut: 'Omitted here',
  sent: 'Notification accepted',
  suppressed: 'Notification suppressed',
  expired: 'Notification expired',
  failed: 'Notification failed',
});

/** What a notification reports. */
export const notificationNames: Readonly<Record<string, string>> = localized({
  FIRING: 'Firing',
  REPEATED: 'Reminder',
  RECOVERED: 'Recovery',
  TEST: 'Test',
});

/** Why data is missing. */
export const missingReasons: Readonly<Record<string, string>> = localized({
  NO_DATA: 'no samples arrive, for an unknown reason',
  VM_STOPPED: 'the owner stopped the VM',
  CLOCK_AHEAD: 'the clock of the VM is ahead, so its samples are rejected',
  DATACENTER_STALE: 'the whole data center is silent',
});

/** Why an incident was retired. */
export const retireReasons: Readonly<Record<string, string>> = localized({
  RULE_CHANGED: 'its rule was changed',
  RULE_PAUSED: 'its rule was paused',
  RULE_DELETED: 'its rule was deleted',
  VM_DELETED: 'its VM was deleted',
});

/** Comparison operators as signs. */
export const operatorSigns: Readonly<Record<string, string>> = {
  GREATER_THAN: '>',
  GREATER_THAN_OR_EQUAL: '≥',
  LESS_THAN: '<',
  LESS_THAN_OR_EQUAL: '≤',
  EQUAL: '=',
  NOT_EQUAL: '≠',
};

/** Why a notification was not sent, by the reason of its delivery. */
export const unsentNames: Readonly<Record<string, string>> = localized({
  SNOOZED: 'Incident snoozed',
  MAINTENANCE: 'Maintenance window',
  SUPERSEDED: 'Outdated before it was sent',
  PAUSED: 'Destination paused',
  DESTINATION_DELETED: 'Destination deleted',
  RECIPIENT_REMOVED: 'Recipient removed',
  RECIPIENT_NOT_VERIFIED: 'Recipient not verified',
  RECIPIENT_UNSUBSCRIBED: 'Recipient unsubscribed',
  RECIPIENT_BOUNCED: 'Mail bounced',
  RULE_CHANGED: 'Rule changed',
  RULE_PAUSED: 'Rule paused',
  RULE_DELETED: 'Rule deleted',
  VM_DELETED: 'VM deleted',
  EXPIRED: 'Not accepted within 24 hours',
  REFUSED: 'Refused by the endpoint',
});
