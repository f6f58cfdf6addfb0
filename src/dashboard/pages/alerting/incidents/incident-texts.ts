/** Texts of the pages of incidents. */
import { localized } from '../../../messages/localized.ts';

export const texts = localized({
  list: {
    label: 'Incidents',
    rowLabel: (rule: string, vm: string) => `Choose ${rule}, ${vm}`,
    show: 'Show',
    open: 'Open',
    all: 'Open and ended, newest first',
    rule: 'Rule',
    vm: 'VM',
    vmHint: 'Name or id',
    datacenter: 'Data center',
    severity: 'Severity',
    attention: 'Attention',
    attentionOnly: 'Nobody is on it',
    what: 'What',
    where: 'Where',
    value: 'Value',
    since: 'Since',
    state: 'State',
    nothingOpen: 'Nothing fires.',
    nothingOpenHelp: 'To see ended incidents, choose Show: Open and ended.',
    nothingFound: 'No incident matches these filters.',
    chosen: (count: number) => (count === 1 ? '1 chosen' : `${count} chosen`),
    chosenMax: (max: number) => `At most ${max} at once`,
    clear: 'Choose none',
    chooseAll: (count: number) => `Choose the first ${count}`,
    connecting: 'Changes do not come at once now: connecting again.',
    noVm: (text: string) => `No VM is called ${text}`,
    several: (text: string) => `Several VMs are called ${text}: choose one by its id`,
  },
  act: {
    acknowledge: 'Acknowledge',
    acknowledgeEffect: 'Firing and any reminders go on',
    snooze: 'Snooze',
    snoozeHint: '1 h, 4 h, or until a time you choose',
    unsnooze: 'End the snooze',
    unsnoozeEffect: 'One notification is sent at once, then reminders go on',
    note: 'Note for the others (optional)',
    forHours: (hours: number) => `${hours} h`,
    until: 'Until',
    untilTime: 'Another time, at most 7 days from now',
    untilZone: (zone: string) => `By the clock of: ${zone}`,
    snoozeEffect: (until: string) => `Nobody is notified until ${until}; evaluation goes on`,
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
    unsnoozed: 'The snooze is ended',
    ended: 'It has ended',
    already: 'It is acknowledged already',
    notDone: (count: number) =>
      count === 1 ? '1 incident was left as it is' : `${count} incidents were left as they are`,
    refused: 'It was not done',
  },
  page: {
    condition: (value: string, operator: string, threshold: string) =>
      `${value} ${operator} ${threshold}`,
    sustained: (condition: string, duration: string) => `${condition} for ${duration}`,
    value: 'Value',
    lastDecision: 'at the last decision',
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
    nobody: 'Nobody has acknowledged it',
    snoozed: 'Snoozed',
    snoozedUntil: (time: string, age: string) =>
      `until ${time} (${age}); nobody is notified, evaluation goes on`,
    notSnoozed: 'Not snoozed',
    reminders: (count: number) => (count === 1 ? '1 reminder so far' : `${count} reminders so far`),
    missing: (time: string, reason: string) =>
      `Nothing observed since ${time}: ${reason}. It still fires.`,
    evaluatorError: (reason: string) => `The rule cannot be evaluated: ${reason}. It still fires.`,
    corrected:
      'Late samples showed that the condition had not held. Notifications already sent stand.',
    retired: (reason: string) => `Retired: ${reason}. This is not a recovery.`,
    person: 'a person',
    instance: 'Alert instance',
  },
  deliveries: {
    title: 'Who was notified',
    label: 'Deliveries of this incident',
    none: 'Nobody was notified.',
    noneHelp: 'The rule names no destination, or the incident was snoozed or ended before.',
    event: 'Notification',
    incident: 'Of the incident',
    test: 'Test, no incident',
    several: (count: number) => `${count} incidents`,
    outcome: 'Outcome',
    when: 'When',
    attempts: 'Attempts',
    to: 'To',
    sentMeaning: 'Accepted: the endpoint took it. That does not mean that somebody read it.',
  },
  timeline: {
    title: 'What happened',
    trail: 'In the audit trail',
    label: 'Steps of this incident',
    observed: 'observed',
    decided: 'decided',
    notRecorded: 'not recorded',
    delivery: 'Delivery',
    step: 'Step',
    by: 'By',
    left: 'Only the newest steps are shown; the audit page has all of them.',
    none: 'No step of it is recorded.',
  },
  window: {
    title: 'Why it fires',
    recorded: 'As it was decided',
    recomputed: 'Recomputed',
    tabs: 'Recorded or recomputed',
    chart: (metric: string, vm: string) => `Deciding samples of ${metric}, ${vm}`,
    slider: 'Time within the incident',
    differs: 'Evaluating the stored samples again leads to another decision.',
    notPossible: 'The samples are no longer stored: only what was kept when it fired is shown.',
    noSamples: 'It fired because samples were missing: there are none to draw.',
    recomputedHelp:
      'Dashed: computed just now from stored samples by the current rule. Nobody was notified because of it.',
    long: 'Only the last 24 hours are recomputed.',
    path: 'State of the alert instance',
    now: 'Then in',
    tooOld: 'Samples are stored for 7 days: only those kept when it fired are shown.',
    whole: 'Show the whole incident',
    decision: 'Show the decision alone',
  },
  history: {
    title: 'Readings around it',
    tooOld: 'Readings are stored for 7 days: those of this incident are gone.',
    none: (reason: string | undefined) =>
      reason === undefined ? 'No reading in this range.' : `No reading in this range: ${reason}.`,
  },
});

/** Names of the events of an alert instance, and of the ends of deliveries. */
export const eventNames: Readonly<Record<string, string>> = localized({
  breachStarted: 'Breach started',
  breachEnded: 'Breach ended',
  sustained: 'Fired',
  recovered: 'Recovered',
  retired: 'Retired',
  dataMissing: 'Data missing',
  dataObserved: 'Data observed again',
  evaluatorFailed: 'Evaluation failed',
  evaluatorHealthy: 'Evaluation works again',
  acknowledged: 'Acknowledged',
  snoozed: 'Snoozed',
  unsnoozed: 'Snooze ended early',
  snoozeEnded: 'Snooze over',
  repeated: 'Reminder',
  repeatDue: 'Reminder',
  repeatIntervalChanged: 'Repeat interval changed',
  corrected: 'Corrected by late samples',
  leftOut: 'Left out here',
  sent: 'Notification accepted',
  suppressed: 'Notification suppressed',
  expired: 'Notification expired',
  failed: 'Notification failed',
});

/** What a notification was about. */
export const notificationNames: Readonly<Record<string, string>> = localized({
  FIRING: 'Firing',
  REPEATED: 'Reminder',
  RECOVERED: 'Recovery',
  TEST: 'Test',
});

/** Why nothing is observed. */
export const missingReasons: Readonly<Record<string, string>> = localized({
  NO_DATA: 'no samples arrive, for an unknown reason',
  VM_STOPPED: 'the owner stopped the VM',
  CLOCK_AHEAD: "the VM's clock is ahead, so its samples are refused",
  DATACENTER_STALE: 'the whole data center is silent',
});

/** Why an incident was retired. */
export const retireReasons: Readonly<Record<string, string>> = localized({
  RULE_CHANGED: 'its rule was changed',
  RULE_PAUSED: 'its rule was paused',
  RULE_DELETED: 'its rule was deleted',
  VM_DELETED: 'its VM was deleted',
});

/** The comparison of a condition, as a sign. */
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
