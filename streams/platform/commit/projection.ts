/**
 * Reads of a project's projection: instances, records and transitions, as the commits left them.
 * The store (`sqlite/platform/control/instance-store.ts`) reads what is applied, an overlay adds
 * the changes being decided. Contexts are JSON of whatever version wrote them; the host brings them
 * up to date and types them (`actors/platform/host/rows.ts`).
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
  /** Unix ms of the first and of the last step. */
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
  /** Pass back as `after`; absent on the last page. Valid while things come and go. */
  readonly next?: string;
}

export interface ListOptions {
  readonly limit: number;
  readonly after?: string;
  /** Default false: ascending. */
  readonly descending?: boolean;
}

/** Which instances of a machine are meant. */
export interface InstanceFilter {
  /** Absent: those that are in a final state, and those that are not. */
  readonly final?: boolean;
  /** Only those whose machine's `owner` index has this value. Absent: all. */
  readonly owner?: string;
  /** Only those whose `incident` index has this value; `final` and `owner` are then ignored. */
  readonly incident?: string;
}

/** The status of an incident; while it fires, whether somebody has taken notice. */
export const INCIDENT_STATUSES = [
  ...(['FIRING', 'ACKNOWLEDGED', 'SNOOZED', 'ACKNOWLEDGED_SNOOZED'] as const),
  ...(['RECOVERED', 'RETIRED'] as const),
] as const;
export type IncidentStatus = (typeof INCIDENT_STATUSES)[number];

/** Which incidents are meant: each list is of alternatives. */
export interface IncidentFilter {
  readonly statuses: readonly IncidentStatus[];
  readonly severities: readonly string[];
  readonly rule?: string;
  /** VM ids; '' = of a whole data center. */
  readonly vms?: readonly string[];
  /** Data center of the incident, or of its VM when it began. */
  readonly place?: string;
  /** Sort keys from here on, up to and without there. */
  readonly sortFrom?: string;
  readonly sortBefore?: string;
}

/** Which deliveries are meant: each list is of alternatives. */
export interface DeliveryFilter {
  readonly states: readonly string[];
  readonly events: readonly string[];
  readonly destination?: string;
  readonly incident?: string;
  /** Created in this stretch, both ends in it, Unix ms. */
  readonly sinceMs?: number;
  readonly untilMs?: number;
}

/** Open incidents of one status and severity. */
export interface IncidentCount {
  readonly status: IncidentStatus;
  readonly severity: string;
  readonly count: number;
}

/** Which transitions are meant. Absent: all. */
export interface TransitionFilter {
  readonly machine?: string;
  readonly instance?: string;
  /** Committed in this stretch, both ends in it, Unix ms. */
  readonly sinceMs?: number;
  readonly untilMs?: number;
  /** Types of events; empty: none is meant. */
  readonly events?: readonly string[];
  /** `Actor.name`. */
  readonly actor?: string;
  /** Client's id of the request that decided it. */
  readonly request?: string;
  /**
   * Steps that an actor of these kinds caused, of these machines, or with these events. The events are
   * of other machines than those.
   */
  readonly acts?: {
    readonly kinds: readonly Actor['kind'][];
    readonly machines: readonly string[];
    readonly events: readonly string[];
  };
}

/** Instances by their state; a state without any is absent. */
export type StateCounts = ReadonlyMap<string, number>;

/** What is counted: live instances or ended ones, or those in one state that are for a destination. */
export type InstanceCount =
  | (Pick<InstanceFilter, 'owner'> & { readonly final: boolean })
  | { readonly destination: string; readonly state: string };

/** One row of the audit: what the log recorded of a step. */
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
   * Ordered by position; in a draft too, only what is applied. Of several filters one is looked up,
   * and the others leave items out: a page may have fewer than `limit`, and a next one.
   */
  transitions(options: ListOptions & TransitionFilter): Page<RecordedTransition>;
}

/** What is applied of a project's projection, found by more indexes than decisions need. */
export interface StoredReads extends StoredView {
  /** How many are in each state, of those in none that is final, or that ended since then, Unix ms. */
  countByState(machine: string, of: 'live' | { readonly endedSinceMs: number }): StateCounts;
  /** Newest first, by index. A page may have fewer than `limit`, and a next one. */
  incidents(filter: IncidentFilter, options: Omit<ListOptions, 'descending'>): Page<StoredRecord>;
  /** The open ones. */
  countIncidents(): readonly IncidentCount[];
  /** As `incidents`. */
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

/** A request that was committed: what an exact resend is answered with. */
export interface RecordedRequest {
  readonly fingerprint: string;
  readonly answer: Readonly<Record<string, unknown>>;
  readonly atMs: number;
  /** Position in EVENTS of the commit that recorded it. */
  readonly sequence: number;
}

/** How long a committed request is remembered, ms; afterwards its id may be used again. */
export const REQUEST_KEPT_MS = 7 * 86_400_000;
