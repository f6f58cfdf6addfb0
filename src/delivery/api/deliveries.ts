/**
 * The delivery methods of `AlertService`. Only callers who may change destinations see recipients
 * and the answers of endpoints.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { allMembers, alone, isGroup } from '../../../actors/delivery/delivery-group.ts';
import type { DestinationRests } from '../../../actors/delivery/destination-rests.ts';
import type {
  DeliveryFilter,
  Host,
  Instance,
  ListOptions,
  ProjectView,
} from '../../../actors/platform/host/host-port.ts';
import type { DeliveryAttempt } from '../../../machines/delivery/delivery.ts';
import type { SecretStore } from '../../../sqlite/platform/secrets/secret-store.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { invalidField } from '../../../streams/platform/refusal.ts';
import type { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  type Delivery,
  type Delivery_AttemptSchema,
  Delivery_Event,
  Delivery_MemberSchema,
  Delivery_State,
  DeliverySchema,
  type GetDeliveryRequest,
  type ListDeliveriesRequest,
  ListDeliveriesResponseSchema,
} from '../../gen/svc/monitoring/v1/delivery_pb.ts';
import {
  type LastDelivery,
  LastDeliverySchema,
} from '../../gen/svc/monitoring/v1/destination_pb.ts';
import { mayWrite, within } from '../../platform/api/caller.ts';
import { listAnswer } from '../../platform/api/list-answer.ts';
import { optionalSeconds, unixSeconds, withPresent } from '../../platform/api/message-fields.ts';
import { collect, findRow, mapPage } from '../../platform/api/paging.ts';
import {
  type Collection,
  nameOf,
  parseName,
  parseProjectName,
} from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';
import { deliverySteps } from './delivery-steps.ts';

export interface DeliveryDeps {
  readonly host: Host;
  readonly secrets: Pick<SecretStore, 'excerpts'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly rests: Pick<DestinationRests, 'untilMs'>;
}

/** The methods of this part. Callers who may only read do not get excerpts of answers. */
export function deliveryMethods(
  deps: DeliveryDeps,
): Pick<ServiceImpl<typeof AlertService>, 'listDeliveries' | 'getDelivery'> {
  return {
    listDeliveries: (request, context) => listDeliveries(deps, request, context),
    getDelivery: (request, context) => getDelivery(deps, request, context),
  };
}

function getDelivery(deps: DeliveryDeps, { name }: GetDeliveryRequest, context: HandlerContext) {
  const { host, secrets } = deps;
  const row = findRow(host, context, { machine: 'delivery', name, collection: 'deliveries' });
  const view = host.view(row.project);
  const message = deliveryMessage(
    deps,
    view,
    row,
    mayWrite(context, row.project)
      ? { recipient: recipientAddress(view, row), excerpts: secrets.excerpts.of(row.instance) }
      : {},
  );
  message.steps = deliverySteps(view, row.instance);
  message.members = isGroup(row.context) ? membersOf(view, row) : [];
  return message;
}

async function listDeliveries(
  deps: DeliveryDeps,
  request: ListDeliveriesRequest,
  context: HandlerContext,
) {
  const { host } = deps;
  const project = within(context, parseProjectName('projectName', request.projectName));
  const filter = deliveryFilter(request, context);
  const view = host.view(project);
  const isDisplayed = mayWrite(context, project);
  const read = (options: ListOptions) =>
    mapPage(view.deliveries(filter, options), (row) =>
      deliveryMessage(
        deps,
        view,
        row,
        isDisplayed ? { recipient: recipientAddress(view, row) } : {},
      ),
    );
  const page = await collect('deliveries', request, read, turnsOf(context));
  return await listAnswer(context, {
    schema: ListDeliveriesResponseSchema,
    field: 'deliveries',
    items: page.items,
    nextPageToken: page.nextPageToken,
  });
}

/** Throws INVALID_FIELD, and PROJECT_BOUNDARY for an incident or destination of another project. */
function deliveryFilter(request: ListDeliveriesRequest, context: HandlerContext): DeliveryFilter {
  const { startTimeUnix: start, endTimeUnix: end } = request;
  const incident = idIn(context, 'incidents', { incidentName: request.incidentName });
  const destination = idIn(context, 'destinations', { destinationName: request.destinationName });
  if (start < 0n) throw invalidField('startTimeUnix', `startTimeUnix is ${start}`);
  if (end < 0n || (end !== 0n && end < start)) {
    throw invalidField('endTimeUnix', `endTimeUnix ${end} is before ${start}`);
  }
  const states = chosen('states', Delivery_State, request.states);
  return {
    states: states.flatMap(statesCalled),
    events: chosen('events', Delivery_Event, request.events),
    ...(incident !== undefined && { incident }),
    ...(destination !== undefined && { destination }),
    ...(start > 0n && { sinceMs: Number(start) * 1000 }),
    // The range includes the whole second.
    ...(end > 0n && { untilMs: Number(end) * 1000 + 999 }),
  };
}

/**
 * Names of the chosen members, or of all when none is chosen. Throws INVALID_FIELD for an unknown
 * value.
 */
function chosen<E extends number>(
  field: string,
  members: Readonly<Record<string, string | E>>,
  values: readonly E[],
): string[] {
  const names = namesOf(members);
  if (values.length === 0) return names;
  return values.map((value) => {
    const name = names.find((one) => members[one] === value);
    if (name !== undefined) return name;
    throw invalidField(
      field,
      `${field} contains ${value}, which is not one of ${names.join(', ')}`,
    );
  });
}

/** The machine's states that share this name in the API. */
function statesCalled(name: string): string[] {
  return name === 'QUEUED' ? ['queued', 'gathering'] : [name.toLowerCase()];
}

/** Names of an enum's members except `UNSPECIFIED`. */
function namesOf(members: Readonly<Record<string, string | number>>): string[] {
  return Object.entries(members)
    .filter(([, value]) => typeof value === 'number' && value !== 0)
    .map(([name]) => name);
}

/** Names of all members, as filters use them. */
export const DELIVERY_STATES = namesOf(Delivery_State).flatMap(statesCalled);
export const DELIVERY_EVENTS = namesOf(Delivery_Event);

/** The part of a delivery that its destination shows. */
export function lastDeliveryMessage(row: Instance<'delivery'>): LastDelivery {
  const { attempts, createdMs } = row.context;
  const attempt = attempts.at(-1);
  const message = create(LastDeliverySchema, {
    name: nameOf(row.project, 'deliveries', row.instance),
    state: stateOf(row),
    createdUnix: unixSeconds(createdMs),
    error: attempt?.error ?? '',
  });
  return withPresent(message, { attemptedUnix: optionalSeconds(attempt?.startedMs ?? null) });
}

/** The error of a delivery's newest ended attempt; undefined if that attempt was accepted. */
export function lastErrorOf({ context }: Instance<'delivery'>) {
  const ended = context.attempts.findLast(({ endedMs }) => endedMs !== null);
  if (!ended?.error) return undefined;
  return { atMs: ended.endedMs ?? ended.startedMs, error: ended.error };
}

/** A group that still collects incidents counts as queued, because none of it is being sent. */
function deliveryState(value: unknown): Delivery_State {
  const state = value === 'gathering' ? 'QUEUED' : String(value).toUpperCase();
  return Delivery_State[state as keyof typeof Delivery_State];
}

function stateOf({ value }: Instance<'delivery'>): Delivery_State {
  return deliveryState(value);
}

/**
 * Id in a name given as `{field: name}`, in a project that the caller may read; undefined for ''.
 */
function idIn(
  context: HandlerContext,
  collection: Collection,
  given: Readonly<Record<string, string>>,
): string | undefined {
  const [[field, name] = ['', '']] = Object.entries(given);
  if (name === '') return undefined;
  const named = parseName(field, name, collection);
  within(context, named.project);
  return named.id;
}

/** Shown only to callers who may change destinations. */
interface Confidential {
  /** Address of the mail recipient. */
  readonly recipient?: string;
  /** Excerpts of answers, by attempt id. */
  readonly excerpts?: ReadonlyMap<string, string>;
}

function deliveryMessage(
  deps: Pick<DeliveryDeps, 'clock' | 'rests'>,
  view: Pick<ProjectView, 'instance' | 'record'>,
  row: Instance<'delivery'>,
  confidential: Confidential = {},
): Delivery {
  const { project, instance } = row;
  const members = isGroup(row.context) ? allMembers(view, instance, row.context) : [];
  const [first, second] = members;
  const context = first ? alone(row.context, first) : row.context;
  const incident = context.incident && view.record('incident', context.incident)?.body;
  const message = create(DeliverySchema, {
    name: nameOf(project, 'deliveries', instance),
    incidentName: context.incident && nameOf(project, 'incidents', context.incident),
    destinationName: nameOf(project, 'destinations', context.destination),
    destinationDisplayName:
      view.instance('destination', context.destination)?.context.displayName ?? '',
    event: Delivery_Event[context.event],
    state: stateOf(row),
    reason: context.reason ?? '',
    incidentCount: context.incident === '' ? 0 : Math.max(1, members.length),
    attempts: context.attempts.map((attempt) => attemptMessage(attempt, confidential)),
    createdUnix: unixSeconds(context.createdMs),
    recipient: confidential.recipient ?? '',
    ...(incident && {
      ruleDisplayName: incident.ruleDisplayName,
      vmName: second ? '' : incident.vm && nameOf(project, 'vms', incident.vm),
      vmDisplayName: second ? '' : (incident.vmDisplayName ?? ''),
    }),
  });
  return withPresent(message, { nextAttemptUnix: optionalSeconds(nextAttemptMs(deps, row)) });
}

/** A due delivery waits while its destination rests. */
function nextAttemptMs(
  { clock, rests }: Pick<DeliveryDeps, 'clock' | 'rests'>,
  { value, context }: Instance<'delivery'>,
): number | null {
  const isDue = value === 'queued' || value === 'rechecking';
  return isDue ? rests.untilMs(context.destination, clock.now()) : context.nextAttemptMs;
}

function membersOf(view: ProjectView, { project, instance, context }: Instance<'delivery'>) {
  return allMembers(view, instance, context).map(({ incident, dropped = '' }) => {
    const { vm = '', vmDisplayName = '' } = view.record('incident', incident)?.body ?? {};
    return create(Delivery_MemberSchema, {
      incidentName: nameOf(project, 'incidents', incident),
      vmName: vm === '' ? '' : nameOf(project, 'vms', vm),
      vmDisplayName,
      droppedReason: dropped,
    });
  });
}

/** Address of the delivery's mail recipient; '' if the destination has no recipients. */
function recipientAddress(view: ProjectView, { context }: Instance<'delivery'>): string {
  const { recipient } = context;
  const row = recipient === null ? undefined : view.instance('recipient', recipient);
  return row ? row.context.address : '';
}

function attemptMessage(
  attempt: DeliveryAttempt,
  { excerpts }: Confidential,
): MessageInitShape<typeof Delivery_AttemptSchema> {
  const { attemptId, startedMs, endedMs, outcome, httpStatus, error } = attempt;
  return {
    attemptId,
    startedUnix: unixSeconds(startedMs),
    outcome: outcome ?? '',
    error: error ?? '',
    answerExcerpt: excerpts?.get(attemptId) ?? '',
    ...(endedMs === null ? {} : { durationMs: BigInt(endedMs - startedMs) }),
    ...(httpStatus === null ? {} : { httpStatus }),
  };
}
