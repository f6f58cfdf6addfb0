/**
 * `svc destinations`: destinations of notifications. A signing secret is printed once, alone on
 * standard output; the URL of a chat is a secret too and is read from standard input.
 */

import type { MessageInitShape } from '@bufbuild/protobuf';
import { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import { Delivery_State } from '../../gen/svc/monitoring/v1/delivery_pb.ts';
import {
  CreateDestinationResponseSchema,
  type Destination,
  Destination_State,
  DestinationSchema,
  EmailRecipient_State,
  RotateWebhookSecretResponseSchema,
  SendTestNotificationResponseSchema,
  VerifyDestinationResponseSchema,
} from '../../gen/svc/monitoring/v1/destination_pb.ts';
import { type Action, type ActionContext, family, projectOption } from '../client/action.ts';
import type { Api } from '../client/api.ts';
import type { Option } from '../client/arguments.ts';
import { EXIT_DENIED, printable, refusalOf, UsageError } from '../client/faults.ts';
import {
  change,
  changeOptions,
  ofProject,
  type ResourceKind,
  reads,
  reasonOf,
  showing,
} from '../client/frames.ts';
import { listing, long, minor, moment, stateCell } from '../client/listing.ts';
import { firstNamed, projectName, requestId } from '../client/names.ts';
import { printSecret, reportRequest } from '../client/once.ts';
import { facts, json, messageDocument, printMessage, table } from '../client/output.ts';
import { everyItem } from '../client/paging.ts';
import { displayedName, enumText, localTime, shortName } from '../client/texts.ts';
import { EXIT_OK } from '../command.ts';
import { nameOption } from '../identity/options.ts';

const { method } = AlertService;
const OVERLAP_SECONDS_DEFAULT = 3_600;

export type Kind = NonNullable<Destination['target']['case']>;

/** The kinds in the API, in the order of its messages. */
const KINDS = (DestinationSchema.oneofs.find(({ name }) => name === 'target')?.fields ?? [])
  // The fields of the oneof are its cases.
  .map((field) => field.localName as Kind);

const urlOption: Option = {
  name: 'url',
  takes: 'URL',
  help: 'URL of a webhook or chat; "-" reads it from standard input',
};

const recipientOption: Option = {
  name: 'recipient',
  takes: 'ADDRESS',
  multiple: true,
  help: 'Verified address of a member, for mail',
};

const groupWaitOption: Option = {
  name: 'group-wait',
  takes: 'DURATION',
  help: 'How long a message waits for further incidents of its rule, 0 to 5m',
};

/** Target in the format of the API. */
type Target = NonNullable<MessageInitShape<typeof DestinationSchema>['target']>;

const destinationName = firstNamed('destinations');

const destinationKind: ResourceKind<Destination> = {
  positionals: [{ name: 'DESTINATION' }],
  nameOf: destinationName,
  show: printDestination,
};
const { positionals } = destinationKind;

function printDestination(context: ActionContext, destination: Destination): number {
  return printMessage(context, DestinationSchema, destination, () => destinationFacts(destination));
}

const listAction: Action = {
  name: 'list',
  summary: 'List destinations and whether they are paused',
  options: [projectOption],
  run: reads({
    caller: 'any',
    method: method.listDestinations,
    every: 'destinations',
    request: ofProject,
    text: ({ destinations }, context) => destinationTable(destinations, context),
  }),
};

const showAction = showing(
  destinationKind,
  method.getDestination,
  'Show one destination and its recipients',
  'any',
);

const createAction: Action = {
  name: 'create',
  summary: 'Create a destination; the secret of a webhook is printed once',
  ...changeOptions(
    { name: 'kind', takes: 'KIND', choices: KINDS, help: 'Kind of endpoint' },
    nameOption,
    urlOption,
    recipientOption,
    groupWaitOption,
  ),
  notes: `
The URL of a chat is a secret: pass "--url -" and write it to standard input. Recipients of mail
are verified addresses of members. Each gets a mail with a button, and gets notifications only
after pressing it. By default webhooks do not wait for further incidents, and mails and chats wait
as long as the service is configured to.
`,
  async run(context) {
    const api = context.api('any');
    const kind = kindOf(context.input.required('kind'));
    const displayName = context.input.required('name');
    const target = await newTarget(context, kind);
    const request = {
      projectName: await projectName(context, api),
      requestId: requestId(context),
      destination: { displayName, target, ...groupWait(context) },
    };
    reportRequest(context, 'Creating the destination', request.requestId);
    const answer = await api.call(method.createDestination, request);
    const { destination } = answer;
    const document = () => messageDocument(CreateDestinationResponseSchema, answer);
    if (kind !== 'webhook') {
      context.print(context.json || !destination ? document() : destinationFacts(destination));
      return EXIT_OK;
    }
    return printSigningSecret(context, answer, document);
  },
};

const updateAction: Action = {
  name: 'update',
  summary: 'Change the name, URL, recipients or group wait of a destination',
  positionals,
  ...changeOptions(nameOption, urlOption, recipientOption, groupWaitOption),
  notes:
    '--recipient takes the complete list: missing recipients are removed, existing ones stay verified.',
  async run(context) {
    const api = context.api('any');
    const { input } = context;
    const name = await destinationName(context, api);
    const hasTarget = input.isOn('url') || input.isOn('recipient');
    const kind = hasTarget
      ? kindOf((await api.call(method.getDestination, { name })).target.case ?? '')
      : undefined;
    const request = {
      name,
      requestId: requestId(context),
      displayName: input.text('name') ?? '',
      ...(kind && { target: await newTarget(context, kind) }),
      ...groupWait(context),
    };
    return printDestination(context, await api.call(method.updateDestination, request));
  },
};

function groupWait({ input }: ActionContext): { groupWaitSeconds?: number } {
  const groupWaitSeconds = input.seconds('group-wait');
  return groupWaitSeconds === undefined ? {} : { groupWaitSeconds };
}

const verifyAction = change({
  ...destinationKind,
  name: 'verify',
  summary: 'Resend the verification mail to unconfirmed recipients',
  method: method.verifyDestination,
  show(context, answer) {
    const { destination, mails, notMailed } = answer;
    context.report(mails === 1 ? 'Sending 1 mail' : `Sending ${mails} mails`);
    if (notMailed > 0) context.report(`${notMailed} more cannot be sent now. Try again later`);
    if (!context.json && destination) return printDestination(context, destination);
    context.print(messageDocument(VerifyDestinationResponseSchema, answer));
    return EXIT_OK;
  },
});

const testAction = change({
  ...destinationKind,
  name: 'test',
  summary: 'Send a test message',
  method: method.sendTestNotification,
  show(context, answer) {
    const { deliveryNames } = answer;
    if (context.json) {
      context.print(messageDocument(SendTestNotificationResponseSchema, answer));
      return EXIT_OK;
    }
    for (const name of deliveryNames) context.print(`${shortName(name)}\n`);
    const [only = '', ...others] = deliveryNames.map(shortName);
    const isOne = others.length === 0;
    const how = isOne ? `show ${only}` : 'list --notification TEST';
    context.report(`See the outcome${isOne ? '' : 's'}: svc deliveries ${how}`);
    return EXIT_OK;
  },
});

const pauseAction = change({
  ...destinationKind,
  name: 'pause',
  summary: 'Pause a destination: nothing is sent until it is resumed',
  options: [{ name: 'reason', takes: 'TEXT', help: 'Reason, for other members' }],
  method: method.pauseDestination,
  fields: reasonOf,
});

const resumeAction = change({
  ...destinationKind,
  name: 'resume',
  summary: 'Resume a paused destination',
  method: method.resumeDestination,
});

const rotateAction: Action = {
  name: 'rotate-secret',
  summary: 'Replace the signing secret of a webhook; the new one is printed once',
  positionals,
  ...changeOptions({
    name: 'overlap',
    takes: 'DURATION',
    help: 'How long the old secret stays valid, 0 (discarded at once) to 24h; default 1h',
  }),
  async run(context) {
    const api = context.api('person');
    const name = await destinationName(context, api);
    const request = {
      name,
      requestId: requestId(context),
      overlapSeconds: context.input.seconds('overlap') ?? OVERLAP_SECONDS_DEFAULT,
    };
    reportRequest(context, `Rotating the secret of ${name}`, request.requestId);
    const answer = await api.call(method.rotateWebhookSecret, request);
    const document = () => messageDocument(RotateWebhookSecretResponseSchema, answer);
    return printSigningSecret(context, answer, document);
  },
};

/** Prints only the secret to standard output; instructions go to standard error. */
function printSigningSecret(
  context: ActionContext,
  answer: {
    readonly destination?: Destination | undefined;
    readonly webhookSecret: string;
    readonly secretAvailable: boolean;
  },
  document: () => string,
): number {
  const { destination, webhookSecret: secret, secretAvailable } = answer;
  const about = destination ? destinationFacts(destination) : '';
  const name = shortName(destination?.name ?? '');
  const keep =
    'Store the secret at the receiver, which verifies signatures with it. It cannot be shown again';
  return printSecret(
    context,
    { secret, secretAvailable },
    {
      about: secretAvailable ? `${about}${keep}` : about,
      document,
      ifLost: `Create another one: svc destinations rotate-secret ${name} --overlap 0`,
    },
  );
}

const deleteAction: Action = {
  name: 'delete',
  summary: 'Delete a destination with its recipients and secrets',
  positionals,
  ...changeOptions(),
  async run(context) {
    const api = context.api('any');
    const name = await destinationName(context, api);
    const rules = await rulesNaming(api, name);
    await api.call(method.deleteDestination, { name, requestId: requestId(context) });
    context.print(context.json ? json({ name }) : `Deleted ${name}\n`);
    const [count, names] = [rules.length, rules.join(', ')];
    if (count === 1) context.report(`1 rule names it and no longer notifies it: ${names}`);
    if (count > 1) context.report(`${count} rules name it and no longer notify it: ${names}`);
    return EXIT_OK;
  },
};

/** Display names of the rules that name a destination; empty for callers who may not list rules. */
async function rulesNaming(api: Api, name: string): Promise<string[]> {
  const request = { projectName: name.replace(/\/destinations\/.*/, '') };
  try {
    const rules = await everyItem(api, method.listAlertRules, request, 'rules');
    return rules
      .filter(({ spec }) => spec?.destinationNames.includes(name))
      .map((rule) => printable(displayedName(rule.spec?.displayName ?? '', rule.name)));
  } catch (error) {
    if (refusalOf(error)?.exitCode === EXIT_DENIED) return [];
    throw error;
  }
}

export const destinationsCommand = family('destinations', 'Destinations of notifications', [
  listAction,
  showAction,
  createAction,
  updateAction,
  verifyAction,
  testAction,
  pauseAction,
  resumeAction,
  rotateAction,
  deleteAction,
]);

function destinationTable(destinations: readonly Destination[], { screen }: ActionContext): string {
  return listing(
    screen,
    [
      long('name'),
      'kind',
      minor('sends to'),
      'state',
      long('reason'),
      minor('last delivery'),
      minor('at'),
      'failed',
      long('last error'),
      minor('destination'),
    ],
    destinations.map((destination) => [
      destination.displayName,
      destination.target.case ?? '',
      sendsTo(destination),
      stateCell(enumText(Destination_State, destination.state)),
      destination.pausedReason,
      stateCell(enumText(Delivery_State, destination.lastDelivery?.state ?? 0)),
      moment(lastUnix(destination)),
      moment(destination.lastError?.atUnix),
      destination.lastError?.error ?? '',
      shortName(destination.name),
    ]),
    'No destinations in this project',
  );
}

function waitText({ groupWaitSeconds = 0 }: Destination): string {
  if (groupWaitSeconds === 0) return 'none: one message per incident';
  return `${groupWaitSeconds} s for further incidents of the rule`;
}

/** Outcome and time of the newest delivery; empty if there is none. */
function lastText({ lastDelivery: last }: Pick<Destination, 'lastDelivery'>): string {
  if (!last) return '';
  return `${enumText(Delivery_State, last.state)} ${localTime(lastUnix({ lastDelivery: last }))}`;
}

function lastUnix({ lastDelivery: last }: Pick<Destination, 'lastDelivery'>): bigint | undefined {
  return last?.attemptedUnix ?? last?.createdUnix;
}

function lastErrorText({ lastError }: Destination): string {
  return lastError ? `${localTime(lastError.atUnix)} ${lastError.error}` : '';
}

/** Host and end of a URL, or the number of verified mail recipients. */
function sendsTo({ target, host, lastFour }: Destination): string {
  if (target.case !== 'email') return `${host} …${lastFour}`;
  const { recipients } = target.value;
  const verified = recipients.filter(({ state, isMember }) => {
    return isMember && state === EmailRecipient_State.VERIFIED;
  });
  return `${verified.length} of ${recipients.length} recipients`;
}

function destinationFacts(destination: Destination): string {
  const { name, displayName, target, state, pausedReason } = destination;
  const rows = facts([
    ['destination', name],
    ['name', displayName],
    ['kind', target.case ?? ''],
    ['sends to', sendsTo(destination)],
    ['state', enumText(Destination_State, state)],
    ['why', pausedReason],
    ['group wait', waitText(destination)],
    ['failing since', localTime(destination.failingSinceUnix)],
    ['last delivery', lastText(destination)],
    ['last error', lastErrorText(destination)],
    ['old secret until', localTime(destination.secretOverlapEndsUnix)],
    ['created', localTime(destination.createdUnix)],
  ]);
  if (target.case !== 'email') return rows;
  const hasProblems = target.value.recipients.some(({ mailProblem }) => mailProblem !== '');
  const recipients = table(
    ['recipient', 'state', 'member', 'confirmed', ...(hasProblems ? ['mail'] : [])],
    target.value.recipients.map((recipient) => [
      recipient.address,
      enumText(EmailRecipient_State, recipient.state),
      recipient.isMember ? 'yes' : 'NO LONGER',
      localTime(recipient.verifiedUnix),
      ...(hasProblems ? [recipient.mailProblem] : []),
    ]),
    'No recipients',
  );
  return `${rows}\n${recipients}`;
}

/** Throws `UsageError` for an unknown kind. */
function kindOf(text: string): Kind {
  const kind = KINDS.find((one) => one === text);
  if (kind) return kind;
  throw new UsageError(`The destination has a kind that this program does not know: ${text}`);
}

/** The target given for the kind. Throws `UsageError`. */
async function newTarget(context: ActionContext, kind: Kind): Promise<Target> {
  if (kind !== 'email') return { case: kind, value: { url: await newUrl(context, kind) } };
  const { input } = context;
  if (input.isOn('url'))
    throw new UsageError('Mail requires recipients instead of a URL. Use --recipient');
  const addresses = input.list('recipient').flatMap((text) => text.split(','));
  if (addresses.length === 0) {
    throw new UsageError('--recipient is missing', 'Specify addresses of members');
  }
  const recipients = addresses.map((address) => ({ address: address.trim() }));
  return { case: kind, value: { recipients } };
}

async function newUrl({ input, ports }: ActionContext, kind: Kind): Promise<string> {
  if (input.isOn('recipient'))
    throw new UsageError(`--recipient is only for mail, not for ${kind}`);
  const given = input.required('url');
  if (given === '-') {
    const url = ports.isInteractive ? await ports.ask('URL: ') : await ports.readInput();
    return url.trim();
  }
  if (kind === 'webhook') return given;
  throw new UsageError(
    `The URL of ${kind} is a secret, and every process on this machine can read a command line`,
    'Use "--url -" and write the URL to standard input',
  );
}
