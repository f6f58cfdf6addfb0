/** The rules part of `AlertService`: save, get, list, delete, and how each stands for each VM. */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type {
  EvaluatorView,
  InstancePosition,
} from '../../../actors/alerting/evaluator/evaluator-port.ts';
import type { Alerting } from '../../../actors/alerting/port.ts';
import { validateRuleSpec } from '../../../actors/alerting/rule-spec.ts';
import type { Host, Instance } from '../../../actors/platform/host/host-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import {
  type AlertService,
  type DeleteAlertRuleRequest,
  DeleteAlertRuleRequestSchema,
  type ListAlertInstancesRequest,
  type SaveAlertRuleRequest,
  SaveAlertRuleRequestSchema,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import type { AlertRuleSpec } from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { actorOf, checkUuid, requestKeyOf, within } from '../../platform/api/caller.ts';
import { findRow, listRows } from '../../platform/api/instance-rows.ts';
import { decodeJson, foreignToken, listOptions, pageToken } from '../../platform/api/paging.ts';
import { parseName, parseProjectName } from '../../platform/api/resource-name.ts';
import { instanceMessage, requestedSpec, ruleMessage } from './rule-messages.ts';

export interface AlertRulesDeps {
  readonly host: Host;
  readonly alerting: Alerting;
  readonly evaluator: EvaluatorView;
  readonly clock: Clock;
}

type RuleMethods =
  | 'saveAlertRule'
  | 'getAlertRule'
  | 'listAlertRules'
  | 'deleteAlertRule'
  | 'listAlertInstances';

/** How long a save waits for its rule to be applied, ms (API-02). */
const APPLY_WAIT_MS = 500;

export function alertRuleMethods(
  deps: AlertRulesDeps,
): Pick<ServiceImpl<typeof AlertService>, RuleMethods> {
  const { host, evaluator } = deps;
  const told = (row: Instance<'alertRule'>) =>
    ruleMessage(row, evaluator.quota(row.project).unevaluated.get(row.instance) ?? 0);
  return {
    saveAlertRule: (request, context) => saveAlertRule(deps, request, context),
    getAlertRule: ({ name }, context) =>
      told(findRow(host, context, { machine: 'alertRule', name, collection: 'alertRules' })),
    async listAlertRules(request, context) {
      const page = await listRows(host, context, 'alertRule', request);
      return { rules: page.items.map(told), nextPageToken: page.token };
    },
    deleteAlertRule: (request, context) => deleteAlertRule(deps, request, context),
    listAlertInstances: (request, context) => listAlertInstances(deps, request, context),
  };
}

async function saveAlertRule(
  { host, alerting, clock }: AlertRulesDeps,
  request: SaveAlertRuleRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  checkUuid('id', request.id);
  if (request.id === request.requestId) {
    throw invalid('requestId', 'requestId equals id: make a UUID of its own for the request');
  }
  checkExpectedVersion(request.expectedVersion, '"0" to create, else the version read');
  const { answer } = await alerting.saveRule({
    project,
    by: actorOf(context),
    request: requestKeyOf(context, SaveAlertRuleRequestSchema, request),
    id: request.id,
    expectedVersion: request.expectedVersion,
    spec: validateRuleSpec(requestedSpec(specOf(request))),
  });
  const version = Number(answer.version);
  const rule = await appliedRule(host, clock, { project, id: request.id, version });
  const { name, appliedVersion, syncStatus, syncError } = ruleMessage(rule, 0);
  // The version that this request made, also when it is sent again after later edits.
  return { name, version: BigInt(version), appliedVersion, syncStatus, syncError };
}

async function deleteAlertRule(
  { alerting }: AlertRulesDeps,
  request: DeleteAlertRuleRequest,
  context: HandlerContext,
) {
  const { project, id } = parseName('name', request.name, 'alertRules');
  within(context, project);
  checkExpectedVersion(request.expectedVersion, 'the version read');
  await alerting.deleteRule({
    project,
    by: actorOf(context),
    request: requestKeyOf(context, DeleteAlertRuleRequestSchema, request),
    id,
    expectedVersion: request.expectedVersion,
  });
  return {};
}

function checkExpectedVersion(version: string, wanted: string): void {
  if (/^\d{1,15}$/.test(version)) return;
  const seen = version === '' ? 'missing' : `"${version.slice(0, 100)}"`;
  throw invalid('expectedVersion', `expectedVersion is ${seen}: ${wanted}`);
}

function specOf({ spec }: SaveAlertRuleRequest): AlertRuleSpec {
  if (spec) return spec;
  throw invalid('spec', 'spec is missing: say what to watch');
}

/** The rule's row once the version is applied or has failed, or as it is after the wait. */
async function appliedRule(
  host: Host,
  clock: Clock,
  { project, id, version }: { project: string; id: string; version: number },
): Promise<Instance<'alertRule'>> {
  const read = (): Instance<'alertRule'> => {
    const found = host.view(project).instance('alertRule', id);
    if (!found) throw new Error(`The rule ${id} was committed and is not there`);
    return found;
  };
  const isSettled = ({ value, context }: Instance<'alertRule'>): boolean =>
    value !== 'pendingApplication' || context.appliedVersion >= version;
  if (isSettled(read())) return read();
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.wakeAfter(APPLY_WAIT_MS, resolve);
  const undo = host.onApplied(({ commit }) => {
    if (commit.project === project && isSettled(read())) resolve();
  });
  await promise;
  cancel();
  undo();
  return read();
}

/** In the order of VM, rule and labels: the token is the last one's, so that others may go. */
function listAlertInstances(
  { evaluator }: AlertRulesDeps,
  request: ListAlertInstancesRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const rule = ruleIdOf(request, context);
  const { limit, after } = listOptions('alertInstances', request);
  // One more than asked for: is there a next page?
  const found = evaluator.instances(project, {
    ...(rule !== undefined && { rule }),
    ...(after !== undefined && { after: positionOf(after) }),
    limit: limit + 1,
  });
  const last = found.length > limit ? found[limit - 1] : undefined;
  return {
    instances: found.slice(0, limit).map(instanceMessage),
    nextPageToken: pageToken('alertInstances', last && positionText(last)),
  };
}

function ruleIdOf(request: ListAlertInstancesRequest, context: HandlerContext): string | undefined {
  if (request.ruleName === '') return undefined;
  const { project, id } = parseName('ruleName', request.ruleName, 'alertRules');
  within(context, project);
  return id;
}

function positionText({ vm, rule, labels, evaluationRevision }: InstancePosition): string {
  return JSON.stringify([vm, rule, labels, evaluationRevision]);
}

/** Throws INVALID_FIELD for a token that `positionText` did not make. */
function positionOf(text: string): InstancePosition {
  const parts = decodeJson(text);
  const [vm, rule, labels, evaluationRevision] = Array.isArray(parts) ? parts : [];
  const isOurs = [vm, rule, labels].every((part) => typeof part === 'string');
  if (!isOurs || typeof evaluationRevision !== 'number') throw foreignToken();
  return { vm, rule, labels, evaluationRevision };
}

function invalid(field: string, message: string): Refusal {
  return new Refusal('INVALID_FIELD', message, { field });
}
