/**
 * The path of an alert instance: its events, each with its time, and the states they lead through.
 * An instance below firing has no row; its path is the machine run, on each read, over the events
 * that the evaluator keeps or that follow from stored samples.
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

/** An event of a run, caused by observations or their absence below firing. */
export type RunEvent = WithoutCommit<Named<'breachStarted' | 'breachEnded' | 'dataMissing'>>;

/** An event caused by observations, by its own time. */
export type ObservedEvent =
  | RunEvent
  | WithoutCommit<Named<'sustained' | 'recovered' | 'dataObserved' | 'corrected'>>;

/** One event and the states on both sides of it. States are xstate's, as JSON. */
export interface PathStep {
  readonly event: string;
  /** Time of the event, Unix ms. */
  readonly eventMs: number;
  readonly from: StateValueJson;
  readonly to: StateValueJson;
}

/** A path, and the state at its end. */
export interface InstancePath {
  /** One per event that the previous state accepted, oldest first. */
  readonly steps: readonly PathStep[];
  /** State after these steps. */
  readonly value: StateValueJson;
  /** First breaching observation of the run or of the incident, Unix ms; null = idle. */
  readonly sinceMs: number | null;
}

/**
 * Runs the machine over `events`, oldest first. @param from start row; absent: the instance has
 * none
 */
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

/** The end of a path: the result of its steps. */
export type PathEnd = Pick<InstancePath, 'value' | 'sinceMs'>;

/** Ends by order of event types; `sinceMs` is the position of an event, counted from 1. */
const pathEnds = new Map<string, PathEnd>();
/** Far more than the possible orders of the few events that the evaluator keeps. */
const PATH_ENDS_MAX = 1_000;

/**
 * End of `events`, oldest first, without a row: as in `pathOf`, but without the steps. The
 * machine's reaction to these events depends only on their order, so it is run once per order of
 * types, with positions instead of times: a list of 10,000 instances calls this often.
 *
 * @param events events of runs; if the instance fires, only its last run and `sustained`
 */
export function pathEndOf(events: readonly ObservedEvent[]): PathEnd {
  const order = events.map(({ type }) => type).join();
  let end = pathEnds.get(order);
  if (!end) {
    end = pathOf(
      events.map((event, i) => ({
        ...event,
        eventMs: i + 1,
        ...(event.type === 'sustained' && { startedMs: i }),
      })),
    );
    if (pathEnds.size >= PATH_ENDS_MAX) pathEnds.clear();
    pathEnds.set(order, end);
  }
  const { value, sinceMs: position } = end;
  return { value, sinceMs: position === null ? null : (events[position - 1]?.eventMs ?? null) };
}

function stateOf({ value }: AnyMachineSnapshot): StateValueJson {
  return value as StateValueJson;
}

let started: AnyMachineSnapshot | undefined;

function start(): AnyMachineSnapshot {
  started ??= firstTransition(alertInstanceMachine, { at: 0 }).snapshot;
  return started;
}
