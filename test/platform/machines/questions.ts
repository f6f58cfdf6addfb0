/**
 * Queries that the invariants make of a walk: the steps of an event, their notifications, the
 * content of a row. Each machine is walked once per test file.
 */
import { machineDefinitions } from '../../../machines/audit/registry.ts';
import { models } from './models.ts';
import { type Edge, leavesOf, type Row, type Walk, walk } from './walk.ts';

const walks = new Map<string, Walk>();

/** The walk of a machine, created once. */
export function walked(name: string): Walk {
  const known = walks.get(name);
  if (known) return known;
  const definition = machineDefinitions.get(name);
  const model = models.get(name);
  if (!definition || !model) throw new Error(`No machine or no model ${name}`);
  const made = walk(definition, model);
  walks.set(name, made);
  return made;
}

export function edgesOf(name: string, ...types: string[]): Edge[] {
  return walked(name).edges.filter(({ event }) => types.includes(event.type));
}

export function taken(edges: readonly Edge[]): Edge[] {
  return edges.filter((edge) => edge.taken.length > 0);
}

export function typesOf(edges: readonly Edge[]): Set<string> {
  return new Set(edges.map(({ event }) => event.type));
}

export function notified(effects: Edge['effects']): string[] {
  return effects.flatMap((effect) => (effect.type === 'notify' ? [effect.event] : []));
}

/** Each walk reads rows of its own machine only. */
export function contextOf<C>({ context }: Row): C {
  return context as unknown as C;
}

export function sameTimers(from: Row, to: Row): boolean {
  return JSON.stringify([...from.timers]) === JSON.stringify([...to.timers]);
}

/** One line per step, because a failed comparison of whole steps would fill screens. */
export function brief(edges: readonly Edge[]): string[] {
  return edges.map(({ from, event, to, effects }) => {
    const [before, after] = [from, to].map(({ value }) => leavesOf(value).join(' '));
    return `${before} -- ${event.type} --> ${after} causes ${JSON.stringify(effects)}`;
  });
}
