/** Texts of the pages on members, service accounts, keys and sessions. */
import { localized } from '../../messages/localized.ts';

export const texts = localized({
  actions: 'Actions',
  actionsFor: (who: string) => `Actions for ${who}`,
  role: 'Role',
  roles: {
    VIEWER: 'Reads everything in the project.',
    EDITOR: 'Reads everything, saves rules and destinations, acts on incidents and enrolls VMs.',
    OWNER: 'Does all of the above, and manages members, service accounts, keys and CI connections.',
  },
  capabilities: 'Permissions',
  capability: {
    'monitoring.read': 'read metrics, alert rules and incidents',
    'monitoring.write': 'save and delete alert rules, create destinations',
  },
  nothing: 'nothing',
  members: {
    label: 'Members',
    member: 'Member',
    email: 'Email address',
    unproven: 'not verified',
    unprovenHelp: 'The invitation named this address. Its owner has not verified it by signing in.',
    noEmail: 'no address',
    since: 'Joined',
    you: 'you',
    keys: 'Keys',
    myKeys: 'My keys',
    keysOf: (who: string | undefined) =>
      who === undefined ? 'Keys of a member' : `Keys of ${who}`,
    ownKeysHelp:
      'A personal key acts for you in this project only. It is revoked when your membership ends. For unattended programs, an OWNER creates a service account.',
    foreignKeysHelp:
      'An OWNER can list and revoke them, but not see their secrets. Only the member can create and rotate them.',
    showKeys: 'Show keys',
    none: 'No members',
    change: 'Change role',
    remove: 'Remove from the project',
    leave: 'Leave the project',
  },
  changeRole: {
    title: (who: string) => `Change the role of ${who}`,
    action: 'Change role',
    effect:
      'Takes effect with the next request, including on open pages. Personal keys never exceed the role: with VIEWER they can only read.',
    changed: (who: string, role: string) => `${who} is now ${role}`,
  },
  removal: {
    title: (who: string) => `Remove ${who} from the project?`,
    titleOwn: 'Leave the project?',
    action: 'Remove',
    leave: 'Leave',
    keys: 'Personal keys of this project are permanently revoked. Programs that use them are rejected from the next request on.',
    sessions:
      'Sessions stay valid for other projects. In this project, all requests are rejected from now on, and open pages stop updating.',
    mail: 'Mail destinations no longer notify this person.',
    stays:
      'Rules, destinations, service accounts and their keys stay. An OWNER can invite the person again.',
    removed: (who: string) => `${who} is no longer a member`,
  },
  keys: {
    label: 'Keys',
    key: 'Key',
    owner: 'Service account',
    state: 'State',
    may: 'Effective permissions',
    ownerDisabled: 'Account disabled',
    end: 'Expires',
    revoked: 'revoked',
    lastUsed: 'Last used',
    refused: (count: string) => (count === '1' ? 'refused once' : `refused ${count} times`),
    refusedHelp: (reason: string) =>
      `This key is still used, and rejected each time. The last reason: ${reason}. The activity has the times.`,
    usedMeaning: 'The time of last use can lag by up to 15 minutes.',
    short: { 'monitoring.read': 'read', 'monitoring.write': 'write' },
    nothing: 'nothing',
    lost: (what: string) => `${what}: not now`,
    lostHelp:
      'The key was created with this permission. Its owner is disabled or no longer has it.',
    displayed: 'Show',
    working: 'Active keys',
    withEnded: 'Include expired and revoked',
    partOrder: 'Not all keys are loaded. Only the loaded ones are sorted.',
    within14: 'within 14 days',
    within7: 'within 7 days',
    within1: 'within a day',
    noEnd: 'unknown',
    none: 'There are no keys here. Create one for each program, so that you can revoke each separately.',
    noneForeign: 'This member has no active keys.',
    limitOfMember: 'It never exceeds your role.',
    create: 'Create key',
    name: 'Name',
    nameHelp: 'Where the key will be used, for example grafana or backup-host.',
    nameMissing: 'Enter a name first',
    capabilityMissing: 'Choose at least one permission',
    networks: 'Networks',
    networksHelp:
      'Optional. Addresses and ranges that the key may be used from, such as 192.0.2.7, 10.0.0.0/8. They cannot be changed later.',
    onlyFrom: (networks: string) => `only from ${networks}`,
    days: 'Lifetime in days',
    daysHelp: 'Expires',
    daysProblem: (max: number) => `Whole days, from 1 to ${max}`,
    secretOf: (name: string) => `Secret of ${name}`,
    secretHelp:
      'Store it where its program reads it. Send it in the Authorization header, never in a URL.',
    replaceLost: 'Revoke it and create another',
    rotate: {
      action: 'Rotate',
      title: (name: string) => `Rotate ${name}`,
      foreign: 'Only the member can rotate it',
      help: 'Creates a successor with the same name, permissions and networks. Its secret is shown once.',
      overlap: 'The old key stays valid for',
      none: 'no longer',
      hours: (hours: number) => (hours === 1 ? '1 more hour' : `${hours} more hours`),
      atOnce: 'Programs that use the old key are rejected from the next request on.',
      overlapHelp: 'Until then, both keys work.',
      done: 'Key rotated',
    },
    revoke: {
      action: 'Revoke',
      title: (name: string) => `Revoke ${name}?`,
      effect:
        'The key is rejected from the next request on. This cannot be undone. Open streams end within a second.',
      foreign: 'The member is notified.',
      reason: 'Reason',
      reasonHelp: 'Optional. Shown with the key and in the audit trail.',
      done: (name: string) => `${name} revoked`,
    },
  },
  accounts: {
    about:
      'For programs that run unattended. A service account belongs to the project and stays when its creators leave.',
    account: 'Service account',
    grants: 'Granted',
    state: 'State',
    keys: 'Keys',
    firstEnd: 'First key expires',
    endUnknown: 'unknown',
    none: 'No service accounts yet',
    noneHelp:
      'Create one for each program. Start with a metrics scraper, for Grafana or your Prometheus.',
    allKeys: 'Keys of all service accounts',
    noKeys: 'No service account has an active key. Open an account to create a key.',
    noKeysAtAll: 'No service account has ever had a key.',
    create: 'Create service account',
    created: (name: string) => `${name} created`,
    name: 'Display name',
    nameHelp: 'Name of the program that will use it, such as Prometheus or Deployment.',
    nameMissing: 'Enter a name first',
    template: 'Permissions',
    ownChoice: 'Custom',
    from: (template: string) => `from the template ${template}`,
    never:
      'Regardless of its permissions, it can never open a VM console, change a VM, manage members, accounts or keys, or acknowledge or snooze incidents.',
    createdAt: 'Created',
    connections: 'CI connections enabled',
    edit: 'Edit',
    editTitle: 'Edit the service account',
    save: 'Save',
    saved: 'Saved',
    limit:
      'Keys cannot exceed these permissions. Removed permissions are rejected from the next request on; added ones apply to keys that were created with them. Owners are notified when the account gains permissions.',
    limitNothing: 'Without permissions, every request of its keys is rejected.',
    keyLimit: 'It never exceeds the permissions of the account.',
    grantFirst: 'The account has no permissions. Edit it first',
    isDisabled: 'This service account is disabled',
    isDisabledHelp: 'All requests of its keys and CI connections are rejected.',
    enableFirst: 'The account is disabled. Enable it first',
    disable: 'Disable',
    disableTitle: (name: string) => `Disable ${name}?`,
    disableEffect:
      'Its keys are rejected from the next request on, open streams end within a second, and tokens of CI jobs become permanently invalid. Its keys work again once it is enabled.',
    reasonHelp: 'Optional. Shown on this page and in the audit trail.',
    disabled: (name: string) => `${name} disabled`,
    enable: 'Enable',
    enableTitle: (name: string) => `Enable ${name}?`,
    enableEffect:
      'Unexpired keys work again. Earlier tokens of CI jobs stay invalid; the next job gets a new one. Owners are notified.',
    enabled: (name: string) => `${name} enabled`,
    delete: 'Delete',
    deleteTitle: (name: string) => `Delete ${name}?`,
    deleteEffect: (keys: number, connections: number) =>
      `This cannot be undone. Its active keys (${keys}) and CI connections (${connections}) stop working. Its history stays in the audit trail.`,
    deleted: (name: string) => `${name} deleted`,
    usage: {
      title: 'Where to use a key',
      secret:
        'Put the key into an Authorization: Bearer header that a server sends, or into a file that only its program can read. Never put it into a URL, a browser or a dashboard.',
      promql: 'Grafana and other query tools',
      promqlHelp:
        'Add a data source of type Prometheus with this URL and a scrape interval of 30 s.',
      scrape: 'Your own Prometheus',
      scrapeHelp:
        'The target list covers all shards of the project. Put the key into the file named in it. For vmagent and VictoriaMetrics, leave out the lines track_timestamps_staleness and refresh_interval.',
    },
  },
  lookBack: {
    title: 'PromQL queries',
    seconds: 'Look-back, seconds',
    help: 'How old the newest sample may be to count as the current value in a query without lookback_delta. Prometheus uses 300.',
    problem: 'Whole seconds, from 60 to 3600',
  },
  invitations: {
    title: 'Pending invitations',
    label: 'Pending invitations',
    invite: 'Invite a member',
    email: 'Email address',
    emailHelp: 'An earlier invitation to the same address is revoked.',
    emailMissing: 'Enter an address first',
    sends: 'The invitation is mailed to this address. Its link is also shown once.',
    sendsNot: 'This service cannot send mail. The link is shown once for you to pass on.',
    link: (email: string) => `Invitation link for ${email}`,
    linkHelp:
      'Anyone who opens the link becomes a member with this role. Share it only with the invited person.',
    emailed: 'It has also been sent by mail.',
    again: 'Invite again, with a new link',
    none: 'No pending invitations',
    expires: 'Valid until',
    revoke: 'Revoke',
    revokeTitle: (email: string) => `Revoke the invitation of ${email}?`,
    revokeEffect: 'The link stops working at once. No one is notified.',
    revoked: (email: string) => `Invitation of ${email} revoked`,
  },
});

/** Short capability names, such as `read, write`; `nothing` for an empty list. */
export function shortCapabilities(capabilities: readonly string[]): string {
  const short: Readonly<Record<string, string>> = texts.keys.short;
  return capabilities.map((one) => short[one] ?? one).join(', ') || texts.keys.nothing;
}

/** Description of a capability. Unknown capabilities are shown as is. */
export function capabilityText(capability: string): string {
  const words: Readonly<Record<string, string>> = texts.capability;
  return words[capability] ?? capability;
}
