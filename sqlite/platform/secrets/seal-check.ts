/** Opens every sealed value of `secrets.db` to find the damaged ones. No value leaves this module. */
import { systemRandom } from '../../../streams/platform/random.ts';
import type { SqliteDatabase } from '../database.ts';
import { type Damage, isDamagedFile } from '../file-check.ts';
import { createKeyRing, KEY_CHANGE, type KeyRing, openKeyChange } from './key-change.ts';
import { SealBroken } from './seal.ts';
import { BODY, EXCERPT } from './secret-file.ts';

interface SealedRow {
  readonly id: string;
  readonly purpose: string;
  readonly value: Uint8Array;
}

const TABLES: Readonly<Record<string, string>> = {
  sealed: 'SELECT id, purpose, value FROM sealed',
  bodies: `SELECT delivery_id AS id, '${BODY}' AS purpose, value FROM bodies`,
  excerpts: `SELECT attempt_id AS id, '${EXCERPT}' AS purpose, value FROM excerpts`,
};

/** Maximum values reported. */
const BROKEN_MAX = 100;

/**
 * Values that the key does not open; during a change of the key, neither of the two. Throws
 * `WrongMasterKey` for a key of another length, or one that is not in the change.
 */
export function brokenSeals(
  database: SqliteDatabase,
  masterKey: Uint8Array,
): Omit<Damage, 'file'>[] {
  return database.transaction(() => {
    try {
      return brokenUnder(database, keysOf(database, masterKey));
    } catch (error) {
      if (!(error instanceof SealBroken || error instanceof SyntaxError)) throw error;
      const detail = 'the record of the change of the master key cannot be read';
      return [{ kind: 'row', table: 'sealed', row: KEY_CHANGE.id, detail } as const];
    }
  })();
}

/** Throws `SealBroken` or `SyntaxError` if the record of a change was damaged. */
function keysOf(database: SqliteDatabase, masterKey: Uint8Array): KeyRing {
  const options = { masterKey, random: systemRandom };
  const record = database
    .prepare<[string, string], Buffer>('SELECT value FROM sealed WHERE id = ? AND purpose = ?')
    .pluck()
    .get(KEY_CHANGE.id, KEY_CHANGE.purpose);
  return createKeyRing(options, record && openKeyChange(record, options, 'secrets.db'));
}

function brokenUnder(database: SqliteDatabase, seal: KeyRing): Omit<Damage, 'file'>[] {
  const broken: Omit<Damage, 'file'>[] = [];
  for (const [table, select] of Object.entries(TABLES)) {
    try {
      for (const { id, purpose, value } of database.prepare<[], SealedRow>(select).iterate()) {
        if (broken.length >= BROKEN_MAX) return broken;
        // The record of a change holds sealed keys, and is not sealed itself.
        if (purpose === KEY_CHANGE.purpose || opens(() => seal.open(id, purpose, value))) continue;
        const detail = `the sealed ${purpose} cannot be opened`;
        broken.push({ kind: 'row', table, row: id, detail });
      }
    } catch (error) {
      if (!isDamagedFile(error)) throw error;
      broken.push({ kind: 'structure', table, row: null, detail: (error as Error).message });
    }
  }
  return broken;
}

function opens(open: () => unknown): boolean {
  try {
    open();
    return true;
  } catch (error) {
    if (error instanceof SealBroken) return false;
    throw error;
  }
}
