/**
 * `AuditService`: the state machines as they are drawn, and each instance's recorded path. What a
 * credential may see is public fields of events alone, and nothing of the machines of identities.
 */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { Host, RecordedTransition } from '../../actors/host-port.ts';
import type { MachineDefinition } from '../../machines/definition.ts';
import { machineDefinitions } from '../../machines/registry.ts';
import { Refusal } from '../../streams/refusal.ts';
import { toMermaid } from '../drawing/mermaid.ts';
import { toSvg } from '../drawing/svg.ts';
import type { AuditService, ListTransitionsRequest } from '../gen/svc/audit/v1/audit_pb.ts';
import { mayWrite, within } from './caller.ts';
import { collect, mapPage } from './paging.ts';
import { type Collection, parseName, parseProjectName } from './resource-name.ts';

/** Machines of identities: their paths are for people. */
const IDENTITY_MACHINES: ReadonlySet<string> = new Set(['credential']);
/** Shown to credentials that may see the thing itself. */
const WRITE_MACHINES: ReadonlySet<string> = new Set(['destination']);
const WRITE = 'monitoring.write';

/** Where an instance of each machine lies among resource names. */
const MACHINE_OF: Readonly<Partial<Record<Collection, string>>> = {
  alertRules: 'alertRule',
  alertInstances: 'alertInstance',
  deliveries: 'delivery',
  destinations: 'destination',
};

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
  const filter = { ...machineFilter(request), ...instanceFilter(context, request) };
  const isWriter = mayWrite(context, project);
  if (WRITE_MACHINES.has(filter.machine ?? '') && !isWriter) {
    const message = `The path of a ${filter.machine} needs ${WRITE}`;
    throw new Refusal('MISSING_CAPABILITY', message, { capability: WRITE });
  }
  const isHidden = (machine: string): boolean =>
    IDENTITY_MACHINES.has(machine) || (WRITE_MACHINES.has(machine) && !isWriter);
  const view = host.view(project);
  const page = collect('transitions', request, (options) =>
    mapPage(view.transitions({ ...options, ...filter, descending: true }), (transition) =>
      isHidden(transition.machine) ? undefined : transitionMessage(transition),
    ),
  );
  return { transitions: page.items, nextPageToken: page.token };
}

function machineFilter({ machine }: ListTransitionsRequest): { machine?: string } {
  if (machine === '') return {};
  definitionOf(machine);
  if (!IDENTITY_MACHINES.has(machine)) return { machine };
  throw new Refusal('HUMAN_OPERATION', `The path of a ${machine} is shown to people alone`);
}

function instanceFilter(
  context: HandlerContext,
  { instanceName, machine }: ListTransitionsRequest,
): { machine?: string; instance?: string } {
  if (instanceName === '') return {};
  const collection = collectionIn(instanceName);
  const { project, id } = parseName('instanceName', instanceName, collection);
  within(context, project);
  const named = MACHINE_OF[collection];
  if (machine === '' || machine === named)
    return { ...(named && { machine: named }), instance: id };
  const message = `instanceName is of machine ${named}, machine is ${machine}: leave one out`;
  throw new Refusal('INVALID_FIELD', message, { field: 'machine' });
}

function collectionIn(name: string): Collection {
  const collections = Object.keys(MACHINE_OF) as Collection[];
  const found = collections.find((collection) => name.split('/')[2] === collection);
  if (found) return found;
  const message = `instanceName names nothing that has a path here: one of ${collections.join(', ')}`;
  throw new Refusal('INVALID_FIELD', message, { field: 'instanceName' });
}

function transitionMessage(transition: RecordedTransition) {
  const { sequence, atMs, by, machine, instance, event, from, to } = transition;
  return {
    sequence: BigInt(sequence),
    atUnixMs: BigInt(atMs),
    by: by.name,
    machine,
    instance,
    event: String(event.type),
    eventJson: JSON.stringify(publicFields(machine, event)),
    fromJson: from === null ? '' : JSON.stringify(from),
    toJson: JSON.stringify(to),
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
