/** `svc deliveries`: who was notified of what, and the outcome of each attempt. */
import { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  type Delivery,
  type Delivery_Attempt,
  type Delivery_Check,
  Delivery_Check_Kind,
  Delivery_Event,
  Delivery_State,
  type Delivery_Step,
  DeliverySchema,
  ListDeliveriesResponseSchema,
} from '../../gen/svc/monitoring/v1/delivery_pb.ts';
import { type Action, family, projectOption } from '../client/action.ts';
import { projectName, resourceName } from '../client/names.ts';
import {
  enumText,
  facts,
  localTime,
  NOT_OBSERVED,
  printMessage,
  shortName,
  table,
} from '../client/output.ts';
import { pageAsked, pageOptions, printPage } from '../client/paging.ts';

const listAction: Action = {
  name: 'list',
  summary: 'List notifications and whether they were sent, newest first',
  options: [
    projectOption,
    { name: 'incident', takes: 'NAME', help: 'Only this incident' },
    { name: 'destination', takes: 'NAME', help: 'Only this destination' },
    {
      ...{ name: 'status', takes: 'STATE', multiple: true, choices: namesOf(Delivery_State) },
      help: 'Only this state',
    },
    {
      ...{ name: 'notification', takes: 'EVENT', multiple: true, choices: namesOf(Delivery_Event) },
      help: 'Only this event',
    },
    { name: 'since', takes: 'TIME', help: 'Created at or after' },
    { name: 'until', takes: 'TIME', help: 'Created at or before' },
    ...pageOptions,
  ],
  notes: 'SENT means that the endpoint accepted it, not that anybody read it.',
  async run(context) {
    const { input } = context;
    const api = context.api('any');
    const incident = input.text('incident');
    const destination = input.text('destination');
    const named = (collection: string, given: string | undefined) =>
      given === undefined ? '' : resourceName(context, api, { collection, given });
    const answer = await api.call(AlertService.method.listDeliveries, {
      projectName: await projectName(context, api),
      incidentName: await named('incidents', incident),
      destinationName: await named('destinations', destination),
      states: input.members('status', Delivery_State),
      events: input.members('notification', Delivery_Event),
      startTimeUnix: BigInt(input.time('since') ?? 0),
      endTimeUnix: BigInt(input.time('until') ?? 0),
      ...pageAsked(context),
    });
    return printPage(context, ListDeliveriesResponseSchema, answer, () =>
      deliveryTable(answer.deliveries),
    );
  },
};

function deliveryTable(deliveries: readonly Delivery[]): string {
  return table(
    [
      ...['delivery', 'event', 'state', 'rule', 'VM', 'destination', 'recipient', 'created'],
      ...['attempts', 'next'],
    ],
    deliveries.map((delivery) => [
      shortName(delivery.name),
      enumText(Delivery_Event, delivery.event),
      stateText(delivery),
      delivery.ruleDisplayName,
      shortName(delivery.vmName),
      shortName(delivery.destinationName),
      delivery.recipient || NOT_OBSERVED,
      localTime(delivery.createdUnix),
      String(delivery.attempts.length),
      localTime(delivery.nextAttemptUnix),
    ]),
    'There are no matching deliveries',
  );
}

function stateText({ state, reason }: Delivery): string {
  return `${enumText(Delivery_State, state)}${reason ? ` (${reason})` : ''}`;
}

const showAction: Action = {
  name: 'show',
  summary: 'Show one notification and its attempts',
  positionals: [{ name: 'DELIVERY' }],
  options: [projectOption],
  notes: 'Answers of endpoints are shown only to callers who may write.',
  async run(context) {
    const api = context.api('any');
    const given = context.input.positional(0);
    const name = await resourceName(context, api, { collection: 'deliveries', given });
    const delivery = await api.call(AlertService.method.getDelivery, { name });
    return printMessage(context, DeliverySchema, delivery, () => deliveryText(delivery));
  },
};

function deliveryText(delivery: Delivery): string {
  const head = facts([
    ['delivery', delivery.name],
    ['event', enumText(Delivery_Event, delivery.event)],
    ['state', stateText(delivery)],
    ['incident', delivery.incidentName],
    ['destination', delivery.destinationName],
    ['recipient', delivery.recipient],
    ['created', localTime(delivery.createdUnix)],
    ['next attempt', localTime(delivery.nextAttemptUnix)],
  ]);
  const rows = delivery.attempts.map((attempt) => [
    localTime(attempt.startedUnix),
    attempt.durationMs === undefined ? NOT_OBSERVED : `${attempt.durationMs} ms`,
    attempt.outcome || 'on its way',
    attempt.httpStatus === undefined ? NOT_OBSERVED : String(attempt.httpStatus),
    attempt.error,
  ]);
  const attempts = table(
    ['started', 'duration', 'outcome', 'status', 'problem'],
    rows,
    'No attempt was made',
  );
  const answers = delivery.attempts.map(answerText).join('');
  return `${head}\n${attempts}${answers}\n${stepTable(delivery.steps)}`;
}

/** The path, with what the recheck before each attempt came to. */
function stepTable(steps: readonly Delivery_Step[]): string {
  const rows = steps.map(({ atUnixMs, event, state, checks }) => [
    localTime(atUnixMs / 1000n),
    event === '' ? 'created' : event,
    enumText(Delivery_State, state),
    checks.length === 0 ? '' : checksText(checks),
  ]);
  return table(['time', 'step', 'state', 'checked'], rows, 'Its steps are no longer recorded');
}

function checksText(checks: readonly Delivery_Check[]): string {
  const failed = checks.find(({ holds }) => !holds);
  if (!failed) return `all ${checks.length} hold`;
  return `${enumText(Delivery_Check_Kind, failed.check)} does not hold (${failed.reason})`;
}

/** Names of an enum's members but its zero. */
function namesOf(members: Readonly<Record<string, number>>): string[] {
  return Object.keys(members).filter((name) => (members[name] ?? 0) > 0);
}

function answerText({ startedUnix, answerExcerpt }: Delivery_Attempt): string {
  if (answerExcerpt === '') return '';
  return `\n${facts([[`answer of ${localTime(startedUnix)}`, answerExcerpt]])}`;
}

export const deliveriesCommand = family(
  'deliveries',
  'Notifications, and the outcome of each attempt',
  [listAction, showAction],
);
