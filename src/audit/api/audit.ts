/**
 * `AuditService`: the state machines as they are drawn, and each instance's recorded path. Of events
 * public fields alone are shown. The paths of identities are for the project's owners; credentials
 * learn nothing of people but that they are people.
 */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { enrolmentIdOf } from '../../../actors/identity/grants.ts';
import type { Host, ListOptions } from '../../../actors/platform/host/host-port.ts';
import { machineDefinitions } from '../../../machines/audit/registry.ts';
import type { MachineDefinition } from '../../../machines/platform/definition.ts';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import {
  type AuditService,
  type ListTransitionsRequest,
  ListTransitionsResponseSchema,
} from '../../gen/svc/audit/v1/audit_pb.ts';
import type { Policy } from '../../gen/svc/options/v1/policy_pb.ts';
import { OWNER_POLICY, WRITE_POLICY } from '../../platform/access/authorize.ts';
import { assertMay, callerOf, may, mayWrite, within } from '../../platform/api/caller.ts';
import { listAnswer } from '../../platform/api/list-answer.ts';
import { collect, mapPage } from '../../platform/api/paging.ts';
import {
  type Collection,
  ID,
  parseName,
  parseProjectName,
} from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';
import {
  actorForCredentials,
  actorsForPeople,
  transitionMessage,
} from '../../platform/api/transition-messages.ts';
import { toMermaid } from '../drawing/mermaid.ts';
import { toSvg } from '../drawing/svg.ts';

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
const WRITE_MACHINES: ReadonlySet<string> = new Set(['destination', 'recipient']);

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

/** Throws NOT_FOUND with those that there are. */
export function definitionOf(machine: string): MachineDefinition {
  const definition = machineDefinitions.get(machine);
  if (definition) return definition;
  const known = [...machineDefinitions.keys()].join(', ');
  throw new Refusal('NOT_FOUND', `There is no machine "${machine.slice(0, 100)}"; known: ${known}`);
}

/** Newest first. */
async function listTransitions(
  host: Host,
  request: ListTransitionsRequest,
  context: HandlerContext,
) {
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
  const showActor =
    callerOf(context).kind === 'human' ? actorsForPeople(host) : actorForCredentials;
  const view = host.view(project);
  const read = (options: ListOptions) =>
    mapPage(view.transitions({ ...options, ...filter, descending: true }), (transition) =>
      isHidden(transition.machine) ? undefined : transitionMessage(transition, showActor),
    );
  const page = await collect('transitions', request, read, turnsOf(context));
  return await listAnswer(context, {
    schema: ListTransitionsResponseSchema,
    field: 'transitions',
    ...page,
  });
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
  throw invalidField('machine', message);
}

/** A resource name as the machine's instance that stands behind it. Throws INVALID_FIELD. */
export function parseInstanceName(name: string): { project: string; id: string; machine: string } {
  const field = 'instanceName';
  const [, projectName, key] = KEY_NAME.exec(name) ?? [];
  if (projectName !== undefined && key !== undefined) {
    return { project: parseProjectName(field, projectName), id: key, machine: 'credential' };
  }
  const { collection, machine } = collectionIn(name);
  const { project, id } = parseName(field, name, collection);
  // Its enrolment has no resource name of its own, and an id that is made of the VM's.
  if (collection === 'vms') return { project, id: enrolmentIdOf(project, id), machine };
  return { project, id, machine };
}

function collectionIn(name: string): { collection: Collection; machine: string } {
  const collections = Object.keys(MACHINE_OF) as Collection[];
  const collection = collections.find((one) => name.split('/')[2] === one);
  const machine = collection && MACHINE_OF[collection];
  if (collection && machine) return { collection, machine };
  const message = `instanceName names nothing that has a path here: one of ${collections.join(', ')}`;
  throw invalidField('instanceName', message);
}
