/** Texts of the replay of a rule. */
import { localized } from '../../../messages/localized.ts';

export const texts = localized({
  title: 'What would have been sent',
  estimate:
    'An estimate: the rule is replayed over stored readings, with the destinations as they are now. Each endpoint accepts at once, nobody acknowledges or snoozes, and readings count in the order of their times. It saves and sends nothing.',
  period: 'Period',
  hours: (hours: number) => (hours === 1 ? 'Last hour' : `Last ${hours} h`),
  vms: 'VMs',
  allVms: (count: number) =>
    count === 1 ? 'The one VM that the rule selects.' : `All ${count} VMs that the rule selects.`,
  worstVms: (count: number, of: string, fired: number) =>
    fired === 0
      ? `The first ${count} of ${of} VMs: the rule would have fired on none of them in this period.`
      : `${count} of ${of} VMs: first those on which the rule would have fired most often in this period.`,
  firstVms: (count: number, of: string) =>
    `The first ${count} of ${of} VMs by name: on which the rule would have fired most often could not be found.`,
  chosenVms: (count: number) => (count === 1 ? '1 VM, chosen here.' : `${count} VMs, chosen here.`),
  choose: 'Choose VMs',
  chooseHelp: (max: number) => `A replay looks at ${max} VMs at most.`,
  useChosen: 'Replay these VMs',
  useDefault: 'Choose for me',
  tooMany: (count: number, max: number) => `${count} are chosen; ${max} at most.`,
  noneChosen: 'Choose at least one.',
  run: 'Replay',
  again: 'Replay again',
  changed: 'The rule, the period or the VMs have changed since: this is the replay from before.',
  incomplete: 'It can be replayed as soon as the rule is complete.',
  noDestination: 'The rule names no destination: nothing would have been sent.',
  noVms: 'The rule selects no VM.',
  from: 'Replayed period',
  observed: 'Readings',
  counts: (observed: string, expected: string) => `${observed} observed of ${expected} expected`,
  unread: (names: string) => `The history of ${names} could not be read: nothing is known of them.`,
  truncated: (count: string) =>
    `There were more: these are the first ${count}. Choose a shorter period or fewer VMs.`,
  unobserved: 'Nothing was observed in this period, so it is unknown what would have been sent.',
  nothing: 'Nothing would have been sent.',
  hidden: 'Destinations and texts are shown to editors.',
  at: 'Time',
  event: 'Notification',
  vm: 'VM',
  datacenter: 'A whole data center',
  to: 'To',
  outcome: 'Outcome',
  body: 'Text',
  show: 'Show',
  bodyOf: (event: string, vm: string) => `${event}, ${vm}`,
  bodyHelp: 'The names of the rule and the incident in it are made up; links lead nowhere.',
});
