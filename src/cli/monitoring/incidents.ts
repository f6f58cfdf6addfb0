/**
 * `svc incidents`: a list, one incident with its timeline, an explanation, and actions on one or
 * several. Actions require a signed-in person. An incident is named by its id, or by its rule or VM
 * if only one of them is firing.
 */
import { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  type Incident,
  Incident_State,
  type IncidentResult,
  IncidentResultSchema,
  IncidentSchema,
} from '../../gen/svc/monitoring/v1/incident_pb.ts';
import { AlertRuleSpec_Severity } from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { type Action, type ActionContext, family, projectOption } from '../client/action.ts';
import type { Api } from '../client/api.ts';
import type { Option } from '../client/arguments.ts';
import { Fault, UsageError } from '../client/faults.ts';
import {
  change,
  changeOptions,
  ofFirst,
  type ResourceKind,
  reads,
  showing,
} from '../client/frames.ts';
import { idCell, listing, long, sentences } from '../client/listing.ts';
import { firstNamed, projectName, requestId, resourceNames } from '../client/names.ts';
import { reportRequest } from '../client/once.ts';
import { json, messageDocument, messageJson } from '../client/output.ts';
import { pageOptions, requestedPage } from '../client/paging.ts';
import { displayedName, localTime, NOT_OBSERVED } from '../client/texts.ts';
import { EXIT_FAULT, EXIT_OK } from '../command.ts';
import { ruleAndVmOf, ruleAndVmOptions, timeOptions, timesOf } from './filters.ts';
import { explanationText, incidentTable, incidentText, subjectText } from './incident-texts.ts';
import { type PeopleNames, peopleNames } from './people-names.ts';

const { method } = AlertService;
const positionals = [{ name: 'INCIDENT' }] as const;

async function printIncident(context: ActionContext, incident: Incident): Promise<number> {
  const { json: isJson, print, screen } = context;
  const names = isJson ? new Map() : await actorNames(context, [incident]);
  print(isJson ? messageDocument(IncidentSchema, incident) : incidentText(incident, screen, names));
  return EXIT_OK;
}

/** Names of the people who acted on incidents. */
function actorNames(context: ActionContext, incidents: readonly Incident[]): Promise<PeopleNames> {
  const project = (incidents[0]?.name ?? '').replace(/\/incidents\/.*/, '');
  const actors = incidents.flatMap(({ acknowledged, timeline }) => [
    acknowledged?.by ?? '',
    ...timeline.map(({ by }) => by),
  ]);
  return peopleNames(context, project, actors);
}

const incidentKind: ResourceKind<Incident> = {
  positionals,
  nameOf: firstNamed('incidents'),
  show: printIncident,
};

const showAction = showing(
  incidentKind,
  method.getIncident,
  'Show one incident and its timeline',
  'any',
);

const explainAction: Action = {
  name: 'explain',
  summary: 'Show why an incident fired, and whether stored history leads to the same decision',
  positionals,
  options: [projectOption],
  notes:
    'The window shows the samples that led to the decision. Stored history is re-evaluated for comparison.',
  run: reads({
    caller: 'any',
    method: method.explainIncident,
    request: ofFirst('incidents'),
    text: explanationText,
  }),
};

const STATES = ['FIRING', 'RECOVERED', 'RETIRED'] as const;
const SEVERITIES = ['INFO', 'WARNING', 'CRITICAL'] as const;

const listAction: Action = {
  name: 'list',
  summary: 'List incidents, newest first',
  options: [
    projectOption,
    { name: 'state', takes: 'STATE', choices: STATES, help: 'Only this state' },
    ...ruleAndVmOptions,
    { name: 'datacenter', takes: 'NAME', help: 'Only this data center and its VMs' },
    {
      name: 'severity',
      takes: 'SEVERITY',
      multiple: true,
      choices: SEVERITIES,
      help: 'Only this severity',
    },
    { name: 'attention', help: 'Only firing incidents that are neither acknowledged nor snoozed' },
    ...timeOptions('Fired at or after', 'Fired before'),
    ...pageOptions,
  ],
  notes: 'Missing data and evaluation errors never end an incident; the column "data" shows them.',
  run: reads({
    caller: 'any',
    method: method.listIncidents,
    async request(context, api) {
      const { input } = context;
      const state = STATES.find((name) => name === input.text('state'));
      return {
        projectName: await projectName(context, api),
        state: state === undefined ? Incident_State.STATE_UNSPECIFIED : Incident_State[state],
        ...(await ruleAndVmOf(context, api)),
        ...timesOf(context),
        severities: input.members('severity', AlertRuleSpec_Severity),
        attention: input.isOn('attention'),
        datacenter: input.text('datacenter') ?? '',
        ...requestedPage(context),
      };
    },
    text: async ({ incidents }, context) =>
      incidentTable(incidents, context.screen, await actorNames(context, incidents)),
  }),
};

const noteOption: Option = {
  name: 'note',
  takes: 'TEXT',
  help: 'Note for other members, at most 1,000 characters',
};

const acknowledgeAction = acting({
  name: 'ack',
  summary: 'Acknowledge firing incidents; they keep firing, and reminders continue',
  options: [noteOption],
  act: 'Acknowledging',
  one: (api, request, context) =>
    api.call(method.acknowledgeIncident, { ...request, ...noteOf(context) }),
  several: (api, request, context) =>
    api.call(method.acknowledgeIncidents, { ...request, ...noteOf(context) }),
});

function noteOf({ input }: ActionContext) {
  return { note: input.text('note') ?? '' };
}

const untilOptions: readonly Option[] = [
  { name: 'for', takes: 'DURATION', help: 'Duration from now, at most 7d' },
  { name: 'until', takes: 'TIME', help: 'End time instead of --for, such as 08:00' },
];

const snoozeAction = acting({
  name: 'snooze',
  summary: 'Suppress notifications of firing incidents for a while; evaluation continues',
  options: untilOptions,
  notes: `If an incident is still firing at the end, one notification is sent. Another snooze replaces the
end. --until 08:00 means the next 08:00 on this machine's clock.`,
  act: 'Snoozing',
  about(context) {
    const untilUnix = endOfSnooze(context);
    return ` until ${localTime(untilUnix)} (--until ${untilUnix})`;
  },
  one: (api, request, context) =>
    api.call(method.snoozeIncident, { ...request, ...endOf(context) }),
  several: (api, request, context) =>
    api.call(method.snoozeIncidents, { ...request, ...endOf(context) }),
});

function endOf(context: ActionContext) {
  return { untilUnix: BigInt(endOfSnooze(context)) };
}

/** Unix seconds. Throws `UsageError` unless exactly one of the two is given. */
function endOfSnooze({ input, ports }: ActionContext): number {
  const seconds = input.seconds('for');
  const until = input.timeToCome('until');
  if ((until === undefined) === (seconds === undefined)) {
    throw new UsageError('Use either --for or --until', 'For example: --for 2h');
  }
  const now = Math.floor(ports.clock.now() / 1000);
  const end = until ?? now + (seconds ?? 0);
  const latest = now + SNOOZE_SECONDS_MAX;
  if (end <= latest) return end;
  const flag = until === undefined ? '--for' : '--until';
  throw new UsageError(`${flag} allows at most 7d, until ${localTime(latest)}`);
}

/** The service's limit: seven days. */
const SNOOZE_SECONDS_MAX = 7 * 86_400;

const unsnoozeAction = change({
  ...incidentKind,
  name: 'unsnooze',
  summary: 'End the snooze of an incident now; one notification is sent',
  act: 'Ending the snooze of',
  method: method.unsnoozeIncident,
});

interface ActionOfPerson extends Omit<Action, 'run' | 'positionals'> {
  /** Present participle of the action: `Snoozing`. */
  readonly act: string;
  /** Text after the names when the request is reported. */
  readonly about?: (context: ActionContext) => string;
  readonly one: (
    api: Api,
    request: { readonly name: string; readonly requestId: string },
    context: ActionContext,
  ) => Promise<Incident>;
  readonly several: (
    api: Api,
    request: Readonly<Record<'projectName' | 'requestId', string>> & { readonly names: string[] },
    context: ActionContext,
  ) => Promise<{ readonly results: readonly IncidentResult[] }>;
}

/** An action of a person on one or several incidents, each with its result. */
function acting({
  act,
  about = () => '',
  one,
  several,
  options = [],
  ...rest
}: ActionOfPerson): Action {
  return {
    ...rest,
    positionals: [{ name: 'INCIDENT', multiple: true }],
    ...changeOptions(...options),
    async run(context) {
      const api = context.api('person');
      const what = about(context);
      const given = await named(context, api);
      const names = [...new Set(given)];
      const [name = '', ...others] = names;
      const id = requestId(context);
      const subject = others.length === 0 ? name : `${names.length} incidents`;
      reportRequest(context, `${act} ${subject}${what}`, id);
      if (others.length === 0) {
        return printIncident(context, await one(api, { name, requestId: id }, context));
      }
      const request = { projectName: await projectName(context, api), names, requestId: id };
      return printResults(context, (await several(api, request, context)).results);
    },
  };
}

/** Their full names. Throws `Fault`: one unknown name prevents the action on all of them. */
async function named(context: ActionContext, api: Api): Promise<string[]> {
  const { positionals: given } = context.input;
  try {
    return await resourceNames(context, api, 'incidents', given);
  } catch (error) {
    if (!(error instanceof Fault) || given.length === 1) throw error;
    const { exitCode, reason, hint } = error;
    const message = `${error.message}. No incidents were changed`;
    throw new Fault(message, { exitCode, reason, hint });
  }
}

/** Fails if the action failed for one of them. */
function printResults(context: ActionContext, results: readonly IncidentResult[]): number {
  if (context.json) {
    context.print(json({ results: results.map((one) => messageJson(IncidentResultSchema, one)) }));
  } else {
    const rows = results.map(({ name, incident, errorReason, errorMessage }) => [
      incident ? displayedName(incident.ruleDisplayName, incident.ruleName) : NOT_OBSERVED,
      incident ? subjectText(incident) : NOT_OBSERVED,
      idCell(name),
      errorReason === '' ? 'done' : errorReason,
      errorMessage,
    ]);
    context.print(
      listing(
        context.screen,
        [long('rule'), long('VM'), 'incident', 'result', sentences('problem')],
        rows,
        'No incidents given',
      ),
    );
  }
  return results.every(({ errorReason }) => errorReason === '') ? EXIT_OK : EXIT_FAULT;
}

export const incidentsCommand = family(
  'incidents',
  'Incidents: list, explain, acknowledge, snooze',
  [listAction, showAction, explainAction, acknowledgeAction, snoozeAction, unsnoozeAction],
);
