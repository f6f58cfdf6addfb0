/**
 * The edges of an incident, each with what telling it changes of `told`: that it fired, that it has
 * no data, that it recovered. When to tell is decided elsewhere (`telling.ts`, `unavailable.ts`,
 * `datacenter.ts`).
 */
import type { MissingReason } from '../../../machines/alerting/incident.ts';
import type { Edge, ObservedValue } from '../../telemetry/entry.ts';
import { isAgeLane } from './age.ts';
import {
  type Instance,
  keyOf,
  type TimelineEvent,
  type Told,
  type ToldIncident,
} from './instance.ts';

/** Notes a firing as told from here on. */
export function remember(
  instance: Instance,
  { firedMs, startedMs }: { readonly firedMs: number; readonly startedMs: number },
): Told {
  instance.told ??= {
    incidents: [],
    lastAtMs: Number.NEGATIVE_INFINITY,
    missing: undefined,
    failed: false,
  };
  const recoveredMs = Number.POSITIVE_INFINITY;
  instance.told.incidents.push({ firedMs, startedMs, recoveredMs, corrected: false });
  instance.told.missing = undefined;
  instance.told.failed = false;
  return instance.told;
}

/** A firing to be told; `notify` as in its edge, times are Unix ms. */
export interface Firing {
  readonly told: Told;
  readonly window: readonly ObservedValue[];
  readonly value: number | undefined;
  readonly firedMs: number;
  readonly startedMs: number;
  readonly notify: boolean;
  readonly nowMs: number;
}

/** The edge of a firing that `remember` noted. */
export function firedEdge(instance: Instance, firing: Firing): Edge {
  const { told, window, firedMs, startedMs, notify, nowMs } = firing;
  const key = keyOf(instance);
  const atMs = nextAt(instance, told, nowMs);
  const value = isAgeLane(instance.lane) ? firing.value : window.at(-1)?.value;
  const edge = {
    kind: 'fired' as const,
    key,
    atMs,
    observedMs: firedMs,
    startedMs,
    window,
    notify,
  };
  return value === undefined ? edge : { ...edge, value };
}

/** What ends an incident: the good observation that completed its recovery. */
export interface Recovery {
  readonly told: Told;
  readonly incident: ToldIncident;
  readonly end: TimelineEvent;
  readonly nowMs: number;
}

/** Ends the incident, and says so. */
export function recoveredEdge(instance: Instance, { told, incident, end, nowMs }: Recovery): Edge {
  const { observedMs, value, window } = end;
  incident.recoveredMs = observedMs;
  told.missing = undefined;
  told.failed = false;
  const atMs = nextAt(instance, told, nowMs);
  return { kind: 'recovered', key: keyOf(instance), atMs, observedMs, value, window };
}

/** An open incident is without data: tells so, once for each silence and each reason of it. */
export function tellMissing(
  instance: Instance,
  { sinceMs, reason, nowMs }: { sinceMs: number; reason: MissingReason; nowMs: number },
): Edge | undefined {
  const { told } = instance;
  if (!told || told.missing?.reason === reason) return undefined;
  told.missing = { reason, sinceMs };
  const atMs = nextAt(instance, told, nowMs);
  return { kind: 'dataMissing', key: keyOf(instance), atMs, sinceMs, reason };
}

/**
 * Time of the next edge: the series' newest observation, or later, so that times grow strictly. What
 * time decides is decided when it passes: `nowMs`, the time of the entry.
 */
export function nextAt({ lane }: Instance, told: Told, nowMs: number): number {
  told.lastAtMs = Math.max(isAgeLane(lane) ? nowMs : lane.newestMs, told.lastAtMs + 1);
  return told.lastAtMs;
}
