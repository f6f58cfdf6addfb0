/** Texts of the destination pages. */
import { kindWords } from '../../../delivery/notify/kind-words.ts';
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
      `The project has reached its limit of ${limit} destinations. Delete one, or ask the operator for more.`,
    none: 'No destinations yet.',
    noneHelp:
      'Incidents always appear in the dashboard. A destination also notifies people by mail, webhook or chat. Create one, send a test, then choose it in a rule.',
    new: 'New destination',
  },
  sendsTo: (host: string, lastFour: string) => `${host}\u00a0…${lastFour}`,
  recipientsReached: (reached: number, all: number) =>
    `${reached} of ${all} ${all === 1 ? 'recipient' : 'recipients'} verified`,
  since: 'since',
  create: {
    title: (kind: string) => `New destination: ${kind}`,
    choose: 'Where should notifications go?',
    otherKind: 'Another kind',
    noMail: 'This service cannot send mail. The operator must set SVC_SMTP_URL first.',
    name: 'Name',
    nameHelp: 'Name in rules and lists, such as "On call".',
    nameMissing: 'Enter a name.',
    urlMissing: 'Enter a URL.',
    noRecipient: 'Choose at least one recipient.',
    url: 'URL',
    action: 'Create',
    refused: 'The destination was not created',
    created: (name: string) => `${name} created`,
    secretHelp:
      'The receiver uses it to verify that messages come from this service. Store it at the receiver now.',
    open: 'Open the destination',
  },
  groupWait: {
    label: 'Group wait',
    help: 'Further incidents of the same rule in this time join the same message.',
    none: 'None: one message per incident',
    some: (duration: string) => `${duration} for further incidents of the rule`,
    usualWebhook: 'Default: none',
    usual: 'Default: as configured for this service',
  },
  recipients: {
    legend: 'Recipients',
    help: 'Project members with a verified address. Each receives a link by mail, and gets notifications after confirming.',
    none: 'No member has a verified address.',
    noneHelp:
      'An address is verified when its member signs in with a mailed link, or when the identity provider verifies it.',
    without: (count: number) =>
      count === 1
        ? '1 member has no verified address. It is verified when they sign in with a mailed link, or by the identity provider.'
        : `${count} members have no verified address. It is verified when they sign in with a mailed link, or by the identity provider.`,
    gone: (address: string) => `${address} (not a member)`,
    address: 'Address',
    state: 'State',
    label: 'Recipients',
    meaning: 'Consequence',
    since: 'Verified',
    notYet: 'not yet',
    noMember: 'No longer a member. No notifications are sent.',
    again: 'Resend verification mails',
    againEffect: 'Sends a new link to all unconfirmed recipients. Their old links stop working.',
    nobodyWaits: 'All recipients have confirmed.',
    mailed: (mails: number) => (mails === 1 ? 'Sending 1 mail.' : `Sending ${mails} mails.`),
    notMailed: (count: number) =>
      `${count} ${count === 1 ? 'recipient was' : 'recipients were'} mailed a moment ago; the link stays valid. Try again in a few minutes.`,
  },
  one: {
    kind: 'Kind',
    to: 'Sends to',
    created: 'Created',
    updated: 'Changed',
    overlap: 'Previous secret valid until',
    resourceName: 'Resource name',
    actions: 'Actions',
    test: 'Send test',
    testEffect: 'The message is marked as a test.',
    testPaused: 'The destination is paused. Resume it first.',
    testNobody: 'No recipient has confirmed their address.',
    edit: 'Edit',
    pause: 'Pause',
    resume: 'Resume',
    resumeEffect: 'Notifications are sent again from now on. Suppressed ones are not sent later.',
    rotate: 'Rotate the secret',
    delete: 'Delete',
    refused: 'The change failed',
    saved: 'Saved',
    paused: 'Paused',
    resumed: 'Resumed',
    deleted: (name: string) => `${name} deleted`,
    rules: 'Rules that notify this destination',
    noRules: 'No rule notifies this destination. Only tests are sent to it.',
    noRulesHelp: 'Add it to the destinations of a rule.',
    deliveries: 'Recent deliveries',
    allDeliveries: 'All deliveries to this destination',
    noDeliveries: 'No deliveries yet. Send a test to check the destination.',
  },
  edit: {
    title: (name: string) => `Edit ${name}`,
    action: 'Save',
    urlHelp: (now: string) =>
      `Now ${now}, which cannot be shown again. Leave empty to keep it. A new URL keeps the secret.`,
    chatUrlHelp: (now: string) =>
      `Now ${now}, which cannot be shown again. Leave empty to keep it.`,
    recipientsHelp:
      'New recipients get a confirmation link. Existing ones keep their status. Removed ones get no more notifications.',
    unchanged: 'No changes.',
  },
  pause: {
    title: (name: string) => `Pause ${name}?`,
    effect:
      'Nothing is sent to this destination until a member resumes it. Notifications that become due in the meantime are suppressed and not sent later. Rules and incidents continue.',
    reason: 'Reason',
    reasonHelp: 'Visible to all members.',
  },
  delete: {
    title: (name: string) => `Delete ${name}?`,
    effect:
      'Queued notifications are cancelled. The URL, secrets and recipients are deleted. Past deliveries stay in the history.',
    rules: 'These rules notify it. They continue and notify their other destinations:',
    rulesLater: 'When you next edit such a rule, remove this destination or replace it.',
    noRules: 'No rule notifies it.',
  },
  rotate: {
    title: (name: string) => `Rotate the secret of ${name}?`,
    overlap: 'Previous secret',
    day: 'Valid for another 24 hours',
    hours: 'Valid for another 4 hours',
    hour: 'Valid for another hour',
    now: 'Discard at once',
    overlapEffect:
      'Until then, V2 signatures are made with both secrets, and a receiver needs to match only one. The legacy signature uses the previous secret until then and the new one afterwards.',
    nowEffect:
      'Older secrets are discarded at once, and all signatures use the new one. A receiver that does not have it yet rejects all messages.',
    running: 'An overlap is in progress. The oldest secret is discarded at once.',
    action: 'Rotate',
    secret: (name: string) => `Signing secret of ${name}`,
    stored: 'The secret has been stored',
    lostHelp: 'If the secret is lost, rotate it to get a new one.',
  },
  failure: {
    title: 'The last attempt failed',
    unknownTitle: 'The last attempt got no response',
    noAnswer: 'The endpoint gave no reason.',
    status: (status: number) => `HTTP status ${status}`,
    open: 'View the delivery and its attempts',
    mayHave:
      'The message may have been accepted. It is sent again with the same delivery id, so the receiver can recognize it.',
    url: 'Redirects are not followed. Edit the destination and enter the final URL.',
    gone: 'Edit the destination and enter a valid URL. A test shows whether it works.',
    later:
      'The endpoint is overloaded or failing. Sending is retried for up to 24 hours. Check the receiver.',
    refusedMessage: 'The endpoint rejects this message. Its response is shown with the delivery.',
    unreachable:
      'Check that the endpoint is running and reachable from the service. Sending is retried for up to 24 hours.',
    refusedMail: 'The mail is not retried. Check the recipients and correct the address.',
    mail: 'The mail server did not accept it. Sending is retried where that can help. The service log has more for the operator.',
  },
});

/** Kinds of destinations. */
export const kinds = localized(kindWords);

/** Display name of each status. */
export const statusNames: Readonly<Record<string, string>> = localized({
  ACTIVE: 'Active',
  VERIFIED: 'Verified',
  AWAITING_VERIFICATION: 'Awaiting verification',
  REACHES_NOBODY: 'No recipients reached',
  FAILING: 'Failing',
  PAUSED: 'Paused',
});

/** State of a mail recipient and its consequence. */
export const recipientStates: Readonly<
  Record<string, { readonly [key: string]: string; readonly name: string; readonly help: string }>
> = localized({
  INVITED: {
    name: 'Awaiting verification',
    help: 'Must open the link in the mail within 24 hours and press the button.',
  },
  VERIFIED: { name: 'Verified', help: '' },
  UNSUBSCRIBED: {
    name: 'Unsubscribed',
    help: 'Gets no mail. To ask again, remove the address and add it again.',
  },
  BOUNCED: {
    name: 'Bounced',
    help: 'The mail server rejected the address, so it gets no mail. Verify it again or remove it.',
  },
});
