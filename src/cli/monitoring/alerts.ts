/** `svc alerts`: rules and incidents as tables; saving and previewing are files of their own. */

import { create } from '@bufbuild/protobuf';
import {
  AlertService,
  ListAlertRulesResponseSchema,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  Incident_State,
  ListIncidentsResponseSchema,
} from '../../gen/svc/monitoring/v1/incident_pb.ts';
import {
  type AlertRule,
  AlertRule_SyncStatus,
  AlertRuleSpec_Severity,
} from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { type Action, family, projectOption } from '../client/action.ts';
import { UsageError } from '../client/faults.ts';
import { projectName, resourceName } from '../client/names.ts';
import { enumText, json, messageJson, shortName, table } from '../client/output.ts';
import { EXIT_OK } from '../command.ts';
import { instanceActions } from './alert-instances.ts';
import { deleteAction, saveAction } from './alert-save.ts';
import { previewAction } from './alert-spec.ts';
import { templatesAction } from './alert-templates.ts';
import { conditionText, incidentTable } from './incident-texts.ts';
import { incidentActions } from './incidents.ts';

const PAGE_SIZE = 500;
const INCIDENTS_DEFAULT = 50;

const listAction: Action = {
  name: 'list',
  summary: 'List the alert rules, and whether they are applied',
  options: [projectOption],
  async run(context) {
    const api = context.api('any');
    const project = await projectName(context, api);
    const rules: AlertRule[] = [];
    let pageToken = '';
    do {
      const page = { projectName: project, pageSize: PAGE_SIZE, pageToken };
      const answer = await api.call(AlertService.method.listAlertRules, page);
      rules.push(...answer.rules);
      pageToken = answer.nextPageToken;
    } while (pageToken !== '');
    if (context.json) {
      const answer = create(ListAlertRulesResponseSchema, { rules });
      context.print(json(messageJson(ListAlertRulesResponseSchema, answer)));
    } else context.print(ruleTable(rules));
    return EXIT_OK;
  },
};

function ruleTable(rules: readonly AlertRule[]): string {
  return table(
    ['rule', 'name', 'condition', 'severity', 'VMs', 'enabled', 'version', 'applied', 'problem'],
    rules.map(({ name, spec, version, appliedVersion, syncStatus, ...problem }) => [
      shortName(name),
      spec?.displayName ?? '',
      conditionText(spec),
      enumText(AlertRuleSpec_Severity, spec?.severity ?? 0),
      spec?.allVms ? 'all' : String(spec?.vmNames.length ?? 0),
      spec?.enabled === false ? 'no' : 'yes',
      String(version),
      `${enumText(AlertRule_SyncStatus, syncStatus)} (${appliedVersion})`,
      problemText(problem),
    ]),
    'There are no alert rules in this project',
  );
}

function problemText({ syncError, unevaluatedInstances }: Problem): string {
  return unevaluatedInstances > 0n
    ? `${syncError} (${unevaluatedInstances} not evaluated)`
    : syncError;
}

type Problem = Pick<AlertRule, 'syncError' | 'unevaluatedInstances'>;

const STATES = ['FIRING', 'RECOVERED', 'RETIRED'] as const;

const incidentsAction: Action = {
  name: 'incidents',
  summary: 'List incidents, newest first',
  options: [
    projectOption,
    { name: 'state', takes: 'STATE', choices: STATES, help: 'Only this state' },
    { name: 'rule', takes: 'NAME', help: 'Only this rule' },
    { name: 'vm', takes: 'NAME', help: 'Only this VM' },
    { name: 'since', takes: 'TIME', help: 'Fired at or after' },
    { name: 'until', takes: 'TIME', help: 'Fired before' },
    { name: 'page-size', takes: 'N', help: `At most this many; default ${INCIDENTS_DEFAULT}` },
    {
      name: 'page-token',
      takes: 'TOKEN',
      help: 'Page token of an earlier answer: show the next page',
    },
  ],
  notes: 'Missing data and evaluation errors never end an incident: the column "data" shows them.',
  async run(context) {
    const { input } = context;
    const api = context.api('any');
    const rule = input.text('rule');
    const vm = input.text('vm');
    const named = (collection: string, given: string | undefined) =>
      given === undefined ? '' : resourceName(context, api, { collection, given });
    const state = STATES.find((name) => name === input.text('state'));
    const answer = await api.call(AlertService.method.listIncidents, {
      projectName: await projectName(context, api),
      state: state === undefined ? Incident_State.STATE_UNSPECIFIED : Incident_State[state],
      ruleName: await named('alertRules', rule),
      vmName: await named('vms', vm),
      startTimeUnix: BigInt(input.time('since') ?? 0),
      endTimeUnix: BigInt(input.time('until') ?? 0),
      pageSize: pageSizeOf(input.number('page-size')),
      pageToken: input.text('page-token') ?? '',
    });
    if (context.json) context.print(json(messageJson(ListIncidentsResponseSchema, answer)));
    else {
      context.print(incidentTable(answer.incidents));
      if (answer.nextPageToken)
        context.report(`There are more: --page-token ${answer.nextPageToken}`);
    }
    return EXIT_OK;
  },
};

function pageSizeOf(given: number | undefined): number {
  const size = given ?? INCIDENTS_DEFAULT;
  if (Number.isInteger(size) && size >= 1 && size <= 1000) return size;
  throw new UsageError(`--page-size is a whole number from 1 to 1000, not ${size}`);
}

export const alertsCommand = family(
  'alerts',
  'Alert rules and instances: list, preview, save, delete; incidents: list, acknowledge, snooze, explain',
  [
    ...[listAction, templatesAction, previewAction, saveAction, deleteAction],
    ...[...instanceActions, incidentsAction, ...incidentActions],
  ],
);
