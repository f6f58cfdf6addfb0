/** Texts of the pages of destinations. */
import { localized } from '../../messages/localized.ts';

export const texts = localized({
  list: {
    label: 'Destinations',
    name: 'Destination',
    kind: 'Kind',
    to: 'Sends to',
    state: 'State',
    why: 'Note',
    last: 'Last delivery',
    noDelivery: 'none yet',
    quota: (used: string, limit: string) => `${used} of ${limit} destinations`,
    full: (limit: string) =>
      `The project has its ${limit} destinations: delete one, or ask the operator for more.`,
    none: 'There is no destination yet.',
    noneHelp:
      'Incidents are shown here and need none. A destination also notifies people elsewhere, by mail, by a webhook or in a chat: create one, send a test, then name it in a rule.',
    new: 'New destination',
  },
  sendsTo: (host: string, lastFour: string) => `${host}\u00a0…${lastFour}`,
  recipientsReached: (reached: number, all: number) =>
    `${reached} of ${all} ${all === 1 ? 'recipient' : 'recipients'} verified`,
  since: 'since',
  create: {
    title: (kind: string) => `New destination: ${kind}`,
    choose: 'Where are notifications to go?',
    otherKind: 'Another kind',
    noMail: 'This service sends no mail: its operator sets SVC_SMTP_URL first.',
    name: 'Name',
    nameHelp: 'What rules and lists call it, such as "On call".',
    nameMissing: 'Give it a name.',
    urlMissing: 'Give its URL.',
    noRecipient: 'Choose at least one recipient.',
    url: 'URL',
    action: 'Create',
    refused: 'It was not created',
    created: (name: string) => `${name} is created`,
    secretHelp:
      'The receiver verifies with it that a message comes from this service. Give it to the receiver now.',
    open: 'Open the destination',
  },
  groupWait: {
    label: 'Waits',
    help: 'Further incidents of the same rule meanwhile are in the same message.',
    none: 'No: one message for each incident',
    some: (duration: string) => `${duration} for further incidents of the rule`,
    usualWebhook: 'As usual: not at all',
    usual: 'As usual: as long as this service is configured to',
  },
  recipients: {
    legend: 'Recipients',
    help: 'Members of the project with a proven address. Each is mailed a link, and gets notifications only after pressing the button behind it.',
    none: 'No member has a proven address.',
    noneHelp:
      'An address is proven when its member signs in by a link that was mailed to it, or by the provider.',
    without: (count: number) =>
      count === 1
        ? '1 member has no proven address: it is proven when they sign in by a link mailed to it, or by the provider.'
        : `${count} members have no proven address: it is proven when they sign in by a link mailed to it, or by the provider.`,
    gone: (address: string) => `${address} (no member)`,
    address: 'Address',
    state: 'State',
    label: 'Recipients',
    meaning: 'What follows',
    since: 'Verified',
    notYet: 'not yet',
    noMember: 'No member any more: nothing is sent.',
    again: 'Send verification mails again',
    againEffect: 'A new link to everybody who has not confirmed; the old link ends.',
    nobodyWaits: 'Nobody has to confirm.',
    mailed: (mails: number) =>
      mails === 1 ? '1 mail is being sent.' : `${mails} mails are being sent.`,
    notMailed: (count: number) =>
      `${count} ${count === 1 ? 'was' : 'were'} mailed a moment ago, and ${count === 1 ? 'keeps' : 'keep'} the link; try again in some minutes.`,
  },
  one: {
    kind: 'Kind',
    to: 'Sends to',
    created: 'Created',
    updated: 'Changed',
    overlap: 'Previous secret signs until',
    resourceName: 'Resource name',
    acts: 'What can be done',
    test: 'Send test',
    testEffect: 'Marked as a test.',
    testPaused: 'It is paused: resume it first.',
    testNobody: 'No recipient has confirmed the address.',
    edit: 'Edit',
    pause: 'Pause',
    resume: 'Resume',
    resumeEffect: 'Notifications go out again from now on. What was held back is not sent later.',
    rotate: 'Rotate the secret',
    delete: 'Delete',
    refused: 'It was not done',
    saved: 'Saved',
    paused: 'Paused',
    resumed: 'Resumed',
    deleted: (name: string) => `${name} is deleted`,
    rules: 'Rules that notify it',
    noRules: 'No rule names it: nothing is sent to it but tests.',
    noRulesHelp: 'Choose it among the destinations of a rule.',
    deliveries: 'Recent deliveries',
    allDeliveries: 'All deliveries to it',
    noDeliveries: 'Nothing was sent to it yet. A test shows whether it works.',
  },
  edit: {
    title: (name: string) => `Edit ${name}`,
    action: 'Save',
    urlHelp: (now: string) =>
      `Now ${now}, which cannot be shown again. Empty: it stays. Another URL keeps the secret.`,
    chatUrlHelp: (now: string) => `Now ${now}, which cannot be shown again. Empty: it stays.`,
    recipientsHelp:
      'Who is added is mailed a link and has to confirm. Who stays keeps the state. Who is removed gets nothing more.',
    unchanged: 'Nothing is changed.',
  },
  pause: {
    title: (name: string) => `Pause ${name}?`,
    effect:
      'Nothing is sent to it until somebody resumes it. What becomes due meanwhile is suppressed, and not sent later. Rules and incidents go on.',
    reason: 'Reason',
    reasonHelp: 'Everybody who looks at it sees it.',
  },
  delete: {
    title: (name: string) => `Delete ${name}?`,
    effect:
      'What waits to be sent to it is not sent. Its URL, secrets and recipients are deleted. Its deliveries stay in the history.',
    rules: 'These rules name it. They go on, and notify the other destinations that they name:',
    rulesLater: 'When such a rule is edited, it has to name another destination, or none.',
    noRules: 'No rule names it.',
  },
  rotate: {
    title: (name: string) => `Rotate the secret of ${name}?`,
    overlap: 'Previous secret',
    day: 'Signs for another 24 hours',
    hours: 'Signs for another 4 hours',
    hour: 'Signs for another hour',
    now: 'Discard at once',
    overlapEffect:
      'Until then V2 signatures are made with both secrets, and one match is enough. The legacy signature is made with the previous secret until then, and with the new one after it.',
    nowEffect:
      'Older secrets are discarded at once, and every signature is made with the new one. A receiver that does not have it yet refuses all messages.',
    running: 'An overlap is under way: the oldest secret is discarded at once.',
    action: 'Rotate',
    secret: (name: string) => `Signing secret of ${name}`,
    stored: 'Somebody has stored it',
    lostHelp: 'If nobody has it, rotate the secret: the new one is shown.',
  },
  failure: {
    title: 'The last attempt failed',
    unknownTitle: 'Of the last attempt no answer came',
    noAnswer: 'The endpoint gave no reason.',
    status: (status: number) => `HTTP status ${status}`,
    open: 'The delivery, with each attempt',
    mayHave:
      'It may have been accepted. It is sent again under the same delivery id, by which the receiver knows it.',
    url: 'Edit it, and give the URL that answers itself: redirects are not followed.',
    gone: 'Edit it, and give a URL that is in force. A test shows whether it works.',
    later:
      'The endpoint is overloaded or out of order. Sending is repeated for up to 24 hours; look at the receiver.',
    refusedMessage: 'The endpoint refuses this message: its answer is with the delivery.',
    unreachable:
      'Check that the endpoint runs and can be reached by the service. Sending is repeated for up to 24 hours.',
    refusedMail: 'It is not sent again: see the recipients, and correct the address.',
    mail: 'The mail server did not take it. Sending is repeated where that can help; the operator of the service sees more in its log.',
  },
});

/** Kinds of destination. */
export const kindNames: Readonly<Record<string, string>> = localized({
  webhook: 'Webhook',
  email: 'Mail',
  slack: 'Slack',
  teams: 'Microsoft Teams',
  discord: 'Discord',
});

/** What a kind is, for who chooses one. */
export const kindHelp: Readonly<Record<string, string>> = localized({
  webhook: 'Signed JSON to an https endpoint of yours',
  email: 'Members of the project, one mail each, after they have confirmed',
  slack: 'A channel, by the incoming webhook of an app',
  teams: 'A channel or chat, by a workflow',
  discord: 'A channel, by its webhook',
});

/** What belongs into the field of the URL. */
export const urlHelp: Readonly<Record<string, string>> = localized({
  webhook:
    'An https address that answers itself, without redirects, and can be reached from the internet. It is stored sealed; only its host and last four characters are shown.',
  slack:
    'Of an app’s incoming webhook: https://hooks.slack.com/services/… Whoever has it can write to the channel: it is stored sealed and never shown again.',
  teams:
    'Of a workflow: https://….logic.azure.com/… or https://….api.powerplatform.com/… Whoever has it can write to the channel: it is stored sealed and never shown again.',
  discord:
    'Of a channel: https://discord.com/api/webhooks/… Whoever has it can write to the channel: it is stored sealed and never shown again.',
});

/** How a destination stands. */
export const statusNames: Readonly<Record<string, string>> = localized({
  ACTIVE: 'Active',
  VERIFIED: 'Verified',
  AWAITING_VERIFICATION: 'Awaiting verification',
  REACHES_NOBODY: 'Reaches nobody',
  FAILING: 'Failing',
  PAUSED: 'Paused',
});

/** State of a mail recipient, and what follows from it. */
export const recipientStates: Readonly<
  Record<string, { readonly [key: string]: string; readonly name: string; readonly help: string }>
> = localized({
  INVITED: {
    name: 'Awaiting verification',
    help: 'Has to open the link in the mail, within 24 hours, and press the button.',
  },
  VERIFIED: { name: 'Verified', help: '' },
  UNSUBSCRIBED: {
    name: 'Unsubscribed',
    help: 'Gets no mail. To ask again, remove the address and add it again.',
  },
  BOUNCED: {
    name: 'Bounced',
    help: 'The mail server refused the address: it gets no mail. Verify it again, or remove it.',
  },
});
