/**
 * `AuditService`: the state machines as drawings, and each instance's recorded path. Only public
 * fields of events are returned. The paths of identities are for the project's owners; credentials
 * learn nothing about people except that they are people.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { parseOwner } from '../../../actors/identity/grants.ts';
import type {
  Host,
  ListOptions,
  ProjectView,
  TransitionFilter,
} from '../../../actors/platform/host/host-port.ts';
import { machineDefinitions } from '../../../machines/audit/registry.ts';
import type { MachineDefinition } from '../../../machines/platform/definition.ts';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import {
  type AuditService,
  type ListTransitionsRequest,
  ListTransitionsResponseSchema,
  type MachineLayoutSchema,
  MachineLayout_State_Kind as StateKind,
} from '../../gen/svc/audit/v1/audit_pb.ts';
import type { Policy } from '../../gen/svc/options/v1/policy_pb.ts';
import { OWNER_POLICY, WRITE_POLICY } from '../../platform/access/authorize.ts';
import { assertMay, callerOf, may, mayWrite, within } from '../../platform/api/caller.ts';
import { listAnswer } from '../../platform/api/list-answer.ts';
import { collect, mapPage } from '../../platform/api/paging.ts';
import { parseProjectName } from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';
import {
  actorForCredentials,
  actorsForPeople,
  transitionMessage,
} from '../../platform/api/transition-messages.ts';
import { chartOf } from '../drawing/chart.ts';
import { toMermaid } from '../drawing/mermaid.ts';
import type { Layout } from '../drawing/picture.ts';
import { layoutOf, svgOf } from '../drawing/svg.ts';
import { actionFilter, actionSentence, instanceDisplayName } from './act-sentences.ts';
import { instanceNameOf, parseInstanceName } from './instance-names.ts';

/** Machines of identities, whose paths are for owners. */
const IDENTITY_MACHINES: ReadonlySet<string> = new Set([
  'serviceAccount',
  'credential',
  'ciVerification',
  'ciConnection',
  'membership',
  'invitation',
  'enrolment',
  'person',
  'session',
  'signInLink',
]);
/** Visible to those who may see the thing itself. */
const WRITE_MACHINES: ReadonlySet<string> = new Set(['destination', 'recipient']);

/** The service. Layouts are computed once per machine and cached. */
export function auditService({ host }: { readonly host: Host }): ServiceImpl<typeof AuditService> {
  const layouts = new Map<string, Promise<Layout>>();
  return {
    listMachines({ projectName }, context) {
      within(context, parseProjectName('projectName', projectName));
      return { machines: [...machineDefinitions.values()].map(summary) };
    },
    async getMachine({ projectName, machine }, context) {
      within(context, parseProjectName('projectName', projectName));
      const definition = definitionOf(machine);
      const layout = await knownLayout(layouts, definition);
      return {
        ...summary(definition),
        definitionJson: JSON.stringify(definition.machine.definition),
        mermaid: toMermaid(definition),
        svg: svgOf(definition, layout),
        layout: layoutMessage(layout),
      };
    },
    listTransitions: (request, context) => listTransitions(host, request, context),
  };
}

/** The layout with the kinds of the message's enumeration. */
export function layoutMessage(layout: Layout): MessageInitShape<typeof MachineLayoutSchema> {
  const states = layout.states.map((state) => ({ ...state, kind: StateKind[state.kind] }));
  return { ...layout, states } as MessageInitShape<typeof MachineLayoutSchema>;
}

function summary({ name, version, description }: MachineDefinition) {
  return { machine: name, version, description };
}

/** A layout takes tens of milliseconds and never changes while the program runs. */
function knownLayout(
  layouts: Map<string, Promise<Layout>>,
  definition: MachineDefinition,
): Promise<Layout> {
  const known = layouts.get(definition.name);
  if (known) return known;
  const layout = layoutOf(chartOf(definition));
  layouts.set(definition.name, layout);
  layout.catch(() => layouts.delete(definition.name));
  return layout;
}

/** Throws NOT_FOUND with the known machines. */
export function definitionOf(machine: string): MachineDefinition {
  const definition = machineDefinitions.get(machine);
  if (definition) return definition;
  const known = [...machineDefinitions.keys()].join(', ');
  throw new Refusal('NOT_FOUND', `There is no machine "${machine.slice(0, 100)}"; known: ${known}`);
}

/** Newest first, unless requested otherwise. */
async function listTransitions(
  host: Host,
  request: ListTransitionsRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const { oldestFirst, actsOnly } = request;
  const filter = {
    ...instanceFilter(context, request),
    ...stepFilter(request),
    ...(actsOnly && { actions: actionFilter }),
  };
  const { machine } = filter;
  if (machine !== undefined) {
    definitionOf(machine);
    const declared = policyOf(machine);
    if (declared) assertMay(context, declared, { name: `The path of a ${machine}`, project });
  }
  const isOwner = may(context, OWNER_POLICY, project);
  const isWriter = mayWrite(context, project);
  const isHidden = (one: string): boolean =>
    (IDENTITY_MACHINES.has(one) && !isOwner) || (WRITE_MACHINES.has(one) && !isWriter);
  const isPerson = callerOf(context).kind === 'human';
  const showActor = isPerson ? actorsForPeople(host) : actorForCredentials;
  const view = host.view(project);
  const by = isPerson ? actorCalled(view, request.by) : request.by;
  // Names that the caller may not see are not looked up, so that even their existence stays hidden.
  const actor = by === '' || (!isPerson && HIDDEN_ACTOR.test(by)) ? {} : { actor: by };
  const read = (options: ListOptions) =>
    mapPage(
      view.transitions({ ...options, ...filter, ...actor, descending: !oldestFirst }),
      (transition) => {
        if (isHidden(transition.machine)) return undefined;
        if (by !== '' && showActor(transition.by).by !== by) return undefined;
        const sentence = actionSentence(view, transition);
        if (actsOnly && sentence === '') return undefined;
        return transitionMessage(transition, showActor, {
          instanceName: instanceNameOf(view, transition.machine, transition.instance),
          instanceDisplayName: instanceDisplayName(view, transition),
          sentence,
        });
      },
    );
  const kind = oldestFirst ? 'transitions, oldest first' : 'transitions';
  const page = await collect(kind, request, read, turnsOf(context));
  return await listAnswer(context, {
    schema: ListTransitionsResponseSchema,
    field: 'transitions',
    items: page.items,
    nextPageToken: page.nextPageToken,
  });
}

/** Names of people and operators. Credentials see only the kind, by which they may filter. */
const HIDDEN_ACTOR = /^(people|operator)(\/|$)|^human$/;

/** A member acts as their person; any other name stays as it is. */
function actorCalled(view: ProjectView, name: string): string {
  const owner = parseOwner(name);
  if (owner?.machine !== 'membership' || owner.project !== view.project) return name;
  const person = view.instance('membership', owner.id)?.context.person;
  return person === undefined ? name : `people/${person}`;
}

const EVENTS_MAX = 20;
const TEXT_MAX = 200;

/** The filter of times, events and request. Throws INVALID_FIELD. */
function stepFilter(request: ListTransitionsRequest): TransitionFilter {
  const { startTimeUnixMs: start, endTimeUnixMs: end, events, requestId } = request;
  if (start < 0n) throw invalidField('startTimeUnixMs', `startTimeUnixMs is ${start}`);
  if (end !== 0n && end < start) {
    throw invalidField('endTimeUnixMs', `endTimeUnixMs ${end} is before startTimeUnixMs ${start}`);
  }
  if (events.length > EVENTS_MAX) {
    throw invalidField(
      'events',
      `events has ${events.length} names; at most ${EVENTS_MAX} are allowed`,
    );
  }
  for (const [field, text] of [
    ['requestId', requestId],
    ['by', request.by],
  ] as const) {
    if (text.length <= TEXT_MAX) continue;
    throw invalidField(
      field,
      `${field} has ${text.length} characters; at most ${TEXT_MAX} are allowed`,
    );
  }
  return {
    ...(start > 0n && { sinceMs: Number(start) }),
    ...(end > 0n && { untilMs: Math.min(Number(end), Number.MAX_SAFE_INTEGER - 1) }),
    ...(events.length > 0 && { events }),
    ...(requestId !== '' && { request: requestId }),
  };
}

/** The requirements for the path of a machine beyond `monitoring.read`. */
function policyOf(machine: string): Policy | undefined {
  if (IDENTITY_MACHINES.has(machine)) return OWNER_POLICY;
  return WRITE_MACHINES.has(machine) ? WRITE_POLICY : undefined;
}

/** The requested machine and instance. Throws INVALID_FIELD if the two do not match. */
function instanceFilter(
  context: HandlerContext,
  { instanceName, machine }: ListTransitionsRequest,
): { machine?: string; instance?: string } {
  if (instanceName === '') return machine === '' ? {} : { machine };
  const { project, id, machine: named } = parseInstanceName(instanceName);
  within(context, project);
  if (machine === '' || machine === named) return { machine: named, instance: id };
  const message = `instanceName belongs to the machine ${named}, but machine is ${machine}. Remove one`;
  throw invalidField('machine', message);
}
