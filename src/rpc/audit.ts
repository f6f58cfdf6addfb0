/**
 * `AuditService`: the state machines as they are drawn, and each instance's recorded path. Of events
 * public fields alone are shown. The paths of identities are for the project's owners; credentials
 * are told nothing of people but that they are people.
 */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { Host, RecordedTransition } from '../../actors/host-port.ts';
import type { MachineDefinition } from '../../machines/definition.ts';
import { machineDefinitions } from '../../machines/registry.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/commit/commit.ts';
import { Refusal } from '../../streams/refusal.ts';
import { OWNER_POLICY, WRITE_POLICY } from '../auth/authorize.ts';
import { toMermaid } from '../drawing/mermaid.ts';
import { toSvg } from '../drawing/svg.ts';
import type { AuditService, ListTransitionsRequest } from '../gen/svc/audit/v1/audit_pb.ts';
import type { Policy } from '../gen/svc/options/v1/policy_pb.ts';
import { assertMay, callerOf, may, mayWrite, within } from './caller.ts';
import { collect, mapPage } from './paging.ts';
import { type Collection, ID, parseName, parseProjectName } from './resource-name.ts';

/** Machines of identities: their paths are for owners. */
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
/** Shown to those who may see the thing itself. */
const WRITE_MACHINES: ReadonlySet<string> = new Set(['destination']);

/** Where an instance of each machine lies among resource names. */
const MACHINE_OF: Readonly<Partial<Record<Collection, string>>> = {
  alertRules: 'alertRule',
  alertInstances: 'alertInstance',
  deliveries: 'delivery',
  destinations: 'destination',
  serviceAccounts: 'serviceAccount',
  ciVerifications: 'ciVerification',
  ciConnections: 'ciConnection',
  members: 'membership',
  invitations: 'invitation',
  vms: 'enrolment',
};
/** A key lies below its owner: `projects/p/serviceAccounts/s/keys/k`, `projects/p/members/m/keys/k`. */
const KEY_NAME = new RegExp(`^(projects/[^/]+)/(?:serviceAccounts|members)/${ID}/keys/(${ID})$`);

export function auditService({ host }: { readonly host: Host }): ServiceImpl<typeof AuditService> {
  const drawings = new Map<string, Promise<string>>();
  return {
    listMachines({ projectName }, context) {
      within(context, parseProjectName('projectName', projectName));
      return { machines: [...machineDefinitions.values()].map(summary) };
    },
    async getMachine({ projectName, machine }, context) {
      within(context, parseProjectName('projectName', projectName));
      const definition = definitionOf(machine);
      return {
        ...summary(definition),
        definitionJson: JSON.stringify(definition.machine.definition),
        mermaid: toMermaid(definition),
        svg: await drawingOf(drawings, definition),
      };
    },
    listTransitions: (request, context) => listTransitions(host, request, context),
  };
}

function summary({ name, version, description }: MachineDefinition) {
  return { machine: name, version, description };
}

/** A drawing takes tens of milliseconds and never changes while the program runs. */
function drawingOf(
  drawings: Map<string, Promise<string>>,
  definition: MachineDefinition,
): Promise<string> {
  const known = drawings.get(definition.name);
  if (known) return known;
  const drawing = toSvg(definition);
  drawings.set(definition.name, drawing);
  drawing.catch(() => drawings.delete(definition.name));
  return drawing;
}

function definitionOf(machine: string): MachineDefinition {
  const definition = machineDefinitions.get(machine);
  if (definition) return definition;
  const known = [...machineDefinitions.keys()].join(', ');
  throw new Refusal('NOT_FOUND', `There is no machine "${machine.slice(0, 100)}"; known: ${known}`);
}

/** Newest first. */
function listTransitions(host: Host, request: ListTransitionsRequest, context: HandlerContext) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const filter = instanceFilter(context, request);
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
  const tellActor =
    callerOf(context).kind === 'human' ? actorsForPeople(host) : actorForCredentials;
  const view = host.view(project);
  const page = collect('transitions', request, (options) =>
    mapPage(view.transitions({ ...options, ...filter, descending: true }), (transition) =>
      isHidden(transition.machine) ? undefined : transitionMessage(transition, tellActor),
    ),
  );
  return { transitions: page.items, nextPageToken: page.token };
}

/** What the path of a machine needs beyond `monitoring.read`. */
function policyOf(machine: string): Policy | undefined {
  if (IDENTITY_MACHINES.has(machine)) return OWNER_POLICY;
  return WRITE_MACHINES.has(machine) ? WRITE_POLICY : undefined;
}

/** The machine and instance asked for. Throws INVALID_FIELD when the two do not fit. */
function instanceFilter(
  context: HandlerContext,
  { instanceName, machine }: ListTransitionsRequest,
): { machine?: string; instance?: string } {
  if (instanceName === '') return machine === '' ? {} : { machine };
  const { project, id, machine: named } = parseInstanceName(instanceName);
  within(context, project);
  if (machine === '' || machine === named) return { machine: named, instance: id };
  const message = `instanceName is of machine ${named}, machine is ${machine}: leave one out`;
  throw new Refusal('INVALID_FIELD', message, { field: 'machine' });
}

function parseInstanceName(name: string): { project: string; id: string; machine: string } {
  const field = 'instanceName';
  const [, projectName, key] = KEY_NAME.exec(name) ?? [];
  if (projectName !== undefined && key !== undefined) {
    return { project: parseProjectName(field, projectName), id: key, machine: 'credential' };
  }
  const { collection, machine } = collectionIn(name);
  return { ...parseName(field, name, collection), machine };
}

function collectionIn(name: string): { collection: Collection; machine: string } {
  const collections = Object.keys(MACHINE_OF) as Collection[];
  const collection = collections.find((one) => name.split('/')[2] === one);
  const machine = collection && MACHINE_OF[collection];
  if (collection && machine) return { collection, machine };
  const message = `instanceName names nothing that has a path here: one of ${collections.join(', ')}`;
  throw new Refusal('INVALID_FIELD', message, { field: 'instanceName' });
}

/** Who caused a step, as the caller is told. */
interface ToldActor {
  readonly by: string;
  readonly byDisplayName: string;
}

function actorForCredentials({ kind, name }: Actor): ToldActor {
  const isPerson = kind === 'human' || kind === 'operator';
  return { by: isPerson ? kind : name, byDisplayName: '' };
}

const PERSON_NAME = /^people\/(.+)$/;

/** Names of people are looked up once an answer: a page may be the work of one of them. */
function actorsForPeople(host: Host): (actor: Actor) => ToldActor {
  const people = host.view(SYSTEM_PROJECT);
  const names = new Map<string, string>();
  return ({ name: by }) => {
    const person = PERSON_NAME.exec(by)?.[1];
    if (person === undefined) return { by, byDisplayName: '' };
    let byDisplayName = names.get(person);
    if (byDisplayName === undefined) {
      const shown = people.instance('person', person)?.context.displayName;
      byDisplayName = typeof shown === 'string' ? shown : '';
      names.set(person, byDisplayName);
    }
    return { by, byDisplayName };
  };
}

function transitionMessage(transition: RecordedTransition, tellActor: (by: Actor) => ToldActor) {
  const { sequence, atMs, by, machine, instance, event, from, to, requestId } = transition;
  return {
    sequence: BigInt(sequence),
    atUnixMs: BigInt(atMs),
    ...tellActor(by),
    machine,
    instance,
    event: String(event.type),
    eventJson: JSON.stringify(publicFields(machine, event)),
    fromJson: from === null ? '' : JSON.stringify(from),
    toJson: JSON.stringify(to),
    requestId: requestId ?? '',
  };
}

/**
 * Only what the machine declares public, in the event and in what an instance was created with: the
 * rest may name people, addresses or secrets.
 */
function publicFields(machine: string, event: Readonly<Record<string, unknown>>) {
  const shown = new Set(machineDefinitions.get(machine)?.publicFields);
  const isShown = ([field]: [string, unknown]): boolean => field === 'type' || shown.has(field);
  const fields = Object.fromEntries(Object.entries(event).filter(isShown));
  const { input } = event;
  if (typeof input !== 'object' || input === null) return fields;
  return { ...fields, input: Object.fromEntries(Object.entries(input).filter(isShown)) };
}
