/** Daily changes by callers, summed up by project as commits are applied. */
import { dayOf, isByCaller, useOf } from '../../../streams/platform/commit/change-use.ts';
import { decisionSizes, type EncodedCommit } from '../../../streams/platform/commit/codec.ts';
import type { SqliteDatabase } from '../database.ts';
import { checksumOf } from '../row-checksum.ts';

/** Adds a commit to its project's day; call it in the transaction that applies the commit. */
export function changeUseWriter(database: SqliteDatabase): (encoded: EncodedCommit) => void {
  // A different day is a later one, or an earlier one if the clock was set back. The count starts
  // again.
  const sum = (column: string) =>
    `iif(excluded.day = change_use.day, change_use.${column}, 0) + excluded.${column}`;
  const add = database.prepare<[string, number, number, number, number]>(
    `INSERT INTO change_use (project, day, bytes, things, checksum) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET day = excluded.day, bytes = ${sum('bytes')}, things = ${sum('things')},
    checksum = row_checksum(project, excluded.day, ${sum('bytes')}, ${sum('things')})`,
  );
  return ({ commit, bytes }) => {
    if (!commit.decisions.some(isByCaller)) return;
    const sizes = decisionSizes(bytes);
    for (const [i, decision] of commit.decisions.entries()) {
      if (!isByCaller(decision)) continue;
      const use = useOf(decision, sizes[i] ?? 0);
      const columns = [commit.project, dayOf(commit.at), use.bytes, use.things] as const;
      add.run(...columns, checksumOf(columns));
    }
  };
}
