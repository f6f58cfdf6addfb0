/** Each section of webhooks.md, and each point of its lists, with the tests that stand for it. */
import type { Covered } from './interface-identities.ts';

const signing = 'delivery/webhook.test.ts';
const guard = 'delivery/address-guard.test.ts';
const receivers = 'delivery/webhook-receivers.test.ts';
const receiver = 'sdk/webhook.test.ts';
const delivery = 'delivery/delivery.test.ts';
const recheck = 'delivery/recheck.test.ts';
const interleavings = 'delivery/interleavings.test.ts';
const lane = 'delivery/destination-queue.test.ts';
const sweep = 'delivery/sweep.test.ts';
const chats = 'delivery/chats.test.ts';
const email = 'delivery/email.test.ts';
const recipients = 'delivery/recipients.test.ts';

export const webhooks: readonly Covered[] = [
  {
    row: 'Webhook request',
    tests: [
      [receivers, 'every request is verified by the library, by hand and by the legacy signature'],
      [signing, 'a receiver that answers 2xx has accepted, and got the body and headers unchanged'],
    ],
  },
  {
    row: 'Webhook request - Secret:',
    tests: [
      [
        'delivery/destinations.test.ts',
        'a webhook: sealed before it is committed, shown once, in no commit',
      ],
    ],
  },
  {
    row: 'Webhook request - `webhook-*`',
    tests: [
      [receivers, 'every request is verified by the library, by hand and by the legacy signature'],
    ],
  },
  {
    row: 'Webhook request - V2 =',
    tests: [
      [receiver, 'every vector is verified, or refused for its reason'],
      [receiver, 'Webhook clock window: 5 minutes both ways, to the second'],
    ],
  },
  {
    row: 'Webhook request - Legacy =',
    tests: [[signing, 'the three signatures agree with the published vector']],
  },
  {
    row: 'Webhook request - Render the body once',
    tests: [
      ['delivery/notifiers.test.ts', 'a body is rendered once, whatever changes after it'],
      [
        'delivery/notifiers.test.ts',
        'whatever names and labels hold, a webhook has at most 16 KiB and says what was cut',
      ],
      [receivers, 'Webhook body bound: 1 MiB, more is a fault of ours and is not sent'],
    ],
  },
  {
    row: 'Webhook request - Keys are chosen when the attempt opens',
    tests: [
      [
        'delivery/notifiers.test.ts',
        'secrets are those of the moment: two in an overlap, then the new one alone',
      ],
      [
        'delivery/destinations.test.ts',
        'a rotation: at most two secrets live, each told once, old ones forgotten',
      ],
    ],
  },
  {
    row: 'Webhook request - Vector:',
    tests: [
      [signing, 'the three signatures agree with the published vector'],
      ['sdk/go.test.ts', 'the module is well-formed, and passes its tests and vectors'],
    ],
  },
  {
    row: 'Webhook request - Receivers are told:',
    tests: [
      [signing, 'what docs/webhooks.md tells receivers to run verifies the published vector'],
      [receiver, 'a delivery id is claimed once, for at least 24 h 10 min, also after a restart'],
    ],
  },
  {
    row: 'Attempts',
    tests: [
      [delivery, 'a failed attempt is tried again on schedule, with one body and new attempt ids'],
    ],
  },
  {
    row: 'Attempts - An attempt is opened by a commit',
    tests: [
      [interleavings, 'case 22: no attempt is opened after what ends its reason was acknowledged'],
      [sweep, 'an attempt whose process died is unknown, and tried again as the same delivery'],
    ],
  },
  {
    row: 'Attempts - Long waits are timer rows',
    tests: [
      [delivery, 'wake-ups told twice, late or of nothing come to one attempt'],
      [sweep, 'wake-ups that were lost are made up for by the sweep'],
    ],
  },
  {
    row: 'Attempts - Waits:',
    tests: [
      [delivery, 'Retry-After stretches the wait, never shortens it'],
      [delivery, 'Retry-After beyond the 24 hours leaves one last attempt before them'],
      [delivery, 'nothing is sent after 24 hours, though no timer ended the delivery'],
    ],
  },
  {
    row: 'Attempts - One attempt:',
    tests: [
      [signing, 'a receiver that hangs, or drips, ends with the deadline as an unknown outcome'],
      [signing, 'of an endless answer 16 KiB are read, and 4 KiB kept'],
    ],
  },
  {
    row: 'Attempts - In flight:',
    tests: [
      [lane, 'a lane grows from one to eight with each success, and begins anew on failure'],
      [lane, 'the breaker opens after five failures and lets one probe through, later and later'],
      [lane, '10,000 that wait for a slow endpoint keep no other project waiting'],
      [recheck, '410 ends the delivery and pauses the destination'],
      [recheck, 'an endpoint that fails for three days is paused, a success between starts anew'],
      ['delivery/owner-news.test.ts', 'owners who can be written to are told of a pause, once'],
    ],
  },
  {
    row: 'Attempts - Answers:',
    tests: [
      [receivers, 'each answer, and each silence, is told as what it is'],
      [signing, 'an answer decides what happens next'],
      [delivery, 'an endpoint that asks for less has one attempt at a time, after its rest'],
    ],
  },
  {
    row: 'Address guard',
    tests: [
      [
        guard,
        'only addresses of the public internet are public, in whatever form they are written',
      ],
      [guard, 'a URL is refused for what it says, with a sentence'],
      [signing, 'a name that resolves to one private address among public ones is not called'],
      [signing, 'a name looked up as public whose socket lands elsewhere gets no request byte'],
      [guard, 'no address of a special block is public, nor any IPv6 form that carries one'],
      [guard, 'a port of another protocol is refused, and with a list every port beside it'],
      [guard, 'what the operator allows is exempt, and nothing beside it'],
      [receivers, 'a name whose address changes is judged by the address that is dialled'],
    ],
  },
  {
    row: 'Chats',
    tests: [
      [chats, 'a chat destination has a URL of its own service, and of no other'],
      [chats, 'each answer of each service leads where its service means it to'],
    ],
  },
  {
    row: 'Chats - **Slack**',
    tests: [
      [chats, 'Slack: whatever names hold, its limits hold and nothing of a name is markup'],
      [lane, 'attempts keep their distance, what was not sent needs none'],
    ],
  },
  {
    row: 'Chats - **Teams**',
    tests: [
      [chats, 'Teams: whatever names hold, its limits hold and nothing of a name is markup'],
      [chats, 'a URL is sent as it was pasted, byte for byte'],
    ],
  },
  {
    row: 'Chats - **Discord**',
    tests: [
      [chats, 'Discord: whatever names hold, its limits hold and nothing of a name is markup'],
    ],
  },
  {
    row: 'Chats - Truncate on code points',
    tests: [
      [chats, 'a long name is cut between code points, and it is told how much was left out'],
      [chats, 'a message refused for its size is shorter in the next attempt, and then given up'],
    ],
  },
  {
    row: 'Email',
    tests: [[email, 'a mail has all its parts, which say the same as was rendered']],
  },
  {
    row: 'Email - Verification:',
    tests: [
      [recipients, 'a mail asks, its page shows a button, and only the press verifies'],
      [recipients, 'a link is of one address in one destination of one project'],
      [recipients, 'a link ends after 24 hours, with a newer mail, and with the recipient'],
      [
        recipients,
        'one click unsubscribes, from mail programs and from the page; nobody is asked again after it',
      ],
    ],
  },
  {
    row: 'Email - One message per recipient.',
    tests: [
      [
        'delivery/recipient-acts.test.ts',
        'each recipient gets a mail; who may not gets none, with the reason',
      ],
      [email, 'attempts of a delivery are one message, deliveries of an incident one thread'],
    ],
  },
  {
    row: 'Email - SMTP 4xx',
    tests: [
      [email, 'what a server answers decides whose fault it is'],
      [email, 'a server that is silent, is not there or refuses the login costs no recipient'],
      [
        'delivery/recipient-acts.test.ts',
        'an address that takes no mail ends its recipient, and nobody else',
      ],
    ],
  },
];
