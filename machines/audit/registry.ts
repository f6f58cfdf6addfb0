/**
 * Every machine of the service, by name, for the host, audit, drawings and the model tests. A
 * changed machine raises its version here and adds an up-caster.
 */
import type { AnyStateMachine, ContextFrom, EventFrom, InputFrom } from 'xstate';
import { alertInstanceMachine, conditionOf } from '../alerting/alert-instance.ts';
import { alertRuleMachine } from '../alerting/alert-rule.ts';
import { maintenanceWindowMachine } from '../alerting/maintenance-window.ts';
import { ciConnectionMachine } from '../ci/ci-connection.ts';
import { ciVerificationMachine } from '../ci/ci-verification.ts';
import { ATTEMPT_CAP_MIN } from '../delivery/attempt-cap.ts';
import { deliveryMachine } from '../delivery/delivery.ts';
import { destinationMachine, formerGroupWaitMs } from '../delivery/destination.ts';
import { recipientMachine } from '../delivery/recipient.ts';
import { credentialMachine } from '../identity/credential.ts';
import { invitationMachine } from '../identity/invitation.ts';
import { membershipMachine } from '../identity/membership.ts';
import { personMachine } from '../identity/person.ts';
import { serviceAccountMachine } from '../identity/service-account.ts';
import { sessionMachine } from '../identity/session.ts';
import { signInLinkMachine } from '../identity/sign-in-link.ts';
import type { IndexName, MachineDefinition, MachineRow } from '../platform/definition.ts';
import { datacenterMachine } from '../vms/datacenter.ts';
import { enrolmentMachine } from '../vms/enrolment.ts';
import { vmSourceMachine } from '../vms/vm-source.ts';

const machines = {
  alertRule: alertRuleMachine,
  alertInstance: alertInstanceMachine,
  maintenanceWindow: maintenanceWindowMachine,
  delivery: deliveryMachine,
  destination: destinationMachine,
  recipient: recipientMachine,
  credential: credentialMachine,
  serviceAccount: serviceAccountMachine,
  ciVerification: ciVerificationMachine,
  ciConnection: ciConnectionMachine,
  membership: membershipMachine,
  invitation: invitationMachine,
  enrolment: enrolmentMachine,
  person: personMachine,
  signInLink: signInLinkMachine,
  session: sessionMachine,
  datacenter: datacenterMachine,
  vmSource: vmSourceMachine,
};

type TypesOf<Machines extends Readonly<Record<string, AnyStateMachine>>> = {
  [Name in keyof Machines]: {
    readonly context: Readonly<ContextFrom<Machines[Name]>>;
    readonly event: Readonly<EventFrom<Machines[Name]>>;
    readonly input: Readonly<InputFrom<Machines[Name]>>;
  };
};

/**
 * Context, events and input of each machine, by its name: rows, events and submissions are typed
 * by it. An interface, so that tests of the host can declare machines of their own.
 */
export interface MachineTypes extends TypesOf<typeof machines> {}

/** Names of machines in rows, commits and the API. */
export type MachineName = keyof MachineTypes;

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
  define(
    alertInstanceMachine,
    4,
    [
      'at',
      'eventMs',
      'observedMs',
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
    ],
    { upcasters: { 1: withMissingReason, 2: withSince, 3: asItWas } },
  ),
  define(maintenanceWindowMachine, 1, [
    'at',
    'rule',
    'vm',
    'fromMs',
    'untilMs',
    'by',
    'createdMs',
    'endedMs',
  ]),
  define(
    deliveryMachine,
    2,
    [
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
      'checks',
      'createdMs',
      'nextAttemptMs',
      'members',
      'waitMs',
      'dropped',
    ],
    {
      upcasters: { 1: withoutGroup },
      indexes: {
        incident: 'incident',
        destination: 'destination',
        event: 'event',
        owner: 'groupKey',
      },
    },
  ),
  define(
    destinationMachine,
    6,
    [
      'at',
      'kind',
      'displayName',
      'reason',
      'pausedReason',
      'attemptCap',
      'groupWaitMs',
      'overlapMs',
      'overlapEndsMs',
      'createdMs',
      'updatedMs',
    ],
    {
      upcasters: {
        1: withOverlapEndAndUrlId,
        2: withLastFailure,
        3: withAttemptCap,
        4: withGroupWait,
        5: withoutLastError,
      },
    },
  ),
  define(recipientMachine, 1, [
    'at',
    'destination',
    'membership',
    'reason',
    'tokenExpiresMs',
    'verifiedMs',
    'createdMs',
    'updatedMs',
  ]),
  define(
    credentialMachine,
    3,
    [
      'at',
      'kind',
      'displayName',
      'lastFour',
      'capabilities',
      'owner',
      'createdBy',
      'datacenter',
      'projects',
      'vm',
      'reason',
      'successor',
      'overlapMs',
      'createdMs',
      'expiresMs',
      'rotatedMs',
      'overlapEndsMs',
      'revokedMs',
      'revokedReason',
      'by',
    ],
    { upcasters: { 1: withCreatorAndReach, 2: withProjects }, indexes: { owner: 'owner' } },
  ),
  define(serviceAccountMachine, 1, [
    'at',
    'displayName',
    'template',
    'capabilities',
    'createdBy',
    'reason',
    'disabledReason',
    'createdMs',
    'updatedMs',
    'by',
    'key',
    'refusals',
    'reasons',
  ]),
  define(
    ciVerificationMachine,
    2,
    [
      'at',
      'serviceAccount',
      'displayName',
      'capabilities',
      'issuer',
      'audience',
      'createdBy',
      'bound',
      'recorded',
      'digest',
      'warnings',
      'connection',
      'code',
      'codes',
      'claims',
      'reason',
      'createdMs',
      'expiresMs',
      'observedMs',
      'wrongCodes',
      'by',
    ],
    { upcasters: { 1: withoutClosed }, indexes: { owner: 'serviceAccount' } },
  ),
  define(
    ciConnectionMachine,
    1,
    [
      'at',
      'serviceAccount',
      'displayName',
      'capabilities',
      'permissionsChanged',
      'issuer',
      'audience',
      'bound',
      'recorded',
      'verification',
      'digest',
      'createdBy',
      'tokenEpoch',
      'token',
      'expiresMs',
      'correlation',
      'codes',
      'claims',
      'differences',
      'runs',
      'refusals',
      'reason',
      'disabledReason',
      'createdMs',
      'updatedMs',
      'by',
    ],
    { indexes: { owner: 'serviceAccount' } },
  ),
  define(
    membershipMachine,
    1,
    [
      'at',
      'person',
      'role',
      'reason',
      'removedReason',
      'joinedMs',
      'updatedMs',
      'by',
      'key',
      'refusals',
      'reasons',
    ],
    { indexes: { subject: 'person' } },
  ),
  define(
    invitationMachine,
    1,
    ['at', 'role', 'invitedBy', 'person', 'createdMs', 'expiresMs', 'updatedMs', 'by'],
    { indexes: { subject: 'email' } },
  ),
  define(enrolmentMachine, 1, [
    'at',
    'vm',
    'datacenter',
    'credential',
    'system',
    'expiresMs',
    'createdMs',
    'updatedMs',
    'by',
  ]),
  define(personMachine, 1, ['at', 'reason', 'disabledReason', 'createdMs', 'updatedMs', 'by']),
  define(signInLinkMachine, 1, [
    'at',
    'person',
    'purpose',
    'session',
    'reason',
    'createdMs',
    'expiresMs',
    'updatedMs',
  ]),
  define(sessionMachine, 1, [
    'at',
    'person',
    'method',
    'reason',
    'endedReason',
    'createdMs',
    'rotatedMs',
    'expiresMs',
  ]),
  define(datacenterMachine, 1, ['at', 'name', 'sinceMs', 'silentSinceMs', 'changedMs']),
  define(vmSourceMachine, 1, [
    'at',
    'vm',
    'source',
    'sourceBefore',
    'reason',
    'turn',
    'copy',
    'observedMs',
    'isFresh',
    'presentCopy',
    'presentSilentMs',
    'isPresentEnded',
    'sinceMs',
    'createdMs',
    'updatedMs',
  ]),
];

/** By `MachineDefinition.name`, in the order of the drawings. */
export const machineDefinitions: ReadonlyMap<string, MachineDefinition> = new Map(
  definitions.map((definition) => [definition.name, definition]),
);

/**
 * The machine's own id and description are its name and sentence, so that neither is written twice.
 */
function define<M extends AnyStateMachine>(
  machine: M,
  version: number,
  publicFields: readonly string[],
  { upcasters = {}, indexes = {} }: Additions<M> = {},
): MachineDefinition {
  const description = machine.root.description ?? '';
  return { name: machine.id, version, description, machine, upcasters, indexes, publicFields };
}

interface Additions<M extends AnyStateMachine> {
  readonly upcasters?: MachineDefinition['upcasters'];
  readonly indexes?: { readonly [Index in IndexName]?: keyof ContextFrom<M> & string };
}

/** Version 3 of an alert instance had no maintenance; its rows are the same. */
function asItWas(row: MachineRow): MachineRow {
  return row;
}

/** Version 1 of an alert instance did not store why its series was silent. */
function withMissingReason({ value, context }: MachineRow): MachineRow {
  const { incident } = context as { incident: { dataMissingSinceMs: number | null } | null };
  if (incident === null) return { value, context };
  const dataMissingReason = incident.dataMissingSinceMs === null ? null : 'NO_DATA';
  return { value, context: { ...context, incident: { ...incident, dataMissingReason } } };
}

/**
 * Version 2 of an alert instance had no gap while sustaining, and stored only in its incident since
 * when its condition holds.
 */
function withSince({ value, context }: MachineRow): MachineRow {
  const { incident } = context as { incident: { startedMs: number } | null };
  const isFiring = conditionOf(value) === 'firing';
  return {
    value: value === 'sustaining' ? { sustaining: 'observed' } : value,
    context: {
      ...context,
      sinceMs: isFiring ? (incident?.startedMs ?? null) : null,
      missingSinceMs: null,
    },
  };
}

/**
 * Version 1 of a destination did not store the end of an overlap (only its timer had it), and had
 * its URL sealed under the destination's own id.
 */
function withOverlapEndAndUrlId({ value, context }: MachineRow): MachineRow {
  return { value, context: { ...context, overlapEndsMs: null, urlId: null } };
}

/**
 * Version 2 of a destination did not store its last failure: only the first failure is known, and
 * nothing is assumed about later ones.
 */
function withLastFailure({ value, context }: MachineRow): MachineRow {
  const { failingSinceMs } = context;
  return { value, context: { ...context, lastFailedMs: failingSinceMs ?? null } };
}

/**
 * Version 3 of a destination did not store how many attempts may be open: its process had that
 * number.
 */
function withAttemptCap({ value, context }: MachineRow): MachineRow {
  return { value, context: { ...context, attemptCap: ATTEMPT_CAP_MIN } };
}

/** Version 4 of a destination had one message per incident. */
function withGroupWait({ value, context }: MachineRow): MachineRow {
  const groupWaitMs = formerGroupWaitMs(String(context.kind));
  return { value, context: { ...context, groupWaitMs } };
}

/** Version 5 of a destination dropped its newest error at the next accepted attempt. */
function withoutLastError({ value, context }: MachineRow): MachineRow {
  return { value, context: { ...context, lastError: null } };
}

/** Version 1 of a delivery was about one incident. */
function withoutGroup({ value, context }: MachineRow): MachineRow {
  const none = {
    groupKey: null,
    members: 0,
    isSettled: false,
    earlierAttempts: 0,
  };
  return { value, context: { ...context, ...none } };
}

/** Version 1 of a credential had no creator, and was not bound to a data center or VM. */
function withCreatorAndReach({ value, context }: MachineRow): MachineRow {
  return { value, context: { ...context, createdBy: '', datacenter: null, vm: null } };
}

/** Version 2 of a credential could not be bound to several projects: a collector had one, or all. */
function withProjects({ value, context }: MachineRow): MachineRow {
  return { value, context: { ...context, projects: null } };
}

/**
 * Version 1 of a verification was closed by five wrong codes from anyone; its reason says so. The
 * row has ended either way.
 */
function withoutClosed({ value, context }: MachineRow): MachineRow {
  return { value: value === 'closed' ? 'rejected' : value, context };
}
