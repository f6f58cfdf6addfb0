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

/** Which transitions are meant. Absent: all. */
export interface TransitionFilter {
  readonly machine?: string;
  readonly instance?: string;
  /** Committed in this stretch, both ends in it, Unix ms. */
  readonly sinceMs?: number;
  readonly untilMs?: number;
}

/** What is counted: live instances or ended ones. */
export type InstanceCount = InstanceFilter & { readonly final: boolean };

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
  /** Ordered by position; in a draft too, only what is applied. */
  transitions(options: ListOptions & TransitionFilter): Page<RecordedTransition>;
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
