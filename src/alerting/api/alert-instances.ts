/**
 * The alert instances part of `AlertService`: the state of each rule for each VM, by the instance's
 * machine. Instances that have fired have a row with a recorded path. For the others, the machine
 * is run over the events that the evaluator keeps. For a stretch of history, it is run over stored
 * samples.
 */
import { create } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type {
  EvaluatorView,
  InstancePage,
  InstancePosition,
  SoftInstance,
} from '../../../actors/alerting/evaluator/evaluator-port.ts';
import type { Host, ProjectView } from '../../../actors/platform/host/host-port.ts';
import { instanceIdOf } from '../../../streams/alerting/evaluation/notification-diff.ts';
import { type PageReader, pageOf, parsePageToken } from '../../../streams/platform/commit/page.ts';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import { seriesKey } from '../../../streams/telemetry/samples/batch.ts';
import {
  type AlertService,
  type ExplainAlertInstanceRequest,
  type GetAlertInstanceRequest,
  type ListAlertInstancesRequest,
  ListAlertInstancesResponseSchema,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  type AlertInstance,
  AlertInstance_StepSchema,
  AlertInstance_DataState as DataState,
  AlertInstance_State as State,
} from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { within } from '../../platform/api/caller.ts';
import { listAnswer } from '../../platform/api/list-answer.ts';
import { enumName } from '../../platform/api/message-fields.ts';
import { collect, findRow, mapPage } from '../../platform/api/paging.ts';
import {
  type Collection,
  nameOf,
  parseName,
  parseProjectName,
} from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';
import { type ExplainInstanceDeps, explainInstance } from './alert-instance-explain.ts';
import {
  endedMessage,
  type InstanceRow,
  instanceMessage,
  pathMessage,
  type StepMessage,
} from './alert-instance-messages.ts';

export type AlertInstanceDeps = ExplainInstanceDeps & {
  readonly host: Host;
  readonly evaluator: EvaluatorView;
};

type InstanceMethods = 'listAlertInstances' | 'getAlertInstance' | 'explainAlertInstance';

/**
 * The methods of this part. Those on stored history run in the query threads and end after 10 s
 * (LIMIT-03).
 */
export function alertInstanceMethods(
  deps: AlertInstanceDeps,
): Pick<ServiceImpl<typeof AlertService>, InstanceMethods> {
  return {
    listAlertInstances: (request, context) => listAlertInstances(deps, request, context),
    getAlertInstance: (request, context) => getAlertInstance(deps, request, context),
    explainAlertInstance: (request, context) => explainAlertInstance(deps, request, context),
  };
}

/**
 * Sorted by VM, rule and labels. The token is the position of the last one, so that others may be
 * removed.
 */
async function listAlertInstances(
  { host, evaluator }: AlertInstanceDeps,
  request: ListAlertInstancesRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const filter = instanceFilter(request, context);
  const { states = STATES } = filter;
  const view = host.view(project);
  const read: PageReader<AlertInstance | undefined> = ({ limit, after }) => {
    // One more than requested, to know whether there is a next page.
    const found = evaluator.instances(project, {
      ...filter,
      ...(after !== undefined && { after: positionOf(after) }),
      limit: limit + 1,
    });
    const page = pageOf(found, limit, (one) => [
      one.vm,
      one.rule,
      one.labels,
      one.evaluationRevision,
    ]);
    return mapPage(page, (soft) => {
      const message = instanceMessage(view, soft, rowOf(view, soft));
      // The row decides for a firing instance, because it may be ahead of the evaluator.
      return states.some((name) => State[name] === message.state) ? message : undefined;
    });
  };
  const page = await collect('alertInstances', request, read, turnsOf(context));
  return await listAnswer(context, {
    schema: ListAlertInstancesResponseSchema,
    field: 'instances',
    ...page,
  });
}

const STATES = ['IDLE', 'SUSTAINING', 'FIRING'] as const;
const DATA_STATES = ['OBSERVED', 'MISSING'] as const;

/** Throws INVALID_FIELD, and PROJECT_BOUNDARY for a rule or VM of another project. */
function instanceFilter(
  { ruleName, vmName, states, dataState }: ListAlertInstancesRequest,
  context: HandlerContext,
): Omit<InstancePage, 'limit'> {
  const names = states.map((state) => {
    const name = STATES.find((one) => State[one] === state);
    if (name) return name;
    throw invalidField(
      'states',
      `states contains ${enumName(State, state)}, which is not one of ${STATES.join(', ')}`,
    );
  });
  const data = DATA_STATES.find((one) => DataState[one] === dataState);
  if (data === undefined && dataState !== DataState.DATA_STATE_UNSPECIFIED) {
    throw invalidField('dataState', `dataState has the unknown value ${dataState}`);
  }
  return {
    ...(ruleName !== '' && { rule: idOf(context, 'ruleName', ruleName, 'alertRules') }),
    ...(vmName !== '' && { vm: idOf(context, 'vmName', vmName, 'vms') }),
    ...(names.length > 0 && { states: names }),
    ...(data && { dataState: data }),
  };
}

/** Throws INVALID_FIELD for a token that this list did not issue. */
function positionOf(token: string): InstancePosition {
  const key = parsePageToken(token, ['string', 'string', 'string', 'number']);
  const [vm, rule, labels] = key.map(String) as [string, string, string];
  return { vm, rule, labels, evaluationRevision: Number(key[3]) };
}

function getAlertInstance(
  { host, evaluator }: AlertInstanceDeps,
  request: GetAlertInstanceRequest,
  context: HandlerContext,
): AlertInstance {
  const named = namedInstance(host, request, context);
  const view = host.view(named.project);
  const inspected = evaluator.instance(named);
  const row = named.row ?? (inspected && rowOf(view, inspected.instance));
  // After an edit of the rule, the evaluator has another instance.
  const isEvaluated = inspected && (!row || instanceIdOf(inspected.instance) === row.instance);
  if (isEvaluated) {
    const message = instanceMessage(view, inspected.instance, row);
    return withPath(message, pathMessage(view, row, inspected.events));
  }
  if (row) return withPath(endedMessage(view, row), pathMessage(view, row, []));
  const rule = nameOf(named.project, 'alertRules', named.rule);
  throw new Refusal(
    'NOT_FOUND',
    `${rule} has no such instance: it is not evaluated now, or never had a sample of that VM and labels`,
  );
}

function withPath(message: AlertInstance, steps: StepMessage[]): AlertInstance {
  message.path = steps.map((step) => create(AlertInstance_StepSchema, step));
  return message;
}

async function explainAlertInstance(
  deps: AlertInstanceDeps,
  request: ExplainAlertInstanceRequest,
  context: HandlerContext,
) {
  const named = namedInstance(deps.host, request, context);
  const answer = await explainInstance(deps, named, request, context.signal);
  // Checked again, because access may have ended while the history was read.
  within(context, named.project);
  return answer;
}

interface NamedInstance {
  readonly project: string;
  readonly rule: string;
  readonly vm: string;
  /** Canonical label part; '' for the VM itself. */
  readonly labels: string;
  /** Present if it was requested by its own name. */
  readonly row?: InstanceRow;
}

/** Throws a `Refusal`: INVALID_FIELD, PROJECT_BOUNDARY, NOT_FOUND (of the name, the rule or the VM). */
function namedInstance(
  host: Host,
  request: Pick<GetAlertInstanceRequest, 'name' | 'ruleName' | 'vmName' | 'labels'>,
  context: HandlerContext,
): NamedInstance {
  const { name, ruleName, vmName } = request;
  if (name !== '') {
    if (ruleName !== '' || vmName !== '') {
      throw invalidField('name', 'name cannot be combined with ruleName or vmName. Remove one');
    }
    const of = { machine: 'alertInstance', name, collection: 'alertInstances' } as const;
    const row = findRow(host, context, of);
    const { rule, vm, labels } = row.context;
    return { project: row.project, rule, vm, labels, row };
  }
  const rule = findRow(host, context, {
    machine: 'alertRule',
    name: ruleName,
    field: 'ruleName',
    collection: 'alertRules',
  });
  const { project, id: vm } = parseName('vmName', vmName, 'vms');
  within(context, project);
  if (project !== rule.project) {
    throw invalidField(
      'vmName',
      `vmName is in project ${project}, but ruleName is in ${rule.project}`,
    );
  }
  if (!host.view(project).record('vm', vm)) throw new Refusal('NOT_FOUND', `There is no ${vmName}`);
  return { project, rule: rule.instance, vm, labels: seriesKey('', request.labels) };
}

function idOf(
  context: HandlerContext,
  field: string,
  name: string,
  collection: Collection,
): string {
  const { project, id } = parseName(field, name, collection);
  within(context, project);
  return id;
}

/** The row of an instance that has fired. */
function rowOf(view: ProjectView, soft: SoftInstance): InstanceRow | undefined {
  return view.instance('alertInstance', instanceIdOf(soft));
}
