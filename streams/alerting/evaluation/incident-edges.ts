/**
 * The edges of an incident, each with its change of `reported`: fired, without data, recovered.
 * `notification-diff.ts`, `tick.ts` and `datacenter-outage.ts` decide when.
 */
import type { MissingReason } from '../../../machines/alerting/incident.ts';
import type { Edge, ObservedValue } from '../../telemetry/entry.ts';
import {
  type Instance,
  isAgeBuffer,
  keyOf,
  type Reported,
  type ReportedIncident,
  type TimelineEvent,
} from './instance.ts';
import { runBefore } from './run-events.ts';

/** Notes a firing as reported from here on. */
export function remember(
  instance: Instance,
  { firedMs, startedMs }: { readonly firedMs: number; readonly startedMs: number },
): Reported {
  instance.reported ??= {
    incidents: [],
    lastAtMs: Number.NEGATIVE_INFINITY,
    missing: undefined,
    failed: false,
  };
  const recoveredMs = Number.POSITIVE_INFINITY;
  instance.reported.incidents.push({ firedMs, startedMs, recoveredMs, corrected: false });
  instance.reported.missing = undefined;
  instance.reported.failed = false;
  return instance.reported;
}

/** A firing to report; `notify` as in its edge, times are Unix ms. */
export interface Firing {
  readonly reported: Reported;
  readonly window: readonly ObservedValue[];
  readonly value: number | undefined;
  readonly firedMs: number;
  readonly startedMs: number;
  readonly notify: boolean;
  readonly nowMs: number;
}

/** The edge of a firing that `remember` noted. */
export function firedEdge(instance: Instance, firing: Firing): Edge {
  const { reported, window, firedMs, startedMs, notify, nowMs } = firing;
  const key = keyOf(instance);
  const atMs = nextAt(instance, reported, nowMs);
  const value = isAgeBuffer(instance.buffer) ? firing.value : window.at(-1)?.value;
  const edge = {
    kind: 'fired' as const,
    key,
    atMs,
    observedMs: firedMs,
    startedMs,
    run: runBefore(instance, startedMs),
    window,
    notify,
  };
  return value === undefined ? edge : { ...edge, value };
}

/** The end of an incident: the good observation that completed its recovery. */
export interface Recovery {
  readonly reported: Reported;
  readonly incident: ReportedIncident;
  readonly end: TimelineEvent;
  readonly nowMs: number;
}

/** Ends the incident. */
export function recoveredEdge(
  instance: Instance,
  { reported, incident, end, nowMs }: Recovery,
): Edge {
  const { observedMs, value, window } = end;
  incident.recoveredMs = observedMs;
  reported.missing = undefined;
  reported.failed = false;
  const atMs = nextAt(instance, reported, nowMs);
  return { kind: 'recovered', key: keyOf(instance), atMs, observedMs, value, window };
}

/** The edge of an open incident without data: once for each silence and each reason of it. */
export function missingEdge(
  instance: Instance,
  { sinceMs, reason, nowMs }: { sinceMs: number; reason: MissingReason; nowMs: number },
): Edge | undefined {
  const { reported } = instance;
  if (!reported || reported.missing?.reason === reason) return undefined;
  reported.missing = { reason, sinceMs };
  const atMs = nextAt(instance, reported, nowMs);
  return { kind: 'dataMissing', key: keyOf(instance), atMs, sinceMs, reason };
}

/**
 * Time of the next edge: the series' newest observation, or later, so that times grow strictly. Edges
 * that time decides bear `nowMs`, the time of the entry.
 */
export function nextAt({ buffer }: Instance, reported: Reported, nowMs: number): number {
  reported.lastAtMs = Math.max(
    isAgeBuffer(buffer) ? nowMs : buffer.newestMs,
    reported.lastAtMs + 1,
  );
  return reported.lastAtMs;
}
