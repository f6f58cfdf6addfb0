/**
 * The projection's rows as SQLite returns them, and the corresponding values. A row is returned only
 * if it has the checksum that was written with it. JSON columns hold what this store wrote from typed
 * values, so their shape is not checked again.
 */
import type { StateValueJson } from '../../../machines/platform/definition.ts';
import type { Actor, TimerRow } from '../../../streams/platform/commit/commit.ts';
import type {
  DueTimer,
  RecordedTransition,
  StoredInstance,
  StoredRecord,
} from '../../../streams/platform/commit/projection.ts';
import { assertChecksum, DamagedRow, type StoredValue } from '../row-checksum.ts';
import { INSTANCE_COLUMNS, TRANSITION_PLACES } from './instances-schema.ts';

/**
 * Conversions that first compare the row's checksum. Each function throws `DamagedRow`.
 * @param file path of the database
 */
export function soundRows(file: string) {
  const row = <R extends object>(table: string, key: string, stored: R): R => {
    assertSound(stored, { file, table, row: key });
    return stored;
  };
  return {
    row,
    instance: (stored: InstanceRow): StoredInstance => {
      const { project, machine, instance, checksum } = stored;
      // Without the generated column.
      const values = INSTANCE_COLUMNS.map((column) => stored[column as keyof InstanceRow] ?? null);
      assertChecksum(checksum ?? null, values, () => ({
        file,
        table: 'instances',
        row: `${project} ${machine} ${instance}`,
      }));
      return toInstance(stored);
    },
    record: (stored: RecordRow): StoredRecord =>
      toRecord(row('records', `${stored.project} ${stored.kind} ${stored.id}`, stored)),
    transition: (stored: TransitionRow): RecordedTransition =>
      toTransition(row('transitions', String(stored.id), stored)),
  };
}

/** Compares the checksum with all other columns of the row, which must be in their order. */
function assertSound(stored: object, place: { file: string; table: string; row: string }): void {
  const { checksum = null, ...columns } = stored as Record<string, StoredValue>;
  assertChecksum(checksum as number | null, Object.values(columns), () => place);
}

/** True if the row of a timer is unchanged. */
export function isSound(row: TimerTableRow): boolean {
  try {
    assertSound(row, { file: '', table: 'timers', row: row.id });
    return true;
  } catch (error) {
    if (!(error instanceof DamagedRow)) throw error;
    return false;
  }
}

/** Row of the projection's position in its stream; `gapped` is 0 or 1. */
export interface PositionRow {
  readonly stream_identity: string;
  readonly applied: number;
  readonly applied_hash: string;
  readonly gapped: number;
}

/**
 * A committed request: its fingerprint, and the JSON of its response for an exact resend. `at` is
 * Unix ms.
 */
export interface RequestRow {
  readonly fingerprint: string;
  readonly answer: string;
  readonly at: number;
  readonly sequence: number;
}

/**
 * Row of a machine instance. State value, context and timers are JSON; times are Unix ms, `final`
 * is 0 or 1.
 */
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
  readonly checksum?: number | null;
}

/** Row of a timer; `due` is Unix ms, `event` JSON. */
export interface TimerTableRow {
  readonly project: string;
  readonly machine: string;
  readonly instance: string;
  readonly id: string;
  readonly due: number;
  readonly event: string;
}

/** Row of a record. `sort` orders records of one kind, `body` is JSON. */
export interface RecordRow {
  readonly project: string;
  readonly kind: string;
  readonly id: string;
  readonly sort: string;
  readonly body: string;
}

/**
 * Row of a transition. `id` combines the commit's sequence and the place in it: ids rise in the
 * order of the decisions.
 */
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

/** The row with its JSON parsed. The context has the form of the machine version that wrote it. */
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

/** The row with its JSON parsed. */
export function toTimer(row: TimerTableRow): DueTimer {
  const { project, machine, instance, id, due } = row;
  const event = JSON.parse(row.event) as TimerRow['event'];
  return { project, machine, instance, id, dueMs: due, event };
}

function toRecord(row: RecordRow): StoredRecord {
  const { project, kind, id, sort } = row;
  return { project, kind, id, sort, body: JSON.parse(row.body) as Record<string, unknown> };
}

/** The row with its JSON parsed, and the commit's sequence extracted from its id. */
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
