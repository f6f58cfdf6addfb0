/**
 * Texts of maintenance windows: their page and the mark on rules, VMs and incidents that they
 * cover.
 */
import { localized } from '../../../messages/localized.ts';

export const texts = localized({
  about:
    'A maintenance window suppresses notifications. Incidents are recorded; those firing at the end are announced once.',
  label: 'Maintenance windows',
  show: 'Show',
  current: 'Planned and active',
  withOver: 'Include past windows',
  none: 'No maintenance is planned.',
  noneHelp: 'Plan a window before work on VMs that would cause incidents.',
  covers: 'Covers',
  state: 'State',
  from: 'From',
  until: 'Until',
  note: 'Note',
  by: 'Planned by',
  actions: 'Actions',
  everything: 'Everything',
  rule: (name: string) => `Rule ${name}`,
  vm: (name: string) => `VM ${name}`,
  endedAt: 'Ended',
  endedBy: (name: string) => `by ${name}`,
  plan: {
    open: 'Plan maintenance',
    title: 'Plan maintenance',
    action: 'Plan',
    saved: 'Maintenance planned',
    rule: 'Rule',
    everyRule: 'Every rule',
    vm: 'VM',
    vmHelp: 'Name or id. Leave empty for all VMs and whole-data-center conditions.',
    noVm: (text: string) => `No VM is named ${text}`,
    several: (text: string) => `Several VMs are named ${text}. Enter the id of one`,
    from: 'Starts',
    fromHelp: (zone: string) => `Leave empty to start now. Time zone: ${zone}`,
    length: 'Duration',
    lengths: {
      '1': '1 hour',
      '2': '2 hours',
      '4': '4 hours',
      '8': '8 hours',
      '24': '24 hours',
      time: 'Until a time of your choice',
    },
    until: 'Ends',
    untilHelp: (zone: string) => `At most 30 days after the start. Time zone: ${zone}`,
    noUntil: 'Choose an end',
    note: 'Reason, for other members (optional)',
    effectAll: 'No notifications are sent for anything in this project during that time.',
    effect: (covered: string) => `No notifications are sent during that time for: ${covered}`,
  },
  end: {
    open: 'End',
    title: (covered: string) => `End the maintenance of ${covered}?`,
    effect: 'Notifications resume at once. Incidents that are still firing are announced once.',
    action: 'End',
    saved: 'Maintenance ended',
  },
  // Named differently from `cancel`, which closes the dialog.
  callOff: {
    open: 'Call off',
    title: (covered: string) => `Call off the maintenance of ${covered}?`,
    effect: 'The window does not start, and notifications are sent as usual.',
    action: 'Call off',
    saved: 'Maintenance called off',
  },
  mark: {
    incident: (until: string) =>
      `In maintenance until ${until}: notifications for this incident are suppressed`,
    rule: (until: string) =>
      `In maintenance until ${until}: notifications of this rule are suppressed`,
    ofVm: (vm: string, until: string) =>
      `In maintenance until ${until}: notifications of this rule for ${vm} are suppressed`,
    after: 'Evaluation continues. Incidents still firing at the end are announced once.',
  },
});

/** Display name of each state. */
export const stateNames: Readonly<Record<string, string>> = localized({
  SCHEDULED: 'Planned',
  ACTIVE: 'Active',
  ANNOUNCING: 'Being announced',
  OVER: 'Over',
  CANCELLED: 'Cancelled',
});
