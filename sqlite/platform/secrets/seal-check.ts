/** Opens every sealed value of `secrets.db` to find the damaged ones. No value leaves this module. */
import { systemRandom } from '../../../streams/platform/random.ts';
import type { SqliteDatabase } from '../database.ts';
import { type Damage, isDamagedFile } from '../file-check.ts';
import { createSeal, SealBroken } from './seal.ts';
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

/** Values that the key does not open. Throws `WrongMasterKey` for a key of another length. */
export function brokenSeals(
  database: SqliteDatabase,
  masterKey: Uint8Array,
): Omit<Damage, 'file'>[] {
  const seal = createSeal({ masterKey, random: systemRandom });
  const broken: Omit<Damage, 'file'>[] = [];
  for (const [table, select] of Object.entries(TABLES)) {
    try {
      for (const { id, purpose, value } of database.prepare<[], SealedRow>(select).iterate()) {
        if (broken.length >= BROKEN_MAX) return broken;
        if (opens(() => seal.open(id, purpose, value))) continue;
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
