/**
 * Every machine of the service, by name: what the host runs, audit shows, drawings render and the
 * model tests walk. A changed machine raises its version here and brings an up-caster.
 */
import type { AnyStateMachine } from 'xstate';
import { alertInstanceMachine } from './alert-instance.ts';
import { alertRuleMachine } from './alert-rule.ts';
import { credentialMachine } from './credential.ts';
import { datacenterMachine } from './datacenter.ts';
import type { MachineDefinition } from './definition.ts';
import { deliveryMachine } from './delivery.ts';
import { destinationMachine } from './destination.ts';

const definitions: readonly MachineDefinition[] = [
  define(alertRuleMachine, 1, [
    'at',
    'rule',
    'version',
    'appliedVersion',
    'evaluationRevision',
    'evaluationChanged',
    'retiredThroughRevision',
    'reason',
    'syncError',
    'createdMs',
    'updatedMs',
  ]),
  define(alertInstanceMachine, 1, [
    'at',
    'eventMs',
    'startedMs',
    'sinceMs',
    'untilMs',
    'incidentId',
    'value',
    'notify',
    'reason',
    'rule',
    'evaluationRevision',
    'vm',
    'labels',
    'ordinal',
    'decidedThrough',
    'repeatIntervalMs',
  ]),
  define(deliveryMachine, 1, [
    'at',
    'event',
    'occurrence',
    'incident',
    'alertInstance',
    'rule',
    'evaluationRevision',
    'destination',
    'attemptId',
    'httpStatus',
    'unknown',
    'delayMs',
    'reason',
    'createdMs',
    'nextAttemptMs',
  ]),
  define(destinationMachine, 1, [
    'at',
    'kind',
    'displayName',
    'reason',
    'pausedReason',
    'overlapMs',
    'createdMs',
    'updatedMs',
  ]),
  define(credentialMachine, 1, [
    'at',
    'kind',
    'displayName',
    'lastFour',
    'capabilities',
    'owner',
    'reason',
    'successor',
    'overlapMs',
    'createdMs',
    'expiresMs',
    'rotatedMs',
    'overlapEndsMs',
    'revokedMs',
    'revokedReason',
  ]),
  define(datacenterMachine, 1, ['at', 'name', 'sinceMs', 'silentSinceMs', 'changedMs']),
];

/** By `MachineDefinition.name`, in the order in which they are drawn. */
export const machineDefinitions: ReadonlyMap<string, MachineDefinition> = new Map(
  definitions.map((definition) => [definition.name, definition]),
);

/** The machine's own id and description are its name and sentence: neither is written twice. */
function define(
  machine: AnyStateMachine,
  version: number,
  publicFields: readonly string[],
): MachineDefinition {
  const description = machine.root.description ?? '';
  return { name: machine.id, version, description, machine, upcasters: {}, publicFields };
}
