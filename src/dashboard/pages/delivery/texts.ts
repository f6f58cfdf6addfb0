/** Texts of the pages of deliveries. */
import { localized } from '../../messages/localized.ts';

export const texts = localized({
  list: {
    label: 'Deliveries',
    state: 'State',
    event: 'Notification',
    from: 'Created after',
    to: 'Created before',
    none: 'No notification was sent yet.',
    noneHelp: 'A rule notifies the destinations that it names; a destination can be tested.',
    nothingFound: 'No delivery matches these filters.',
    ofIncident: 'Of one incident alone',
    ofDestination: 'To one destination alone',
  },
  incident: 'Incident',
  members: {
    title: 'Incidents of this message',
    help: (rule: string) => `Of the rule ${rule}. Each is checked by itself before each attempt.`,
    several: (count: number) => `${count} incidents`,
    count: (count: number) => `${count} incidents, in one message`,
    named: 'In the message',
    yes: 'Yes',
    dropped: (reason: string) => `Dropped: ${reason}`,
  },
  destination: 'Destination',
  recipient: 'Recipient',
  created: 'Created',
  reason: 'Why it was not sent',
  next: 'Next attempt',
  test: 'Test, no incident',
  sentMeaning: 'Accepted means that the endpoint took it, not that anybody read it.',
  attempts: 'Attempts',
  noAttempt: 'Nothing was sent yet.',
  attempt: (count: number) => `Attempt ${count}`,
  checks: 'Checked before it',
  noChecks: 'The checks of this attempt were not recorded.',
  passed: 'Passed',
  failed: 'Failed',
  request: (id: string) => `Request ${id}`,
  took: (duration: string) => `took ${duration}`,
  underWay: 'under way',
  status: (status: number) => `HTTP status ${status}`,
  answer: 'Answer of the endpoint, shortened',
  notSent: 'Not sent',
  path: 'Path through its machine',
});

/** What came of an attempt; `unknown` is not `failed`. */
export const outcomes: Readonly<Record<string, string>> = localized({
  accepted: 'Accepted',
  failed: 'Failed',
  refused: 'Refused for good',
  unknown: 'Unknown: it may have been accepted',
});

export const checkNames: Readonly<Record<string, string>> = localized({
  DESTINATION_EXISTS: 'The destination exists',
  DESTINATION_NOT_PAUSED: 'The destination is not paused',
  RECIPIENT_ELIGIBLE: 'The recipient is verified and accepts mail',
  INCIDENT_FIRES: 'The incident still fires, as the notification says',
  NOT_SUPERSEDED: 'No newer notification makes it redundant',
  INCIDENT_NOT_RETIRED: 'The incident was not retired',
  VM_EXISTS: 'The VM exists',
  RULE_EXISTS: 'The rule exists',
  RULE_UNCHANGED: "The rule's condition is the one that fired",
  DESTINATION_NAMED: 'The rule still names the destination',
  NOT_SNOOZED: 'The incident is not snoozed',
});
