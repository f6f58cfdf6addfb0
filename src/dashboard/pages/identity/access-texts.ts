/** Texts of the pages of members, service accounts, keys and sessions. */
import { localized } from '../../messages/localized.ts';

export const texts = localized({
  acts: 'Actions',
  actionsFor: (who: string) => `Actions for ${who}`,
  role: 'Role',
  roles: {
    VIEWER: 'Reads everything in the project.',
    EDITOR: 'Reads, saves rules and destinations, acts on incidents, enrols VMs.',
    OWNER: 'Does all that, and manages members, service accounts, keys and CI connections.',
  },
  capabilities: 'May',
  capability: {
    'monitoring.read': 'read metrics, alert rules and incidents',
    'monitoring.write': 'save and delete alert rules, create destinations',
  },
  nothing: 'nothing',
  members: {
    label: 'Members',
    member: 'Member',
    email: 'Email address',
    unproven: 'not proven',
    unprovenHelp: 'The invitation named this address. Its owner has not proven it by signing in.',
    noEmail: 'no address',
    since: 'Joined',
    you: 'you',
    keys: 'Keys',
    myKeys: 'My keys',
    keysOf: (who: string | undefined) =>
      who === undefined ? 'Keys of a member' : `Keys of ${who}`,
    ownKeysHelp:
      'A personal key acts for you, in this project alone. It ends with your membership. For unattended programs, an OWNER creates a service account.',
    foreignKeysHelp:
      'An OWNER sees and revokes them, without their secrets. Only the member creates and rotates them.',
    showKeys: 'Show keys',
    none: 'Nobody is a member',
    change: 'Change role',
    remove: 'Remove from the project',
    leave: 'Leave the project',
  },
  changeRole: {
    title: (who: string) => `Change the role of ${who}`,
    action: 'Change role',
    effect:
      'It counts from the next request on, on open pages too. Personal keys never do more than the role allows: with VIEWER they only read.',
    changed: (who: string, role: string) => `${who} is ${role} now`,
  },
  removal: {
    title: (who: string) => `Remove ${who} from the project?`,
    titleOwn: 'Leave the project?',
    action: 'Remove',
    leave: 'Leave',
    keys: 'Personal keys of this project are revoked for good. Programs that use them are refused from the next request on.',
    sessions:
      'Sessions go on, for other projects. In this one every request is refused from now on, and open pages of it show nothing new.',
    mail: 'Mail destinations send nothing to this person any more.',
    stays:
      'Rules, destinations, service accounts and their keys stay. An OWNER can invite the person again.',
    removed: (who: string) => `${who} is not a member any more`,
  },
  keys: {
    label: 'Keys',
    key: 'Key',
    owner: 'Service account',
    state: 'State',
    may: 'Allowed now',
    ownerDisabled: 'Account disabled',
    end: 'End',
    revoked: 'revoked',
    lastUsed: 'Last used',
    usedMeaning: 'The time of the last use is up to 15 minutes late.',
    short: { 'monitoring.read': 'read', 'monitoring.write': 'write' },
    nothing: 'nothing',
    lost: (what: string) => `${what}: not now`,
    lostHelp: 'The key was made for it. Its owner is disabled, or is not granted it any more.',
    shown: 'Show',
    working: 'Keys that work',
    withEnded: 'Ended keys too',
    partOrder: 'More keys exist than are loaded: the order is that of the loaded ones.',
    within14: 'within 14 days',
    within7: 'within 7 days',
    within1: 'within a day',
    noEnd: 'not known',
    none: 'There are no keys here. Create one for each program, so that each can be revoked alone.',
    noneForeign: 'This member has no keys that work.',
    limitOfMember: 'It never does more than your role allows.',
    create: 'Create key',
    name: 'Name',
    nameHelp: 'Where it will be used, such as grafana or backup-host.',
    nameMissing: 'Name it first',
    capabilityMissing: 'Choose what it may do',
    days: 'Lifetime in days',
    daysHelp: 'It ends',
    daysProblem: (max: number) => `Whole days, 1 to ${max}`,
    secretOf: (name: string) => `Secret of ${name}`,
    secretHelp:
      'Store it where its program reads it. Send it in the header Authorization, never in a URL.',
    replaceLost: 'Revoke it, and create another',
    rotate: {
      action: 'Rotate',
      title: (name: string) => `Rotate ${name}`,
      foreign: 'Only the member rotates it',
      help: 'A successor with the same name and capabilities is created. Its secret is shown once.',
      overlap: 'The old key works for',
      none: 'no longer',
      hours: (hours: number) => (hours === 1 ? '1 hour more' : `${hours} hours more`),
      atOnce: 'Programs that use the old key are refused from the next request on.',
      overlapHelp: 'Until then both keys work.',
      done: 'The key is rotated',
    },
    revoke: {
      action: 'Revoke',
      title: (name: string) => `Revoke ${name}?`,
      effect: 'It is refused from the next request on, for good. Open streams end within a second.',
      foreign: 'The member is notified.',
      reason: 'Reason',
      reasonHelp: 'Optional; it stands beside the key and in the audit.',
      done: (name: string) => `${name} is revoked`,
    },
  },
  accounts: {
    about:
      'For programs that run unattended. A service account belongs to the project, and stays when the people who made it leave.',
    account: 'Service account',
    grants: 'Granted',
    state: 'State',
    keys: 'Keys',
    firstEnd: 'First key ends',
    endUnknown: 'not known',
    none: 'There are no service accounts',
    noneHelp:
      'Create one for each program: a metrics scraper first, for Grafana or your Prometheus.',
    allKeys: 'Keys of all service accounts',
    noKeys: 'No service account has a key that works. Open one to create a key.',
    noKeysAtAll: 'No service account has ever had a key.',
    create: 'Create service account',
    created: (name: string) => `${name} is created`,
    name: 'Display name',
    nameHelp: 'What will act for it, such as Prometheus or Deployment.',
    nameMissing: 'Name it first',
    template: 'Permissions',
    ownChoice: 'Own choice',
    from: (template: string) => `from the template ${template}`,
    never:
      'Whatever it is granted, it never opens a console in a VM or changes one, manages no members, accounts or keys, and acknowledges or snoozes nothing.',
    createdAt: 'Created',
    connections: 'CI connections enabled',
    edit: 'Edit',
    editTitle: 'Edit the service account',
    save: 'Save',
    saved: 'Saved',
    limit:
      'Keys cannot exceed this. What is taken away is refused from the next request on; what is added counts for keys that were made for it. Owners are notified when it can do more.',
    limitNothing: 'With nothing granted, every request of its keys is refused.',
    keyLimit: 'It never does more than the account is granted.',
    grantFirst: 'Nothing is granted to the account: edit it first',
    isDisabled: 'This service account is disabled',
    isDisabledHelp: 'Every request of its keys and CI connections is refused.',
    enableFirst: 'The account is disabled: enable it first',
    disable: 'Disable',
    disableTitle: (name: string) => `Disable ${name}?`,
    disableEffect:
      'Its keys are refused from the next request on, open streams end within a second, and tokens of CI jobs end for good. Its keys work again when it is enabled.',
    reasonHelp: 'Optional; it is shown on this page and in the audit.',
    disabled: (name: string) => `${name} is disabled`,
    enable: 'Enable',
    enableTitle: (name: string) => `Enable ${name}?`,
    enableEffect:
      'Keys that have not ended work again. Tokens of CI jobs from before stay invalid: the next job gets a new one. Owners are notified.',
    enabled: (name: string) => `${name} is enabled`,
    delete: 'Delete',
    deleteTitle: (name: string) => `Delete ${name}?`,
    deleteEffect: (keys: number, connections: number) =>
      `It ends for good, with its keys that work (${keys}) and its CI connections (${connections}). Its past stays in the audit.`,
    deleted: (name: string) => `${name} is deleted`,
    usage: {
      title: 'Where to use a key',
      secret:
        'The key goes into a header that a server sends, Authorization: Bearer, or into a file that only its reader may read. Never into a URL, a browser or a dashboard.',
      promql: 'Grafana, and other tools that query',
      promqlHelp:
        'As a data source of the type Prometheus, with this URL, and 30 s as scrape interval.',
      scrape: 'Your own Prometheus',
      scrapeHelp:
        'The list of targets has every shard of the project. Put the key into the file that is named.',
    },
  },
  lookBack: {
    title: 'Queries in PromQL',
    seconds: 'Look-back in seconds',
    help: 'How long the newest observation counts as the present in a query without a lookback_delta. Prometheus has 300.',
    problem: 'Whole seconds, 60 to 3600',
  },
  invitations: {
    title: 'Pending invitations',
    label: 'Pending invitations',
    invite: 'Invite a member',
    email: 'Email address',
    emailHelp: 'An earlier invitation to the same address ends.',
    emailMissing: 'Name the address first',
    sends: 'The invitation is sent to the address. The link is also shown once.',
    sendsNot: 'This service sends no mail: the link is shown once, for you to pass on.',
    link: (email: string) => `Invitation link for ${email}`,
    linkHelp:
      'Whoever opens the link becomes a member with this role. Give it to that person alone.',
    emailed: 'It is on its way by mail, too.',
    again: 'Invite again, with a new link',
    none: 'Nobody is invited at the moment',
    expires: 'Works until',
    revoke: 'Revoke',
    revokeTitle: (email: string) => `Revoke the invitation of ${email}?`,
    revokeEffect: 'The link stops working at once. Nobody is notified.',
    revoked: (email: string) => `The invitation of ${email} is revoked`,
  },
});

/** `read, write` of capabilities; `nothing` of none. */
export function shortCapabilities(capabilities: readonly string[]): string {
  const short: Readonly<Record<string, string>> = texts.keys.short;
  return capabilities.map((one) => short[one] ?? one).join(', ') || texts.keys.nothing;
}

/** The words of a capability; a capability that is not known here is shown as it is. */
export function capabilityText(capability: string): string {
  const words: Readonly<Record<string, string>> = texts.capability;
  return words[capability] ?? capability;
}
