/** `svc alerts`: rules and incidents as tables; saving and previewing are files of their own. */

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
import { projectName, resourceName } from '../client/names.ts';
import { enumText, printMessage, shortName, table } from '../client/output.ts';
import { everyItem, pageAsked, pageOptions, printPage } from '../client/paging.ts';
import { instanceActions } from './alert-instances.ts';
import { deleteAction, saveAction } from './alert-save.ts';
import { previewAction } from './alert-spec.ts';
import { templatesAction } from './alert-templates.ts';
import { conditionText, incidentTable } from './incident-texts.ts';
import { incidentActions } from './incidents.ts';

const listAction: Action = {
  name: 'list',
  summary: 'List the alert rules, and whether they are applied',
  options: [projectOption],
  async run(context) {
    const api = context.api('any');
    const project = await projectName(context, api);
    const rules = await everyItem(
      (page) => api.call(AlertService.method.listAlertRules, { projectName: project, ...page }),
      (answer) => answer.rules,
    );
    return printMessage(context, ListAlertRulesResponseSchema, { rules }, () => ruleTable(rules));
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
const SEVERITIES = ['INFO', 'WARNING', 'CRITICAL'] as const;

const incidentsAction: Action = {
  name: 'incidents',
  summary: 'List incidents, newest first',
  options: [
    projectOption,
    { name: 'state', takes: 'STATE', choices: STATES, help: 'Only this state' },
    { name: 'rule', takes: 'NAME', help: 'Only this rule' },
    { name: 'vm', takes: 'NAME', help: 'Only this VM' },
    { name: 'datacenter', takes: 'NAME', help: 'Only of this data center and its VMs' },
    {
      ...{ name: 'severity', takes: 'SEVERITY', multiple: true, choices: SEVERITIES },
      help: 'Only this severity',
    },
    { name: 'attention', help: 'Only what fires and is neither acknowledged nor snoozed' },
    { name: 'since', takes: 'TIME', help: 'Fired at or after' },
    { name: 'until', takes: 'TIME', help: 'Fired before' },
    ...pageOptions,
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
      severities: input.members('severity', AlertRuleSpec_Severity),
      attention: input.isOn('attention'),
      datacenter: input.text('datacenter') ?? '',
      ...pageAsked(context),
    });
    return printPage(context, ListIncidentsResponseSchema, answer, () =>
      incidentTable(answer.incidents),
    );
  },
};

export const alertsCommand = family(
  'alerts',
  'Alert rules and instances: list, preview, save, delete; incidents: list, acknowledge, snooze, explain',
  [
    ...[listAction, templatesAction, previewAction, saveAction, deleteAction],
    ...[...instanceActions, incidentsAction, ...incidentActions],
  ],
);
