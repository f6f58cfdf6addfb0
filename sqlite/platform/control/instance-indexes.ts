/**
 * Index columns of `instances`: each machine declares which context field fills which column. The
 * file keeps the declarations its columns were filled by. When a program declares others, the
 * columns of those machines are filled again at the start, in one transaction.
 */
import {
  type IndexName,
  indexedValue,
  type MachineDefinition,
  type MachineRow,
} from '../../../machines/platform/definition.ts';
import type { SqliteDatabase } from '../database.ts';

export type IndexedMachines = ReadonlyMap<string, Pick<MachineDefinition, 'indexes'>>;

const INDEXES = [
  ...(['owner', 'subject', 'incident', 'destination', 'event'] as const),
] as const satisfies readonly IndexName[];

/** Names of the index columns, in the order of `indexValues`. */
export const INDEX_COLUMNS: readonly string[] = INDEXES;

/** What a row of the machine has in its index columns; null: it is not in that index. */
export function indexValues(
  machines: IndexedMachines,
  machine: string,
  context: MachineRow['context'],
): (string | null)[] {
  return INDEXES.map((index) => indexedValue(machines.get(machine), index, context));
}

/** Fills the columns of the machines that declare other indexes than those the file was filled by. */
export function fillIndexes(database: SqliteDatabase, machines: IndexedMachines): void {
  const fill = database.transaction(() => {
    const filled = filledBy(database);
    for (const machine of new Set([...filled.keys(), ...machines.keys()])) {
      const declared = JSON.stringify(fieldsOf(machines, machine));
      if (declared === (filled.get(machine) ?? NO_FIELDS)) continue;
      fillMachine(database, machine, fieldsOf(machines, machine));
      database
        .prepare('INSERT OR REPLACE INTO instance_indexes (machine, fields) VALUES (?, ?)')
        .run(machine, declared);
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
  database.prepare(`UPDATE instances SET ${set} WHERE machine = ?`).run(...fields, machine);
}
