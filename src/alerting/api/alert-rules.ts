/** The rule methods of `AlertService`: save, get, list and delete rules, and list templates. */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { Alerting } from '../../../actors/alerting/alerting.ts';
import type { EvaluatorView } from '../../../actors/alerting/evaluator/evaluator-port.ts';
import { validateRuleSpec } from '../../../actors/alerting/rule-spec.ts';
import { RULE_TEMPLATES } from '../../../actors/alerting/rule-templates.ts';
import type { Host, Instance } from '../../../actors/platform/host/host-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { invalidField } from '../../../streams/platform/refusal.ts';
import {
  type AlertService,
  type DeleteAlertRuleRequest,
  DeleteAlertRuleRequestSchema,
  type SaveAlertRuleRequest,
  SaveAlertRuleRequestSchema,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import type { AlertRuleSpec } from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { actorOf, checkUuid, requestKeyOf, within } from '../../platform/api/caller.ts';
import { findRow, listRows } from '../../platform/api/paging.ts';
import { parseName, parseProjectName } from '../../platform/api/resource-name.ts';
import { requestedSpec, ruleMessage, specMessage } from './rule-messages.ts';

export interface AlertRulesDeps {
  readonly host: Host;
  readonly alerting: Alerting;
  readonly evaluator: EvaluatorView;
  readonly clock: Clock;
}

type RuleMethods = 'saveAlertRule' | 'getAlertRule' | 'listAlertRules' | 'deleteAlertRule';

/** Maximum wait of a save for its rule to be applied, ms (API-02). */
const APPLY_WAIT_MS = 500;

/**
 * The methods of this part. A change resolves once it is committed; `syncState` tells when the
 * evaluator has applied it.
 */
export function alertRuleMethods(
  deps: AlertRulesDeps,
): Pick<ServiceImpl<typeof AlertService>, RuleMethods> {
  const { host, evaluator } = deps;
  const messageOf = (row: Instance<'alertRule'>) =>
    ruleMessage(row, evaluator.quota(row.project).unevaluated.get(row.instance) ?? 0);
  return {
    saveAlertRule: (request, context) => saveAlertRule(deps, request, context),
    getAlertRule: ({ name }, context) =>
      messageOf(findRow(host, context, { machine: 'alertRule', name, collection: 'alertRules' })),
    async listAlertRules(request, context) {
      const page = await listRows(host, context, 'alertRule', request);
      return { rules: page.items.map(messageOf), nextPageToken: page.nextPageToken };
    },
    deleteAlertRule: (request, context) => deleteAlertRule(deps, request, context),
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
    throw invalidField('requestId', 'requestId equals id. Generate another UUID for the request');
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
  // The version that this request made, even if it is sent again after later edits.
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
  throw invalidField('expectedVersion', `expectedVersion is ${seen}: ${wanted}`);
}

function specOf({ spec }: SaveAlertRuleRequest): AlertRuleSpec {
  if (spec) return spec;
  throw invalidField('spec', 'spec is missing: send the rule to save');
}

/**
 * The rule's row once the version is applied or has failed, or its current state after the wait.
 */
async function appliedRule(
  host: Host,
  clock: Clock,
  { project, id, version }: { project: string; id: string; version: number },
): Promise<Instance<'alertRule'>> {
  const read = (): Instance<'alertRule'> => {
    const found = host.view(project).instance('alertRule', id);
    if (!found) throw new Error(`The rule ${id} was committed but has no row`);
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

/** The templates, the same for every project. */
export function alertTemplateMethods(): Pick<
  ServiceImpl<typeof AlertService>,
  'listAlertRuleTemplates'
> {
  return {
    listAlertRuleTemplates(request, context) {
      within(context, parseProjectName('projectName', request.projectName));
      return {
        templates: RULE_TEMPLATES.map(({ id, description, spec }) => ({
          templateId: id,
          description,
          spec: specMessage(spec),
        })),
      };
    },
  };
}
