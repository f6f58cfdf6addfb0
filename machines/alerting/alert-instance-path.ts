/**
 * The path of an alert instance: its events, each with the time at which it happened, and the states
 * that they lead through. An instance below firing has no row; its path is the machine run over the
 * events that the evaluator keeps, or that stored samples lead to, whenever somebody looks.
 */
import type { AnyMachineSnapshot } from 'xstate';
import type { MachineEvent, MachineRow, StateValueJson } from '../platform/definition.ts';
import { firstTransition, nextTransition, snapshotOf } from '../platform/transition.ts';
import {
  type AlertInstanceContext,
  type AlertInstanceEvent,
  alertInstanceMachine,
} from './alert-instance.ts';

type WithoutCommit<E> = E extends unknown ? Omit<E, 'at'> : never;
type Named<T extends AlertInstanceEvent['type']> = Extract<AlertInstanceEvent, { type: T }>;

/** An event of a run: what observations, or their absence, bring about below firing. */
export type RunEvent = WithoutCommit<Named<'breachStarted' | 'breachEnded' | 'dataMissing'>>;

/** An event that observations bring about, by its own time. */
export type ObservedEvent =
  | RunEvent
  | WithoutCommit<Named<'sustained' | 'recovered' | 'dataObserved' | 'corrected'>>;

export interface PathStep {
  readonly event: string;
  /** When it happened, Unix ms. */
  readonly eventMs: number;
  readonly from: StateValueJson;
  readonly to: StateValueJson;
}

export interface InstancePath {
  /** One for each event that the state before took, oldest first. */
  readonly steps: readonly PathStep[];
  /** What they led to. */
  readonly value: StateValueJson;
  /** First breaching observation of the run or of the incident, Unix ms; null = idle. */
  readonly sinceMs: number | null;
}

/** Runs the machine over `events`, oldest first. @param from a row; absent: it has none */
export function pathOf(events: readonly ObservedEvent[], from?: MachineRow): InstancePath {
  const steps: PathStep[] = [];
  let snapshot = from ? snapshotOf(alertInstanceMachine, from) : start();
  for (const event of events) {
    const sent: MachineEvent = { ...event, at: event.eventMs };
    const next = nextTransition(alertInstanceMachine, snapshot, sent);
    if (!next) continue;
    const states = { from: stateOf(snapshot), to: stateOf(next.snapshot) };
    steps.push({ event: event.type, eventMs: event.eventMs, ...states });
    snapshot = next.snapshot;
  }
  // The context of this machine.
  const { sinceMs } = snapshot.context as AlertInstanceContext;
  return { steps, value: stateOf(snapshot), sinceMs };
}

function stateOf({ value }: AnyMachineSnapshot): StateValueJson {
  return value as StateValueJson;
}

let started: AnyMachineSnapshot | undefined;

function start(): AnyMachineSnapshot {
  started ??= firstTransition(alertInstanceMachine, { at: 0 }).snapshot;
  return started;
}
