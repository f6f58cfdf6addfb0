/**
 * A finite model of a machine: its input, an alphabet of events for a given context, and the parts
 * of the context that distinguish two states of the model.
 */
import type { MachineEvent } from '../../../machines/platform/definition.ts';

export type ModelEvent = MachineEvent & Readonly<Record<string, unknown>>;

/** Contexts differ by machine; each model below reads the one of its own machine. */
type AnyContext = Readonly<Record<string, unknown>>;

export interface Model {
  readonly input: Readonly<Record<string, unknown>>;
  readonly events: (context: AnyContext) => ModelEvent[];
  /** The part of the context that guards and effects read, as a small JSON value. */
  readonly key: (context: AnyContext) => unknown;
}

/** Start of all models, Unix ms. */
export const START = 1_767_225_600_000;
export const HOUR = 3_600_000;

const FUTURE = new Set([
  'expiresMs',
  'overlapEndsMs',
  'snoozedUntilMs',
  'nextAttemptMs',
  'tokenExpiresMs',
  'untilMs',
]);

/** One second after the latest past time in the context, Unix ms. */
export function nowOf(context: unknown): number {
  return latestMs(context) + 1000;
}

function latestMs(value: unknown): number {
  if (typeof value === 'number') return value >= START ? value : START;
  if (typeof value !== 'object' || value === null) return START;
  const past = Object.entries(value).filter(([name]) => !FUTURE.has(name));
  return Math.max(START, ...past.map(([, inner]) => latestMs(inner)));
}

interface TypedModel<C> {
  readonly input: Readonly<Record<string, unknown>>;
  readonly events: (context: C, nowMs: number) => ModelEvent[];
  readonly key: (context: C) => unknown;
}

/** The snapshot's context has the type that its model names. */
export function modelOf<C>({ input, events, key }: TypedModel<C>): Model {
  return {
    input,
    events: (context) => events(context as unknown as C, nowOf(context)),
    key: (context) => key(context as unknown as C),
  };
}
