/** `svc alerts`: listing, saving and deleting rules; the other actions have their own files. */

import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { pause } from '../../../streams/platform/pause.ts';
import {
  AlertService,
  type SaveAlertRuleRequestSchema,
  type SaveAlertRuleResponse,
  SaveAlertRuleResponseSchema,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  type AlertRule,
  AlertRule_SyncStatus,
  type AlertRuleSpec,
  AlertRuleSpec_Severity,
} from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { type Action, type ActionContext, family, projectOption } from '../client/action.ts';
import { type Api, SERVICE_AWAY } from '../client/api.ts';
import { conditionText } from '../client/condition-text.ts';
import { EXIT_NOT_FOUND, NoAnswer, refusalOf, UsageError } from '../client/faults.ts';
import { changeOptions, ofProject, reads } from '../client/frames.ts';
import { listing, long, minor, sentences, stateCell } from '../client/listing.ts';
import { newUuid, optionalName, projectName, requestId, resourceName } from '../client/names.ts';
import { facts, json, messageDocument } from '../client/output.ts';
import { enumText, fullName, shortName } from '../client/texts.ts';
import { EXIT_FAULT, EXIT_OK } from '../command.ts';
import { instanceActions } from './alert-instances.ts';
import { previewAction } from './alert-preview.ts';
import { replayAction } from './alert-replay.ts';
import { readSpec, specOptions } from './alert-spec.ts';
import { templatesAction } from './alert-templates.ts';

const listAction: Action = {
  name: 'list',
  summary: 'List alert rules and whether they are applied',
  options: [projectOption],
  run: reads({
    caller: 'any',
    method: AlertService.method.listAlertRules,
    every: 'rules',
    request: ofProject,
    text: ({ rules }, context) => ruleTable(rules, context),
  }),
};

function ruleTable(rules: readonly AlertRule[], { screen }: ActionContext): string {
  return listing(
    screen,
    [
      long('name'),
      sentences('condition'),
      'severity',
      minor('VMs'),
      sentences('state'),
      long('problem'),
      minor('version'),
      minor('rule'),
    ],
    rules.map((rule) => [
      rule.spec?.displayName ?? '',
      conditionText(rule.spec),
      stateCell(enumText(AlertRuleSpec_Severity, rule.spec?.severity ?? 0)),
      rule.spec?.allVms ? 'all' : String(rule.spec?.vmNames.length ?? 0),
      stateCell(stateText(rule)),
      problemText(rule),
      String(rule.version),
      shortName(rule.name),
    ]),
    'No alert rules in this project',
  );
}

/** `PAUSED`, or how far it is applied; the versions only if they differ. */
function stateText({ spec, syncStatus, version, appliedVersion }: AlertRule): string {
  if (spec?.enabled === false) return 'PAUSED';
  const versions =
    version === appliedVersion ? '' : ` (${version} saved, ${appliedVersion} applied)`;
  return `${enumText(AlertRule_SyncStatus, syncStatus)}${versions}`;
}

function problemText({ syncError, unevaluatedInstances }: AlertRule): string {
  return unevaluatedInstances > 0n
    ? `${syncError} (${unevaluatedInstances} not evaluated)`
    : syncError;
}

const WAIT_SECONDS_DEFAULT = 10;
const LOOK_AGAIN_MS = 500;

/**
 * `svc alerts save` and `delete`. A save then checks whether the rule is applied. Id, request id
 * and version are printed before the request is sent, so that an uncertain save can be repeated
 * exactly (API-02).
 */
const saveAction: Action = {
  name: 'save',
  summary: 'Create an alert rule, or edit one',
  ...changeOptions(
    ...specOptions,
    {
      name: 'id',
      takes: 'RULE',
      help: 'The rule to edit, name or id; or your own UUID for a new one',
    },
    {
      name: 'expected-version',
      takes: 'N',
      help: 'Version on which the edit is based, 0 for a new rule; default: the current one',
    },
    { name: 'wait', takes: 'DURATION', help: 'Maximum wait until it is applied; default 10s' },
  ),
  notes: `Without --id a new rule is created. With --id the flags override fields of the current rule;
a concurrent edit is not overwritten. Exit code 1 if the rule was saved but not applied in time:
it is not evaluated yet.`,
  run: save,
};

async function save(context: ActionContext): Promise<number> {
  const { input, ports } = context;
  const api = context.api('any');
  const project = await projectName(context, api);
  const given = await optionalName(context, api, 'alertRules', 'id');
  const id = given === '' ? newUuid(ports.random) : shortName(given);
  // A repeated creation must stay a creation, not become an edit of the rule created by the first
  // attempt.
  const isEdit = input.isOn('id') && input.number('expected-version') !== 0;
  const name = `${project}/alertRules/${id}`;
  const present = isEdit ? await presentRule(api, name) : undefined;
  const spec = await readSpec(context, { api, project, base: present?.spec });
  const version = input.number('expected-version') ?? Number(present?.version ?? 0);
  if (!Number.isInteger(version) || version < 0) {
    throw new UsageError('--expected-version must be a whole number');
  }
  const request = {
    projectName: project,
    id,
    spec,
    requestId: requestId(context),
    expectedVersion: String(version),
  };
  const again = `--id ${id} --request-id ${request.requestId} --expected-version ${version}`;
  context.report(`Saving rule ${id} (request ${request.requestId}, on version ${version})`);
  const answer = await callAndReport(api, request, again);
  const ended = await untilApplied(context, api, answer);
  if (context.json) context.print(messageDocument(SaveAlertRuleResponseSchema, ended));
  else context.print(savedText(ended, { spec, before: present?.spec }));
  return ended.syncStatus === AlertRule_SyncStatus.APPLIED ? EXIT_OK : EXIT_FAULT;
}

const deleteAction: Action = {
  name: 'delete',
  summary: 'Delete an alert rule. Its firing incidents are retired without a recovery',
  positionals: [{ name: 'RULE' }],
  ...changeOptions({
    name: 'expected-version',
    takes: 'N',
    help: 'Version to delete; default: the current one',
  }),
  async run(context) {
    const { input } = context;
    const api = context.api('any');
    const given = input.positional(0);
    const name = await resourceName(context, api, { collection: 'alertRules', given });
    const version = input.number('expected-version') ?? (await presentRule(api, name))?.version;
    const request = { name, requestId: requestId(context), expectedVersion: String(version ?? 0) };
    const about = `request ${request.requestId}, version ${request.expectedVersion}`;
    context.report(`Deleting ${name} (${about})`);
    await api.call(AlertService.method.deleteAlertRule, request);
    context.print(context.json ? json({ name }) : `Deleted ${name}\n`);
    return EXIT_OK;
  },
};

type SaveRequest = MessageInitShape<typeof SaveAlertRuleRequestSchema>;

/** Only with all three ids can the exact request be repeated by hand. */
async function callAndReport(api: Api, request: SaveRequest, again: string) {
  try {
    return await api.call(AlertService.method.saveAlertRule, request);
  } catch (error) {
    if (!(error instanceof NoAnswer) || error.hint === SERVICE_AWAY) throw error;
    throw new NoAnswer(error.message, `To send the same request again, add:\n  ${again}`);
  }
}

async function presentRule(api: Api, name: string): Promise<AlertRule | undefined> {
  try {
    return await api.call(AlertService.method.getAlertRule, { name });
  } catch (error) {
    if (refusalOf(error)?.exitCode === EXIT_NOT_FOUND) return undefined;
    throw error;
  }
}

/**
 * Saved does not mean applied: returns the rule once the evaluator has it, or when the wait is
 * over.
 */
async function untilApplied(
  { input, ports }: ActionContext,
  api: Api,
  saved: SaveAlertRuleResponse,
): Promise<SaveAlertRuleResponse> {
  const { clock } = ports;
  const endMs = clock.elapsed() + (input.seconds('wait') ?? WAIT_SECONDS_DEFAULT) * 1000;
  let answer = saved;
  while (answer.syncStatus === AlertRule_SyncStatus.PENDING && clock.elapsed() < endMs) {
    await pause(clock, LOOK_AGAIN_MS);
    const rule = await api.call(AlertService.method.getAlertRule, { name: saved.name });
    // A newer version was saved by another user, so its state says nothing about ours.
    if (rule.version !== saved.version) break;
    const { appliedVersion, syncStatus, syncError } = rule;
    answer = create(SaveAlertRuleResponseSchema, {
      ...answer,
      appliedVersion,
      syncStatus,
      syncError,
    });
  }
  return answer;
}

function savedText(
  { name, version, appliedVersion, syncStatus, syncError }: SaveAlertRuleResponse,
  { spec, before }: { readonly spec: AlertRuleSpec; readonly before: AlertRuleSpec | undefined },
): string {
  const isApplied = syncStatus === AlertRule_SyncStatus.APPLIED;
  const isPaused = spec.enabled === false;
  const retires = isPaused && before !== undefined && before.enabled !== false;
  const isSilent = spec.destinationNames.length === 0;
  return facts([
    ['rule', fullName(spec.displayName, name)],
    ['version', String(version)],
    ['state', isPaused ? 'paused: not evaluated, no notifications' : ''],
    ['notifies', isSilent ? 'none: shown in lists only; add --destination' : ''],
    ['applied', `${enumText(AlertRule_SyncStatus, syncStatus)} (version ${appliedVersion})`],
    ['problem', syncError],
    ['note', isApplied ? '' : 'saved, but this version is not evaluated yet'],
    ['note', retires ? 'its firing incidents are retired without a recovery' : ''],
  ]);
}

export const alertsCommand = family(
  'alerts',
  'Alert rules and their state for each VM: list, preview, replay, save, delete',
  [
    listAction,
    templatesAction,
    previewAction,
    replayAction,
    saveAction,
    deleteAction,
    ...instanceActions,
  ],
);
