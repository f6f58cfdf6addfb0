/**
 * Reads of a project's projection: instances, records and transitions, as the commits left them.
 * The store (`sqlite/platform/control/instance-store.ts`) reads applied rows; an overlay adds the
 * changes being decided. Contexts are JSON of the version that wrote them; the host upgrades and
 * types them (`actors/platform/host/rows.ts`).
 */
import type { StateValueJson } from '../../../machines/platform/definition.ts';
import type { Actor, TimerRow } from './commit.ts';

/** A machine instance as its last step left it. */
export interface StoredInstance {
  readonly machine: string;
  readonly version: number;
  readonly instance: string;
  readonly project: string;
  readonly value: StateValueJson;
  readonly context: Readonly<Record<string, unknown>>;
  readonly timers: readonly TimerRow[];
  readonly final: boolean;
  /** Time of the first and of the last step, Unix ms. */
  readonly createdMs: number;
  readonly updatedMs: number;
}

export interface StoredRecord {
  readonly project: string;
  readonly kind: string;
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly sort: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  /**
   * Pass back as `after`; absent on the last page. Stays valid while rows are added and removed.
   */
  readonly next?: string;
}

export interface ListOptions {
  readonly limit: number;
  readonly after?: string;
  /** Default false: ascending. */
  readonly descending?: boolean;
}

/** Filter of a machine's instances. */
export interface InstanceFilter {
  /** true: only final ones; false: only others. Absent: both. */
  readonly final?: boolean;
  /** Only those whose machine's `owner` index has this value. Absent: all. */
  readonly owner?: string;
  /** Only those whose `incident` index has this value; `final` and `owner` are then ignored. */
  readonly incident?: string;
}

/** Status of an incident; while it fires, whether someone has acknowledged it. */
export const INCIDENT_STATUSES = [
  ...(['FIRING', 'ACKNOWLEDGED', 'SNOOZED', 'ACKNOWLEDGED_SNOOZED'] as const),
  ...(['RECOVERED', 'RETIRED'] as const),
] as const;
export type IncidentStatus = (typeof INCIDENT_STATUSES)[number];

/** Filter of incidents; each list holds alternatives. */
export interface IncidentFilter {
  readonly statuses: readonly IncidentStatus[];
  readonly severities: readonly string[];
  readonly rule?: string;
  /** VM ids; '' = a whole data center. */
  readonly vms?: readonly string[];
  /** Data center of the incident, or of its VM when it began. */
  readonly place?: string;
  /** Lower and upper bound of the sort key; the upper one is excluded. */
  readonly sortFrom?: string;
  readonly sortBefore?: string;
}

/** Filter of deliveries; each list holds alternatives. */
export interface DeliveryFilter {
  readonly states: readonly string[];
  readonly events: readonly string[];
  readonly destination?: string;
  readonly incident?: string;
  /** Creation time, from and to, both included, Unix ms. */
  readonly sinceMs?: number;
  readonly untilMs?: number;
}

/** Open incidents of one status and severity. */
export interface IncidentCount {
  readonly status: IncidentStatus;
  readonly severity: string;
  readonly count: number;
}

/** Filter of transitions. Absent: all. */
export interface TransitionFilter {
  readonly machine?: string;
  readonly instance?: string;
  /** Commit time, from and to, both included, Unix ms. */
  readonly sinceMs?: number;
  readonly untilMs?: number;
  /** Types of events; empty matches none. */
  readonly events?: readonly string[];
  /** `Actor.name`. */
  readonly actor?: string;
  /** Client's id of the request that decided it. */
  readonly request?: string;
  /**
   * Steps caused by an actor of these kinds, by these machines, or with these events. The events
   * belong to machines other than those.
   */
  readonly actions?: {
    readonly kinds: readonly Actor['kind'][];
    readonly machines: readonly string[];
    readonly events: readonly string[];
  };
}

/** Number of instances by state; a state without instances is absent. */
export type StateCounts = ReadonlyMap<string, number>;

/** Instances to count: live ones, ended ones, or those in one state for a destination. */
export type InstanceCount =
  | (Pick<InstanceFilter, 'owner'> & { readonly final: boolean })
  | { readonly destination: string; readonly state: string };

/** One row of the audit: the recorded step. */
export interface RecordedTransition {
  /** Position in EVENTS. */
  readonly sequence: number;
  readonly atMs: number;
  readonly by: Actor;
  readonly machine: string;
  readonly instance: string;
  readonly event: Readonly<Record<string, unknown>>;
  readonly from: StateValueJson | null;
  readonly to: StateValueJson;
  /** Client's id of the request that decided it; null = none. */
  readonly requestId: string | null;
}

/** Reads of one project's projection: synchronous, consistent within one turn of the event loop. */
export interface StoredView {
  readonly project: string;
  instance(machine: string, instance: string): StoredInstance | undefined;
  /** Ordered by creation time, then id. Throws `Refusal` INVALID_FIELD for a foreign `after`. */
  instances(machine: string, options: ListOptions & InstanceFilter): Page<StoredInstance>;
  record(kind: string, id: string): StoredRecord | undefined;
  /** Ordered by `sort`, then id (byte order). */
  records(kind: string, options: ListOptions): Page<StoredRecord>;
  countInstances(machine: string, options: InstanceCount): number;
  /**
   * Ordered by position; only applied records, even in a draft. One of several filters uses an
   * index and the others leave items out, so a page may have fewer than `limit` and still a next
   * one.
   */
  transitions(options: ListOptions & TransitionFilter): Page<RecordedTransition>;
}

/** The applied part of a project's projection, with more indexes than decisions need. */
export interface StoredReads extends StoredView {
  /** Count per state, of instances in no final state or of those that ended since then, Unix ms. */
  countByState(machine: string, of: 'live' | { readonly endedSinceMs: number }): StateCounts;
  /** Newest first, by index. A page may have fewer than `limit` and still a next one. */
  incidents(filter: IncidentFilter, options: Omit<ListOptions, 'descending'>): Page<StoredRecord>;
  /** Counts of open incidents. */
  countIncidents(): readonly IncidentCount[];
  /** Like `incidents`. */
  deliveries(
    filter: DeliveryFilter,
    options: Omit<ListOptions, 'descending'>,
  ): Page<StoredInstance>;
}

/** A timer with the instance it belongs to. */
export interface DueTimer extends TimerRow {
  readonly project: string;
  readonly machine: string;
  readonly instance: string;
}

/** A committed request, with the response to an exact resend. */
export interface RecordedRequest {
  readonly fingerprint: string;
  readonly answer: Readonly<Record<string, unknown>>;
  readonly atMs: number;
  /** Position in EVENTS of the commit that recorded it. */
  readonly sequence: number;
}

/** Time for which a committed request is remembered, ms; after that its id may be reused. */
export const REQUEST_KEPT_MS = 7 * 86_400_000;
