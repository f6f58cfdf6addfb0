/** Results of a replay, read from the rows that it left, with the recording's own times. */

import type { IncidentBody } from '../../actors/alerting/incident.ts';
import type { Instance, ProjectView } from '../../actors/platform/host/host-port.ts';
import { itemsOf } from '../../streams/platform/commit/page.ts';
import { metricCatalogue } from '../../streams/telemetry/metrics/catalogue.ts';
import { type Pace, recordedMs } from './replay-log.ts';

/** An incident; times are Unix ms, null = has not happened. */
export interface ReplayedIncident {
  readonly rule: string;
  readonly severity: string;
  /** VM id; '' for a condition of a whole data center. */
  readonly vm: string;
  /** Canonical label part of the series, '' or `{mountpoint="/"}`. */
  readonly labels: string;
  readonly state: 'FIRING' | 'RECOVERED' | 'RETIRED';
  /** First breaching observation of the run. */
  readonly startedMs: number;
  /** Time when the notification would have been sent. */
  readonly firedMs: number;
  readonly recoveredMs: number | null;
  /** The value of the last decision, and the condition when it fired. */
  readonly value: number | null;
  readonly condition: string;
  /** Start of the missing data, if the incident ends without data. */
  readonly dataMissingSinceMs: number | null;
  readonly correctedAfterNotification: boolean;
}

/** A notification to one destination; times are Unix ms. */
export interface ReplayedDelivery {
  readonly atMs: number;
  readonly event: 'FIRING' | 'REPEATED' | 'RECOVERED' | 'TEST';
  /** Number among the incident's notifications of this event. */
  readonly occurrence: number;
  readonly destination: string;
  readonly rule: string;
  readonly vm: string;
  readonly labels: string;
  /** `SENT`, or the reason why nothing would have been sent. */
  readonly outcome: string;
}

/** Incidents and deliveries of a project, sorted by time. */
export function incidentsOf(
  view: ProjectView,
  pace: Pace,
): { incidents: ReplayedIncident[]; deliveries: ReplayedDelivery[] } {
  const bodies = new Map(
    [...itemsOf(PAGE, (page) => view.records('incident', page))].map(({ id, body }) => [id, body]),
  );
  const incidents = [...bodies.values()].map((body) => incidentOf(body, pace));
  const deliveries = [...itemsOf(PAGE, (page) => view.instances('delivery', page))].map((row) =>
    deliveryOf(row, bodies, pace),
  );
  return {
    incidents: incidents.toSorted((a, b) => a.firedMs - b.firedMs || compare(keyOf(a), keyOf(b))),
    deliveries: deliveries.toSorted((a, b) => a.atMs - b.atMs || compare(keyOf(a), keyOf(b))),
  };
}

function incidentOf(body: IncidentBody, pace: Pace): ReplayedIncident {
  const at = (ms: number | null): number | null => (ms === null ? null : recordedMs(pace, ms));
  // An age is a time too, which ran at the evaluator's pace.
  const isAge = metricCatalogue.get(body.metricId)?.derivation.from === 'age';
  const own = <V extends number | null>(value: V): V =>
    isAge && value !== null ? ((value * pace.factor) as V) : value;
  return {
    rule: body.ruleDisplayName,
    severity: body.severity,
    vm: body.vm,
    labels: body.labels,
    state: body.state,
    startedMs: recordedMs(pace, body.startedMs),
    firedMs: recordedMs(pace, body.firedMs),
    recoveredMs: at(body.recoveredMs),
    value: own(body.value),
    condition: `${body.metricId} ${body.operator} ${own(body.threshold)}`,
    dataMissingSinceMs: at(body.dataMissingSinceMs),
    correctedAfterNotification: body.correctedAfterNotification,
  };
}

function deliveryOf(
  { value, context }: Instance<'delivery'>,
  incidents: ReadonlyMap<string, IncidentBody>,
  pace: Pace,
): ReplayedDelivery {
  const delivery = context;
  const incident = incidents.get(delivery.incident);
  const { event, occurrence, destination, reason, createdMs } = delivery;
  return {
    atMs: recordedMs(pace, delivery.attempts[0]?.startedMs ?? createdMs),
    event,
    occurrence,
    destination,
    rule: incident?.ruleDisplayName ?? delivery.rule,
    vm: incident?.vm ?? '',
    labels: incident?.labels ?? '',
    outcome: value === 'sent' ? 'SENT' : (reason ?? String(value).toUpperCase()),
  };
}

const PAGE = 1_000;

function keyOf({ rule, vm, labels }: Pick<ReplayedIncident, 'rule' | 'vm' | 'labels'>): string {
  return JSON.stringify([vm, rule, labels]);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
