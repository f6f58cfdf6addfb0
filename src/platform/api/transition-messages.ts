/** Messages for recorded transitions: public fields only, and the actor. */
import type { JsonObject } from '@bufbuild/protobuf';
import { unprovenEmailOf } from '../../../actors/identity/people-index.ts';
import type {
  Host,
  ProjectView,
  RecordedTransition,
} from '../../../actors/platform/host/host-port.ts';
import { machineDefinitions } from '../../../machines/audit/registry.ts';
import { leafStates, type StateValueJson } from '../../../machines/platform/definition.ts';
import { type Actor, SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';

/** The actor of a step, as the caller may see it. */
export interface DisplayedActor {
  readonly by: string;
  readonly byDisplayName: string;
  /** Email address of a person who has not proven it; '' otherwise. */
  readonly byUnprovenEmail: string;
}

const UNNAMED = { byDisplayName: '', byUnprovenEmail: '' } as const;

/** People and operators appear as such, without a name. */
export function actorForCredentials({ kind, name }: Actor): DisplayedActor {
  const isPerson = kind === 'human' || kind === 'operator';
  return { by: isPerson ? kind : name, ...UNNAMED };
}

const PERSON_NAME = /^people\/(.+)$/;

/** Looks up people's names once per response: a page may be the work of one person. */
export function actorsForPeople(host: Pick<Host, 'view'>): (actor: Actor) => DisplayedActor {
  const people = host.view(SYSTEM_PROJECT);
  const known = new Map<string, Omit<DisplayedActor, 'by'>>();
  return ({ name: by }) => {
    const person = PERSON_NAME.exec(by)?.[1];
    if (person === undefined) return { by, ...UNNAMED };
    const displayed = known.get(person) ?? displayedPerson(people, person);
    known.set(person, displayed);
    return { by, ...displayed };
  };
}

function displayedPerson(people: ProjectView, person: string): Omit<DisplayedActor, 'by'> {
  const row = people.instance('person', person);
  if (!row) return UNNAMED;
  const { displayName, email } = row.context;
  return { byDisplayName: displayName, byUnprovenEmail: unprovenEmailOf(people, person, email) };
}

/**
 * A `svc.audit.v1.Transition`.
 * @param described facts from the rows of its project; `sentence` is '' if no one acted
 */
export function transitionMessage(
  transition: RecordedTransition,
  showActor: (by: Actor) => DisplayedActor,
  described: {
    readonly instanceName: string;
    readonly instanceDisplayName?: string;
    readonly sentence?: string;
  },
) {
  const { sequence, atMs, by, machine, instance, event, from, to, requestId } = transition;
  const fields = publicFields(machine, event);
  const observedMs = observedMsOf(event);
  return {
    sequence: BigInt(sequence),
    atUnixMs: BigInt(atMs),
    ...showActor(by),
    machine,
    instance,
    event: String(event.type),
    eventJson: JSON.stringify(fields),
    fields,
    fromJson: from === null ? '' : JSON.stringify(from),
    toJson: JSON.stringify(to),
    requestId: requestId ?? '',
    ...described,
    fromStates: from === null ? [] : stateIds(machine, from),
    toStates: stateIds(machine, to),
    ...(observedMs !== undefined && { observedUnixMs: BigInt(observedMs) }),
  };
}

/** When the event's fact was observed, Unix ms; undefined if no observation decides it. */
export function observedMsOf(event: RecordedTransition['event']): number | undefined {
  const times = [event.observedMs, event.eventMs, event.startedMs];
  return times.find((time) => typeof time === 'number');
}

/** Ids of the innermost states, as the machine's drawing has them. */
export function stateIds(machine: string, value: StateValueJson): string[] {
  return leafStates(value).map((state) => `${machine}.${state}`);
}

/**
 * Only the fields that the machine declares public, in the event and in an instance's creation: the
 * rest may name people, addresses or secrets.
 */
export function publicFields(
  machine: string,
  event: Readonly<Record<string, unknown>>,
): JsonObject {
  const displayed = new Set(machineDefinitions.get(machine)?.publicFields);
  const isDisplayed = ([field]: [string, unknown]): boolean =>
    field === 'type' || displayed.has(field);
  // Events are stored as JSON, so they hold nothing else.
  const fields = Object.fromEntries(Object.entries(event).filter(isDisplayed)) as JsonObject;
  const { input } = event;
  if (typeof input !== 'object' || input === null) return fields;
  const displayedInput = Object.fromEntries(
    Object.entries(input).filter(isDisplayed),
  ) as JsonObject;
  return { ...fields, input: displayedInput };
}
