/**
 * Definition of a machine for the host: its statechart, its version, and the upgrade of older rows.
 * The registry lists one definition per machine; drawings, audit and model tests use it.
 */
import type { AnyStateMachine } from 'xstate';

export interface MachineDefinition {
  /** Name in commits, rows and drawings, e.g. `alertRule`. */
  readonly name: string;
  /** Raised with every change of states, context or timers that older rows would not fit. */
  readonly version: number;
  /** One sentence that describes an instance. */
  readonly description: string;
  readonly machine: AnyStateMachine;
  /** `upcasters[v]` converts a row of version v to version v + 1. */
  readonly upcasters: Readonly<Record<number, (row: MachineRow) => MachineRow>>;
  /** Context fields by which instances are found, besides their id. */
  readonly indexes?: MachineIndexes;
  /** Event and context fields that anyone who may read the project's audit may see. */
  readonly publicFields: readonly string[];
}

/** Context field of each index. A value that is not text is not indexed. */
export interface MachineIndexes {
  /** Owner of the instance: the name or id of one identity. */
  readonly owner?: string;
  /** Subject of the instance, in any project: a person or an address. */
  readonly subject?: string;
  /** Incident that the instance belongs to. */
  readonly incident?: string;
  /** Destination that the instance belongs to. */
  readonly destination?: string;
  /** Event of the instance, from a small set. */
  readonly event?: string;
}

export type IndexName = keyof MachineIndexes;

/** Value of the index for a row of this machine; null: the row is not in the index. */
export function indexedValue(
  definition: Pick<MachineDefinition, 'indexes'> | undefined,
  index: IndexName,
  context: MachineRow['context'],
): string | null {
  const field = definition?.indexes?.[index];
  const value = field === undefined ? undefined : context[field];
  return typeof value === 'string' ? value : null;
}

/** The part of an instance's row that its machine owns. */
export interface MachineRow {
  /** xstate state value: a string, or nested objects for regions. */
  readonly value: StateValueJson;
  /** JSON: no Date, no Map, no undefined. */
  readonly context: Readonly<Record<string, unknown>>;
}

export type StateValueJson = string | { readonly [region: string]: StateValueJson };

/** Every machine event carries its time (Unix ms): machines read no clock. */
export interface MachineEvent {
  readonly type: string;
  readonly at: number;
}

/** Dotted names of the innermost states: `firing.data.missing`. */
export function leafStates(value: StateValueJson): string[] {
  if (typeof value === 'string') return [value];
  return Object.entries(value).flatMap(([name, inner]) =>
    leafStates(inner).map((leaf) => `${name}.${leaf}`),
  );
}
