/**
 * Index columns of instances and records. Each machine declares which context field fills which
 * column. The file stores the declarations by which its columns were filled. If a program declares
 * others, the columns of those machines are filled again at the start, in one transaction.
 */
import {
  type IndexName,
  indexedValue,
  type MachineDefinition,
  type MachineRow,
} from '../../../machines/platform/definition.ts';
import type { IncidentStatus, StoredRecord } from '../../../streams/platform/commit/projection.ts';
import type { SqliteDatabase } from '../database.ts';
import { checksumOf } from '../row-checksum.ts';
import { INSTANCE_COLUMNS } from './instances-schema.ts';

/** Machines by name, reduced to the store's needs: which fields of their contexts are indexed. */
export type IndexedMachines = ReadonlyMap<string, Pick<MachineDefinition, 'indexes'>>;

const INDEXES = [
  ...(['owner', 'subject', 'incident', 'destination', 'event'] as const),
] as const satisfies readonly IndexName[];

/** Names of the index columns, in the order of `indexValues`. */
const INDEX_COLUMNS: readonly string[] = INDEXES;

/** Values of a machine's row in its index columns; null: it is not in that index. */
export function indexValues(
  machines: IndexedMachines,
  machine: string,
  context: MachineRow['context'],
): (string | null)[] {
  return INDEXES.map((index) => indexedValue(machines.get(machine), index, context));
}

/** Fills the columns of machines whose declared indexes differ from those in the file. */
export function fillIndexes(database: SqliteDatabase, machines: IndexedMachines): void {
  const fill = database.transaction(() => {
    const filled = filledBy(database);
    for (const machine of new Set([...filled.keys(), ...machines.keys()])) {
      const declared = JSON.stringify(fieldsOf(machines, machine));
      if (declared === (filled.get(machine) ?? NO_FIELDS)) continue;
      fillMachine(database, machine, fieldsOf(machines, machine));
      database
        .prepare(
          'INSERT OR REPLACE INTO instance_indexes (machine, fields, checksum) VALUES (?, ?, ?)',
        )
        .run(machine, declared, checksumOf([machine, declared]));
    }
  });
  fill.immediate();
}

/** Context fields of the columns, in their order; null: the machine has no such index. */
function fieldsOf(machines: IndexedMachines, machine: string): (string | null)[] {
  return INDEXES.map((index) => machines.get(machine)?.indexes?.[index] ?? null);
}

const NO_FIELDS = JSON.stringify(INDEXES.map(() => null));

function filledBy(database: SqliteDatabase): Map<string, string> {
  const rows = database.prepare('SELECT machine, fields FROM instance_indexes').all();
  return new Map((rows as FilledRow[]).map(({ machine, fields }) => [machine, fields]));
}

interface FilledRow {
  readonly machine: string;
  readonly fields: string;
}

function fillMachine(
  database: SqliteDatabase,
  machine: string,
  fields: readonly (string | null)[],
): void {
  const set = INDEXES.map((column) => `${column} = context ->> ?`).join(', ');
  const isIndex = (column: string) => INDEX_COLUMNS.includes(column);
  const after = INSTANCE_COLUMNS.map((column) => (isIndex(column) ? 'context ->> ?' : column));
  // A row that is damaged keeps its checksum, which continues to differ.
  const isSound = `checksum IS row_checksum(${INSTANCE_COLUMNS.join(', ')})`;
  database
    .prepare(
      `UPDATE instances SET ${set},
         checksum = iif(${isSound}, row_checksum(${after.join(', ')}), checksum)
       WHERE machine = ?`,
    )
    .run(...fields, ...fields, machine);
}

/**
 * Columns by which records are found, besides their id. Written once per record, because
 * expressions over the JSON of a body would be evaluated again for every index and every write.
 */
export const RECORD_INDEXES = ['status', 'severity', 'rule', 'vm', 'place'] as const;

/** Value of each index column; null: the record is not in that index. */
type RecordIndexValues = Readonly<Record<(typeof RECORD_INDEXES)[number], string | null>>;

/** Index values of a record; all are null for a kind that is found only by id. */
export function recordIndexValues({ kind, body }: Pick<StoredRecord, 'kind' | 'body'>) {
  return indexesOf[kind]?.(body) ?? NOT_INDEXED;
}

const NOT_INDEXED: RecordIndexValues = {
  status: null,
  severity: null,
  rule: null,
  vm: null,
  place: null,
};

const indexesOf: Readonly<Record<string, (body: StoredRecord['body']) => RecordIndexValues>> = {
  // All except the status stay the same for the incident's life.
  incident: (body) => ({
    status: statusOf(body),
    severity: textOf(body.severity),
    rule: textOf(body.rule),
    vm: textOf(body.vm),
    place: textOf(body.datacenter ?? body.vmDatacenter),
  }),
};

/** An open incident's status shows whether it was acknowledged or snoozed. */
function statusOf({ state, acknowledged, snoozedUntilMs }: StoredRecord['body']) {
  if (state !== 'FIRING') return textOf(state);
  // Bodies of older programs lack the fields of later features.
  const isAcknowledged = (acknowledged ?? null) !== null;
  const isSnoozed = (snoozedUntilMs ?? null) !== null;
  if (isAcknowledged)
    return (isSnoozed ? 'ACKNOWLEDGED_SNOOZED' : 'ACKNOWLEDGED') satisfies IncidentStatus;
  return (isSnoozed ? 'SNOOZED' : 'FIRING') satisfies IncidentStatus;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
