/** Texts of the delivery pages. */
import { localized } from '../../messages/localized.ts';

export const texts = localized({
  list: {
    label: 'Deliveries',
    state: 'State',
    event: 'Notification',
    from: 'Created after',
    to: 'Created before',
    none: 'No notifications have been sent yet.',
    noneHelp:
      'Rules notify the destinations that they name. You can also send a test to a destination.',
    nothingFound: 'No deliveries match these filters.',
    ofIncident: 'One incident only',
    ofDestination: 'One destination only',
  },
  incident: 'Incident',
  members: {
    title: 'Incidents in this message',
    help: (rule: string) =>
      `From the rule ${rule}. Each incident is checked separately before each attempt.`,
    several: (count: number) => `${count} incidents`,
    count: (count: number) => `${count} incidents in one message`,
    named: 'Included',
    yes: 'Yes',
    dropped: (reason: string) => `Dropped: ${reason}`,
  },
  destination: 'Destination',
  recipient: 'Recipient',
  created: 'Created',
  reason: 'Reason for not sending',
  next: 'Next attempt',
  test: 'Test, no incident',
  sentMeaning:
    'Accepted means that the endpoint took the message. It does not mean that anyone read it.',
  attempts: 'Attempts',
  noAttempt: 'No attempts yet.',
  attempt: (count: number) => `Attempt ${count}`,
  checks: 'Checks',
  noChecks: 'The checks of this attempt were not recorded.',
  passed: 'Passed',
  failed: 'Failed',
  request: (id: string) => `Request ${id}`,
  took: (duration: string) => `took ${duration}`,
  underWay: 'in progress',
  status: (status: number) => `HTTP status ${status}`,
  answer: 'Response of the endpoint, truncated',
  notSent: 'Not sent',
  path: 'Path on the statechart',
});

/** Outcome of an attempt. `unknown` is not `failed`. */
export const outcomes: Readonly<Record<string, string>> = localized({
  accepted: 'Accepted',
  failed: 'Failed',
  refused: 'Rejected permanently',
  unknown: 'Unknown: it may have been accepted',
});

export const checkNames: Readonly<Record<string, string>> = localized({
  DESTINATION_EXISTS: 'The destination exists',
  DESTINATION_NOT_PAUSED: 'The destination is not paused',
  RECIPIENT_ELIGIBLE: 'The recipient is verified and accepts mail',
  INCIDENT_FIRES: 'The incident is still firing, as the notification says',
  NOT_SUPERSEDED: 'No newer notification makes it redundant',
  INCIDENT_NOT_RETIRED: 'The incident was not retired',
  VM_EXISTS: 'The VM exists',
  RULE_EXISTS: 'The rule exists',
  RULE_UNCHANGED: "The rule's condition is the one that fired",
  DESTINATION_NAMED: 'The rule still names the destination',
  NOT_SNOOZED: 'The incident is not snoozed',
});
