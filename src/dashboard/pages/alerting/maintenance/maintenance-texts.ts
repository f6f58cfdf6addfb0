/** Texts of maintenance windows: their page, and the mark on what they cover. */
import { localized } from '../../../messages/localized.ts';

export const texts = localized({
  about:
    'In a maintenance window nobody is notified of what fires. Evaluation goes on, incidents are recorded, and what still fires at the end is announced once.',
  label: 'Maintenance windows',
  show: 'Show',
  current: 'Planned and active',
  withOver: 'Also those that are over',
  none: 'No maintenance is planned.',
  noneHelp: 'Plan a window before work on VMs that would raise incidents.',
  covers: 'Covers',
  state: 'State',
  from: 'From',
  until: 'Until',
  note: 'Note',
  by: 'Planned by',
  acts: 'Actions',
  everything: 'Everything',
  rule: (name: string) => `Rule ${name}`,
  vm: (name: string) => `VM ${name}`,
  endedAt: 'Ended',
  endedBy: (name: string) => `by ${name}`,
  plan: {
    open: 'Plan maintenance',
    title: 'Plan maintenance',
    action: 'Plan it',
    saved: 'Maintenance is planned',
    rule: 'Rule',
    everyRule: 'Every rule',
    vm: 'VM',
    vmHelp: 'Name or id. Empty: every VM, and conditions of whole data centers.',
    noVm: (text: string) => `No VM is called ${text}`,
    several: (text: string) => `Several VMs are called ${text}: give the id of one`,
    from: 'Begins',
    fromHelp: (zone: string) => `Empty: now. By the clock of: ${zone}`,
    length: 'Lasts',
    lengths: {
      '1': '1 hour',
      '2': '2 hours',
      '4': '4 hours',
      '8': '8 hours',
      '24': '24 hours',
      time: 'Until a time that you choose',
    },
    until: 'Ends',
    untilHelp: (zone: string) => `At most 30 days after it begins. By the clock of: ${zone}`,
    noUntil: 'Choose when it ends',
    note: 'Why, for others to read (optional)',
    effectAll: 'Nobody is notified in that time, whatever fires in this project.',
    effect: (covered: string) => `Nobody is notified in that time of: ${covered}`,
  },
  end: {
    open: 'End',
    title: (covered: string) => `End the maintenance of ${covered}?`,
    effect:
      'From now on people are notified again of what fires. What still fires is announced once, as at its end.',
    action: 'End it',
    saved: 'The maintenance is ended',
  },
  // Not `cancel`, which closes the dialog.
  callOff: {
    open: 'Call off',
    title: (covered: string) => `Call off the maintenance of ${covered}?`,
    effect: 'It does not begin: people are notified of what fires, as ever.',
    action: 'Call it off',
    saved: 'The maintenance is called off',
  },
  mark: {
    incident: (until: string) => `In maintenance until ${until}: nothing of this is sent`,
    rule: (until: string) => `In maintenance until ${until}: nothing that this rule finds is sent`,
    ofVm: (vm: string, until: string) =>
      `In maintenance until ${until}: nothing that this rule finds on ${vm} is sent`,
    after: 'Evaluation goes on. What still fires then is announced once.',
  },
});

/** What each state is called. */
export const stateNames: Readonly<Record<string, string>> = localized({
  SCHEDULED: 'Planned',
  ACTIVE: 'Active',
  ANNOUNCING: 'Being announced',
  OVER: 'Over',
  CANCELLED: 'Cancelled',
});
