/**
 * The projection's rows as SQLite gives them, and the values they stand for. JSON columns hold what
 * this store wrote from typed values: their shape is not checked again on the way out.
 */
import type { StateValueJson } from '../../../machines/platform/definition.ts';
import type { Actor, TimerRow } from '../../../streams/platform/commit/commit.ts';
import type {
  DueTimer,
  RecordedTransition,
  StoredInstance,
  StoredRecord,
} from '../../../streams/platform/commit/projection.ts';
import { TRANSITION_PLACES } from './instances-schema.ts';

export interface PositionRow {
  readonly stream_identity: string;
  readonly applied: number;
  readonly applied_hash: string;
  readonly gapped: number;
}

export interface RequestRow {
  readonly fingerprint: string;
  readonly answer: string;
  readonly at: number;
  readonly sequence: number;
}

export interface InstanceRow {
  readonly project: string;
  readonly machine: string;
  readonly instance: string;
  readonly version: number;
  readonly value: string;
  readonly context: string;
  readonly timers: string;
  readonly final: number;
  readonly created: number;
  readonly updated: number;
}

export interface TimerTableRow {
  readonly project: string;
  readonly machine: string;
  readonly instance: string;
  readonly id: string;
  readonly due: number;
  readonly event: string;
}

export interface RecordRow {
  readonly project: string;
  readonly kind: string;
  readonly id: string;
  readonly sort: string;
  readonly body: string;
}

export interface TransitionRow {
  readonly id: number;
  readonly machine: string;
  readonly instance: string;
  readonly at: number;
  readonly actor: string;
  readonly event: string;
  readonly from_state: string | null;
  readonly to_state: string;
  readonly request: string | null;
}

export function toInstance(row: InstanceRow): StoredInstance {
  return {
    machine: row.machine,
    version: row.version,
    instance: row.instance,
    project: row.project,
    value: JSON.parse(row.value) as StateValueJson,
    context: JSON.parse(row.context) as Record<string, unknown>,
    timers: JSON.parse(row.timers) as TimerRow[],
    final: row.final === 1,
    createdMs: row.created,
    updatedMs: row.updated,
  };
}

export function toTimer(row: TimerTableRow): DueTimer {
  const { project, machine, instance, id, due } = row;
  const event = JSON.parse(row.event) as TimerRow['event'];
  return { project, machine, instance, id, dueMs: due, event };
}

export function toRecord(row: RecordRow): StoredRecord {
  const { project, kind, id, sort } = row;
  return { project, kind, id, sort, body: JSON.parse(row.body) as Record<string, unknown> };
}

export function toTransition(row: TransitionRow): RecordedTransition {
  return {
    sequence: Math.floor(row.id / TRANSITION_PLACES),
    atMs: row.at,
    by: JSON.parse(row.actor) as Actor,
    machine: row.machine,
    instance: row.instance,
    event: JSON.parse(row.event) as Record<string, unknown>,
    from: row.from_state === null ? null : (JSON.parse(row.from_state) as StateValueJson),
    to: JSON.parse(row.to_state) as StateValueJson,
    requestId: row.request,
  };
}
