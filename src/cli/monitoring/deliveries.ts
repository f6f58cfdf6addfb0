/** `svc deliveries`: notifications and the outcome of each attempt. */
import { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  type Delivery,
  type Delivery_Attempt,
  type Delivery_Check,
  Delivery_Check_Kind,
  Delivery_Event,
  type Delivery_Member,
  Delivery_State,
  type Delivery_Step,
} from '../../gen/svc/monitoring/v1/delivery_pb.ts';
import { type Action, family, projectOption } from '../client/action.ts';
import { UsageError } from '../client/faults.ts';
import { ofFirst, reads } from '../client/frames.ts';
import { idCell, listing, long, minor, moment, sentences, stateCell } from '../client/listing.ts';
import { optionalName, projectName } from '../client/names.ts';
import { facts, table } from '../client/output.ts';
import { pageOptions, requestedPage } from '../client/paging.ts';
import {
  displayedName,
  enumText,
  fullName,
  localTime,
  NOT_OBSERVED,
  namesOf,
  shortName,
} from '../client/texts.ts';
import type { Screen } from '../command.ts';
import { timeOptions, timesOf } from './filters.ts';

const listAction: Action = {
  name: 'list',
  summary: 'List notifications and whether they were sent, newest first',
  options: [
    projectOption,
    { name: 'incident', takes: 'NAME', help: 'Only this incident' },
    { name: 'destination', takes: 'NAME', help: 'Only this destination' },
    {
      name: 'status',
      takes: 'STATE',
      multiple: true,
      choices: namesOf(Delivery_State),
      help: 'Only this state',
    },
    {
      name: 'notification',
      takes: 'EVENT',
      multiple: true,
      choices: namesOf(Delivery_Event),
      help: 'Only this event',
    },
    {
      name: 'failed',
      help: 'Only failed deliveries that have not been sent since, with the error',
    },
    ...timeOptions('Created at or after', 'Created at or before'),
    ...pageOptions,
  ],
  notes: `SENT means that the endpoint accepted the message, not that anyone read it. With --failed: WAITING
deliveries are retried at the time in "next"; EXPIRED and FAILED ones are not.`,
  run(context) {
    const { input } = context;
    if (input.isOn('failed') && input.isOn('status'))
      throw new UsageError('--failed and --status cannot be combined');
    return listDeliveries(context);
  },
};

const listDeliveries = reads({
  caller: 'any',
  method: AlertService.method.listDeliveries,
  async request(context, api) {
    const { input } = context;
    return {
      projectName: await projectName(context, api),
      incidentName: await optionalName(context, api, 'incidents', 'incident'),
      destinationName: await optionalName(context, api, 'destinations', 'destination'),
      states: input.isOn('failed') ? FAILED_STATES : input.members('status', Delivery_State),
      events: input.members('notification', Delivery_Event),
      ...timesOf(context),
      ...requestedPage(context),
    };
  },
  text: ({ deliveries }, { input, screen }) =>
    (input.isOn('failed') ? failureTable : deliveryTable)(deliveries, screen),
});

/** An attempt failed, or the delivery expired before one. */
const FAILED_STATES = [Delivery_State.WAITING, Delivery_State.EXPIRED, Delivery_State.FAILED];

/** What failed, when and why. */
function failureTable(deliveries: readonly Delivery[], screen: Screen | undefined): string {
  return listing(
    screen,
    [
      'failed',
      long('destination'),
      sentences('error'),
      'state',
      long('rule'),
      minor('VM'),
      minor('event'),
      minor('next'),
      'delivery',
    ],
    deliveries.map((delivery) => {
      const { attempts, createdUnix, destinationDisplayName, event, reason } = delivery;
      const last = attempts.at(-1);
      return [
        moment(last?.startedUnix ?? createdUnix),
        destinationDisplayName,
        last?.error || reason,
        stateCell(stateText(delivery)),
        delivery.ruleDisplayName,
        vmText(delivery),
        enumText(Delivery_Event, event),
        moment(delivery.nextAttemptUnix),
        idCell(delivery.name),
      ];
    }),
    'No failed deliveries',
  );
}

function vmText({ incidentCount, vmName, vmDisplayName }: Delivery): string {
  return incidentCount > 1 ? `${incidentCount} incidents` : displayedName(vmDisplayName, vmName);
}

function deliveryTable(deliveries: readonly Delivery[], screen: Screen | undefined): string {
  return listing(
    screen,
    [
      'created',
      long('rule'),
      long('VM'),
      'event',
      'state',
      long('destination'),
      minor('recipient'),
      minor('attempts'),
      minor('next'),
      'delivery',
    ],
    deliveries.map((delivery) => [
      moment(delivery.createdUnix),
      delivery.ruleDisplayName || NOT_OBSERVED,
      vmText(delivery) || NOT_OBSERVED,
      enumText(Delivery_Event, delivery.event),
      stateCell(stateText(delivery)),
      displayedName(delivery.destinationDisplayName, delivery.destinationName),
      delivery.recipient || NOT_OBSERVED,
      String(delivery.attempts.length),
      moment(delivery.nextAttemptUnix, NOT_OBSERVED),
      idCell(delivery.name),
    ]),
    'No matching deliveries',
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
  notes: 'Only callers with write permission see the responses of endpoints.',
  run: reads({
    caller: 'any',
    method: AlertService.method.getDelivery,
    request: ofFirst('deliveries'),
    text: (delivery, { screen }) => deliveryText(delivery, screen),
  }),
};

function deliveryText(delivery: Delivery, screen: Screen | undefined): string {
  const head = facts([
    ['delivery', delivery.name],
    ['event', enumText(Delivery_Event, delivery.event)],
    ['state', stateText(delivery)],
    ['incident', incidentText(delivery)],
    ['destination', fullName(delivery.destinationDisplayName, delivery.destinationName)],
    ['recipient', delivery.recipient],
    ['created', localTime(delivery.createdUnix)],
    ['next attempt', localTime(delivery.nextAttemptUnix)],
  ]);
  const rows = delivery.attempts.map((attempt) => [
    moment(attempt.startedUnix),
    attempt.durationMs === undefined ? NOT_OBSERVED : `${attempt.durationMs} ms`,
    attempt.outcome || 'in progress',
    attempt.httpStatus === undefined ? NOT_OBSERVED : String(attempt.httpStatus),
    attempt.error,
  ]);
  const attempts = listing(
    screen,
    ['started', minor('duration'), 'outcome', 'status', sentences('problem')],
    rows,
    'No attempts yet',
  );
  const answers = delivery.attempts.map(answerText).join('');
  const members = delivery.members.length > 1 ? `\n${memberTable(delivery.members)}` : '';
  return `${head}\n${attempts}${answers}${members}\n${stepTable(delivery.steps, screen)}`;
}

/** `CPU is high on db-01 (projects/p/incidents/i)`; empty for a test. */
function incidentText({ incidentName, ruleDisplayName, vmName, vmDisplayName }: Delivery): string {
  if (incidentName === '') return '';
  const subject = [ruleDisplayName, displayedName(vmDisplayName, vmName)]
    .filter(Boolean)
    .join(' on ');
  return fullName(subject, incidentName);
}

/** The incidents that share the message. */
function memberTable(members: readonly Delivery_Member[]): string {
  return table(
    ['incident', 'VM', 'included'],
    members.map(({ incidentName, vmName, vmDisplayName, droppedReason }) => [
      shortName(incidentName),
      displayedName(vmDisplayName, vmName),
      droppedReason === '' ? 'yes' : `dropped (${droppedReason})`,
    ]),
    '',
  );
}

/** The path, with the result of the recheck before each attempt. */
function stepTable(steps: readonly Delivery_Step[], screen: Screen | undefined): string {
  const rows = steps.map(({ atUnixMs, event, state, checks }) => [
    moment(atUnixMs / 1000n),
    event === '' ? 'created' : event,
    stateCell(enumText(Delivery_State, state)),
    checks.length === 0 ? '' : checksText(checks),
  ]);
  const none = 'Its steps are no longer recorded';
  return listing(screen, ['time', 'step', 'state', sentences('checked')], rows, none);
}

function checksText(checks: readonly Delivery_Check[]): string {
  const failed = checks.find(({ holds }) => !holds);
  if (!failed) return `all ${checks.length} passed`;
  return `${enumText(Delivery_Check_Kind, failed.check)} failed (${failed.reason})`;
}

function answerText({ startedUnix, answerExcerpt }: Delivery_Attempt): string {
  if (answerExcerpt === '') return '';
  return `\n${facts([[`response at ${localTime(startedUnix)}`, answerExcerpt]])}`;
}

export const deliveriesCommand = family(
  'deliveries',
  'Notifications and the outcome of each attempt',
  [listAction, showAction],
);
