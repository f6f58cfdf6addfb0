/** Daily changes by callers, summed up by project as commits are applied. */
import { dayOf, isByCaller, useOf } from '../../../streams/platform/commit/change-use.ts';
import { decisionSizes, type EncodedCommit } from '../../../streams/platform/commit/codec.ts';
import type { SqliteDatabase } from '../database.ts';

/** Adds a commit to its project's day; call it in the transaction that applies the commit. */
export function changeUseWriter(database: SqliteDatabase): (encoded: EncodedCommit) => void {
  // A different day is a later one, or the day before if the clock was set back: it counts anew.
  const add = database.prepare<[string, number, number, number]>(
    `INSERT INTO change_use (project, day, bytes, things) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET day = excluded.day,
    bytes = iif(excluded.day = change_use.day, change_use.bytes, 0) + excluded.bytes,
    things = iif(excluded.day = change_use.day, change_use.things, 0) + excluded.things`,
  );
  return ({ commit, bytes }) => {
    if (!commit.decisions.some(isByCaller)) return;
    const sizes = decisionSizes(bytes);
    for (const [i, decision] of commit.decisions.entries()) {
      if (!isByCaller(decision)) continue;
      const use = useOf(decision, sizes[i] ?? 0);
      add.run(commit.project, dayOf(commit.at), use.bytes, use.things);
    }
  };
}
