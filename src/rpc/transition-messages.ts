/** Recorded transitions as audit tells them: public fields alone, and who caused them. */
import type { Host, RecordedTransition } from '../../actors/host-port.ts';
import { machineDefinitions } from '../../machines/registry.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/commit/commit.ts';

/** Who caused a step, as the caller is told. */
export interface ToldActor {
  readonly by: string;
  readonly byDisplayName: string;
}

/** People and operators are told as such, and not by name. */
export function actorForCredentials({ kind, name }: Actor): ToldActor {
  const isPerson = kind === 'human' || kind === 'operator';
  return { by: isPerson ? kind : name, byDisplayName: '' };
}

const PERSON_NAME = /^people\/(.+)$/;

/** Names of people are looked up once an answer: a page may be the work of one of them. */
export function actorsForPeople(host: Pick<Host, 'view'>): (actor: Actor) => ToldActor {
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

/** A `svc.audit.v1.Transition`. */
export function transitionMessage(
  transition: RecordedTransition,
  tellActor: (by: Actor) => ToldActor,
) {
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
