/**
 * The actions of `svc alerts` that are about incidents: one shown with its timeline, explained, and
 * what people do with one or several. The latter need a signed-in person.
 */
import { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  ExplainIncidentResponseSchema,
  type Incident,
  type IncidentResult,
  IncidentResultSchema,
  IncidentSchema,
} from '../../gen/svc/monitoring/v1/incident_pb.ts';
import {
  type Action,
  type ActionContext,
  projectOption,
  requestIdOption,
} from '../client/action.ts';
import type { Api } from '../client/api.ts';
import type { Option } from '../client/arguments.ts';
import { UsageError } from '../client/faults.ts';
import { firstNamed, projectName, requestId, resourceName } from '../client/names.ts';
import { reportRequest } from '../client/once.ts';
import { json, localTime, messageJson, printMessage, shortName, table } from '../client/output.ts';
import { EXIT_FAULT, EXIT_OK } from '../command.ts';
import { change, type ResourceKind, showing } from '../identity/options.ts';
import { explanationText, incidentText } from './incident-texts.ts';

const { method } = AlertService;
const positionals = [{ name: 'INCIDENT' }] as const;

const incidentName = firstNamed('incidents');

function printIncident({ json: isJson, print }: ActionContext, incident: Incident): number {
  print(isJson ? json(messageJson(IncidentSchema, incident)) : incidentText(incident));
  return EXIT_OK;
}

const incidentKind: ResourceKind<Incident> = {
  positionals,
  nameOf: incidentName,
  show: printIncident,
};

const showAction = showing(
  incidentKind,
  'Show one incident and its timeline',
  (api, request) => api.call(method.getIncident, request),
  'any',
);

const explainAction: Action = {
  name: 'explain',
  summary: 'Show why an incident fired, and whether stored history leads to the same decision',
  positionals,
  options: [projectOption],
  notes:
    'The window shows the samples that decided it. Stored history is evaluated again for comparison.',
  async run(context) {
    const api = context.api('any');
    const name = await incidentName(context, api);
    const answer = await api.call(method.explainIncident, { name });
    return printMessage(context, ExplainIncidentResponseSchema, answer, () =>
      explanationText(answer),
    );
  },
};

const acknowledgeAction = change({
  ...incidentKind,
  name: 'ack',
  summary: 'Acknowledge a firing incident; it keeps firing, and reminders continue',
  options: [{ name: 'note', takes: 'TEXT', help: 'Note for others, at most 1,000 characters' }],
  send(api, request, context) {
    reportRequest(context, `Acknowledging ${request.name}`, request.requestId);
    const note = context.input.text('note') ?? '';
    return api.call(method.acknowledgeIncident, { ...request, note });
  },
});

const untilOptions: readonly Option[] = [
  { name: 'for', takes: 'DURATION', help: 'So long from now, at most 7d' },
  { name: 'until', takes: 'TIME', help: 'Until then, in place of --for' },
];

const snoozeAction = change({
  ...incidentKind,
  name: 'snooze',
  summary: 'Suppress notifications of a firing incident for a while; evaluation continues',
  options: untilOptions,
  notes: `
If the incident still fires at the end, one notification is sent. Another snooze replaces the end.
`,
  send(api, request, context) {
    const untilUnix = endOfSnooze(context);
    const until = `until ${localTime(untilUnix)} (--until ${untilUnix})`;
    reportRequest(context, `Snoozing ${request.name} ${until}`, request.requestId);
    return api.call(method.snoozeIncident, { ...request, untilUnix: BigInt(untilUnix) });
  },
});

/** Unix seconds. Throws `UsageError` unless one of the two is given. */
function endOfSnooze({ input, ports }: ActionContext): number {
  const seconds = input.seconds('for');
  const until = input.time('until');
  if (until !== undefined && seconds === undefined) return until;
  if (seconds !== undefined && until === undefined) {
    return Math.floor(ports.clock.now() / 1000) + seconds;
  }
  throw new UsageError('Give either --for or --until', 'For example: --for 2h');
}

const unsnoozeAction = change({
  ...incidentKind,
  name: 'unsnooze',
  summary: 'End the snooze of an incident now; one notification is sent',
  send(api, request, context) {
    reportRequest(context, `Ending the snooze of ${request.name}`, request.requestId);
    return api.call(method.unsnoozeIncident, request);
  },
});

const severalOptions: readonly Option[] = [
  { name: 'incident', takes: 'NAME', multiple: true, help: 'One of the incidents, at most 200' },
];

/** Names of the project, of `--incident`. Throws `UsageError` without one. */
async function severalOf(context: ActionContext, api: Api) {
  const given = context.input.list('incident');
  if (given.length === 0) throw new UsageError('--incident is missing: name one or more');
  const project = await projectName(context, api);
  const named = (one: string) =>
    resourceName(context, api, { collection: 'incidents', given: one });
  const names = await Promise.all(given.map(named));
  return { projectName: project, names, requestId: requestId(context) };
}

/** Fails when one of them could not be done. */
function printResults(context: ActionContext, results: readonly IncidentResult[]): number {
  if (context.json) {
    context.print(json({ results: results.map((one) => messageJson(IncidentResultSchema, one)) }));
  } else {
    const rows = results.map(({ name, errorReason, errorMessage }) => [
      ...[shortName(name), errorReason === '' ? 'done' : errorReason, errorMessage],
    ]);
    context.print(table(['incident', 'result', 'problem'], rows, 'No incident was named'));
  }
  return results.every(({ errorReason }) => errorReason === '') ? EXIT_OK : EXIT_FAULT;
}

const acknowledgeSeveralAction: Action = {
  name: 'ack-several',
  summary: 'Take notice of several firing incidents at once, each with its result',
  options: [
    ...severalOptions,
    { name: 'note', takes: 'TEXT', help: 'The same for all, at most 1,000 characters' },
    ...[requestIdOption, projectOption],
  ],
  async run(context) {
    const api = context.api('person');
    const request = await severalOf(context, api);
    reportRequest(context, `Acknowledging ${request.names.length} incidents`, request.requestId);
    const note = context.input.text('note') ?? '';
    const { results } = await api.call(method.acknowledgeIncidents, { ...request, note });
    return printResults(context, results);
  },
};

const snoozeSeveralAction: Action = {
  name: 'snooze-several',
  summary: 'Pause notifications of several firing incidents at once, each with its result',
  options: [...severalOptions, ...untilOptions, requestIdOption, projectOption],
  async run(context) {
    const api = context.api('person');
    const untilUnix = endOfSnooze(context);
    const request = await severalOf(context, api);
    const until = `until ${localTime(untilUnix)} (--until ${untilUnix})`;
    const what = `Snoozing ${request.names.length} incidents ${until}`;
    reportRequest(context, what, request.requestId);
    const asked = { ...request, untilUnix: BigInt(untilUnix) };
    const { results } = await api.call(method.snoozeIncidents, asked);
    return printResults(context, results);
  },
};

export const incidentActions: readonly Action[] = [
  showAction,
  explainAction,
  acknowledgeAction,
  snoozeAction,
  unsnoozeAction,
  acknowledgeSeveralAction,
  snoozeSeveralAction,
];
