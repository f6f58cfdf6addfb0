/**
 * Acts in words: the predicate of a sentence whose subject is the actor, such as "changed the role
 * of Bob: VIEWER → EDITOR". Names are the current ones. A step that a machine takes by itself, or
 * that a part of the service causes, is not an act and has no sentence.
 */
import type { ProjectView, RecordedTransition } from '../../../actors/platform/host/host-port.ts';
import type { MachineName } from '../../../machines/audit/registry.ts';
import type { Actor } from '../../../streams/platform/commit/commit.ts';
import { parseLabels } from '../../../streams/telemetry/samples/batch.ts';
import {
  destinationDisplayName,
  ruleDisplayName,
  vmDisplayName,
} from '../../platform/api/display-names.ts';

/** Actors; the others are parts of the service, or machines that report. */
const ACTORS: ReadonlySet<Actor['kind']> = new Set(['human', 'key', 'operator']);

/** Fields of an event, or the input with which an instance was created. */
type Fields = Readonly<Record<string, unknown>>;

interface Action {
  readonly view: ProjectView;
  readonly step: RecordedTransition;
  /** The object of the act, by name. */
  readonly what: string;
  readonly fields: Fields;
}

type Predicate = string | ((act: Action) => string);

/** Creation, under the interpreter's name for it. */
const CREATED = 'xstate.init';

/** For each machine whose instances people change: the words of each event that people send. */
export const actionPredicates: Readonly<
  Partial<Record<MachineName, Readonly<Record<string, Predicate>>>>
> = {
  alertRule: {
    [CREATED]: 'created the rule',
    edited: ({ what, fields }) => {
      const { spec } = fields as { readonly spec?: { readonly enabled?: unknown } };
      return `changed the rule ${what}${spec?.enabled === false ? ', which is paused' : ''}`;
    },
    deleted: 'deleted the rule',
  },
  alertInstance: {
    acknowledged: ({ what, fields }) => `acknowledged ${what}${because(fields.note)}`,
    snoozed: ({ what, fields }) => `snoozed ${what} until ${timeText(fields.untilMs)}`,
    unsnoozed: 'ended the snooze of',
  },
  maintenanceWindow: {
    [CREATED]: ({ what, fields }) =>
      `planned maintenance of ${what} from ${timeText(fields.fromMs)} until ${timeText(fields.untilMs)}`,
    ended: 'ended the maintenance of',
  },
  destination: {
    [CREATED]: 'created the destination',
    paused: ({ what, fields }) => `paused the destination ${what}${because(fields.reason)}`,
    resumed: 'resumed the destination',
    deleted: 'deleted the destination',
    renamed: 'renamed a destination to',
    groupWaitChanged: 'changed the message wait of the destination',
    retargeted: 'changed the address of the destination',
    secretRotated: 'replaced the signing secret of the destination',
  },
  recipient: {
    [CREATED]: 'added a recipient to',
    invitedAgain: 'asked a recipient again to confirm, of',
    verified: 'confirmed an address of',
    unsubscribed: 'unsubscribed from',
    removed: ({ what, fields }) => `removed a recipient of ${what}${because(fields.reason)}`,
  },
  serviceAccount: {
    [CREATED]: 'created the service account',
    edited: 'changed the service account',
    disabled: ({ what, fields }) => `disabled the service account ${what}${because(fields.reason)}`,
    enabled: 'enabled the service account',
    deleted: 'deleted the service account',
    keyRefused: refusedText,
  },
  credential: {
    [CREATED]: 'created the key',
    rotated: 'replaced the key',
    revoked: ({ what, fields }) => `revoked the key ${what}${because(fields.reason)}`,
  },
  ciVerification: {
    [CREATED]: 'started the CI verification',
    approved: 'approved the CI verification',
    rejected: ({ what, fields }) => `rejected the CI verification ${what}${because(fields.reason)}`,
  },
  ciConnection: {
    [CREATED]: 'created the CI connection',
    edited: 'changed the CI connection',
    disabled: ({ what, fields }) => `disabled the CI connection ${what}${because(fields.reason)}`,
    enabled: 'enabled the CI connection',
    accountDisabled: 'disabled the service account and ended the tokens of the CI connection',
    tokensEnded: 'ended the tokens of the CI connection',
    deleted: 'deleted the CI connection',
  },
  membership: {
    [CREATED]: ({ what, fields, step }) =>
      step.by.name === `people/${fields.person}`
        ? `joined the project with the role ${fields.role}`
        : `made ${what} a member with the role ${fields.role}`,
    roleChanged: ({ view, what, fields, step }) =>
      `changed the role of ${what}: ${roleBefore(view, step)} → ${fields.role}`,
    removed: ({ what, fields }) => `removed ${what} from the project${because(fields.reason)}`,
    keyRefused: refusedText,
    rejoined: ({ what, fields }) => `made ${what} a member again, with the role ${fields.role}`,
  },
  invitation: {
    [CREATED]: ({ what, fields }) => `invited ${what} as ${fields.role}`,
    accepted: 'accepted the invitation of',
    revoked: 'withdrew the invitation of',
  },
  enrolment: {
    [CREATED]: 'offered an agent for the VM',
    offered: 'offered an agent again for the VM',
    enrolled: 'enrolled the agent of the VM',
    tokenWithdrawn: ({ what, fields }) =>
      `withdrew the enrolment token of the VM ${what}${because(fields.reason)}`,
    unenrolled: 'ended the agent of the VM',
  },
};

/** The subject is the key. */
function refusedText({ what, fields }: Action): string {
  const { refusals, reasons } = fields as {
    readonly refusals: number;
    readonly reasons: Readonly<Record<string, number>>;
  };
  const causes = Object.entries(reasons).map(([reason, count]) => `${count} × ${reason}`);
  const times = refusals === 1 ? 'once' : `${refusals} times`;
  return `was refused ${times} as a key of ${what}: ${causes.join(', ')}`;
}

/** The query of the projection for acts: all steps of the machines whose steps are mostly acts. */
export const actionFilter = {
  kinds: [...ACTORS],
  machines: Object.keys(actionPredicates).filter((machine) => machine !== 'alertInstance'),
  events: Object.keys(actionPredicates.alertInstance ?? {}),
} as const;

/** The predicate; '' for a step that is not an act. */
export function actionSentence(view: ProjectView, step: RecordedTransition): string {
  if (!ACTORS.has(step.by.kind)) return '';
  const type = String(step.event.type);
  const predicate = actionPredicates[step.machine as MachineName]?.[type];
  if (predicate === undefined) return '';
  const what = nameOfInstance(view, step);
  if (typeof predicate === 'string') return `${predicate} ${what}`;
  const fields = (type === CREATED ? step.event.input : step.event) as Fields;
  return predicate({ view, step, what, fields });
}

/** The current display name of the instance of a step; '' if it has none. */
export function instanceDisplayName(view: ProjectView, step: RecordedTransition): string {
  const name = nameOfInstance(view, step);
  return name === step.instance ? '' : name;
}

/** The display name of the instance; its id if it has none. */
function nameOfInstance(view: ProjectView, { machine, instance: id }: RecordedTransition): string {
  switch (machine) {
    case 'alertRule':
      return ruleName(view, id);
    case 'alertInstance': {
      const context = view.instance('alertInstance', id)?.context;
      if (!context) return id;
      const of = `${ruleName(view, context.rule)} on ${vmName(view, context.vm)}`;
      return [of, ...Object.values(parseLabels(context.labels))].join(' · ');
    }
    case 'maintenanceWindow': {
      const { rule = '', vm = '' } = view.instance('maintenanceWindow', id)?.context ?? {};
      const of = [rule && ruleName(view, rule), vm && vmName(view, vm)].filter((name) => name);
      return of.length === 0 ? 'the project' : of.join(' on ');
    }
    case 'recipient':
      return destinationName(view, view.instance('recipient', id)?.context.destination ?? id);
    case 'destination':
      return destinationName(view, id);
    case 'delivery': {
      const delivery = view.instance('delivery', id)?.context;
      return delivery ? `${delivery.event} to ${destinationName(view, delivery.destination)}` : id;
    }
    case 'membership': {
      const { displayName, email } = view.instance('membership', id)?.context ?? {};
      return displayName || email || id;
    }
    case 'invitation':
      return view.instance('invitation', id)?.context.email || id;
    case 'enrolment':
      return vmName(view, view.instance('enrolment', id)?.context.vm ?? id);
    case 'credential':
    case 'serviceAccount':
    case 'ciVerification':
    case 'ciConnection':
      return view.instance(machine, id)?.context.displayName || id;
    default:
      return id;
  }
}

function ruleName(view: ProjectView, id: string): string {
  return ruleDisplayName(view, id) || id;
}

function destinationName(view: ProjectView, id: string): string {
  return destinationDisplayName(view, id) || id;
}

function vmName(view: ProjectView, id: string): string {
  return id === '' ? 'a data center' : vmDisplayName(view, id) || id;
}

/** Maximum steps of one membership that are searched for the previous role. */
const STEPS_MAX = 100;

/** The role before a step, because the event has only the new one. '?' if it is not recorded. */
function roleBefore(view: ProjectView, { machine, instance, sequence }: RecordedTransition) {
  const options = { machine, instance, limit: STEPS_MAX, descending: true } as const;
  for (const step of view.transitions(options).items) {
    if (step.sequence >= sequence) continue;
    const { role } = (step.event.type === CREATED ? step.event.input : step.event) as Fields;
    if (role !== undefined) return String(role);
  }
  return '?';
}

/** Quotes reasons that users wrote. A word of a closed set would only repeat the act. */
function because(reason: unknown): string {
  const isWritten = typeof reason === 'string' && reason !== '' && !/^[A-Z_]+$/.test(reason);
  return isWritten ? ` (${reason})` : '';
}

/** To the minute, because users chose these times. */
function timeText(ms: unknown): string {
  const text = new Date(Number(ms)).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 16)} UTC`;
}
