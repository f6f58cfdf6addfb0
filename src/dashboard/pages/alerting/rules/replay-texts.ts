/** Texts of the rule replay. */
import { localized } from '../../../messages/localized.ts';

export const texts = localized({
  title: 'Simulated notifications',
  estimate:
    'An estimate: endpoints accept at once, no incident is acknowledged or snoozed, and readings arrive in order. Nothing is saved or sent.',
  period: 'Period',
  hours: (hours: number) => (hours === 1 ? 'Last hour' : `Last ${hours} h`),
  vms: 'VMs',
  allVms: (count: number) =>
    count === 1 ? 'The only VM that the rule selects.' : `All ${count} VMs that the rule selects.`,
  worstVms: (count: number, of: string, fired: number) =>
    fired === 0
      ? `The first ${count} of ${of} VMs. The rule would not have fired on any.`
      : `${count} of ${of} VMs, first those on which the rule would have fired most often.`,
  firstVms: (count: number, of: string) =>
    `The first ${count} of ${of} VMs by name. Those on which the rule would have fired most often are unknown.`,
  chosenVms: (count: number) => (count === 1 ? '1 selected VM.' : `${count} selected VMs.`),
  choose: 'Select VMs',
  chooseHelp: (max: number) => `A replay covers at most ${max} VMs.`,
  useChosen: 'Replay these VMs',
  useDefault: 'Select automatically',
  tooMany: (count: number, max: number) => `${count} selected; at most ${max} are allowed.`,
  noneChosen: 'Select at least one.',
  run: 'Replay',
  again: 'Replay again',
  changed: 'The rule, the period or the VMs have changed. This is the previous replay.',
  incomplete: 'Complete the rule to replay it.',
  noDestination: 'The rule has no destinations, so nothing would have been sent.',
  noVms: 'The rule selects no VMs.',
  from: 'Replayed period',
  observed: 'Readings',
  counts: (observed: string, expected: string) => `${observed} observed of ${expected} expected`,
  unread: (names: string) =>
    `The history of ${names} could not be read, so their results are unknown.`,
  truncated: (count: string) =>
    `Only the first ${count} are shown. Choose a shorter period or fewer VMs.`,
  unobserved: 'There are no readings in this period, so the result is unknown.',
  nothing: 'Nothing would have been sent.',
  hidden: 'Destinations and texts are shown to editors only.',
  at: 'Time',
  event: 'Notification',
  vm: 'VM',
  datacenter: 'A whole data center',
  to: 'To',
  outcome: 'Outcome',
  body: 'Text',
  show: 'Show',
  bodyOf: (event: string, vm: string) => `${event}, ${vm}`,
  bodyHelp: 'The names of the rule and the incident are placeholders, and the links do not work.',
});
