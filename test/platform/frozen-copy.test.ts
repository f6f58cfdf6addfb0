/**
 * Copies of several databases at one moment: a writer raises a count in three files, one after the
 * other within a turn, and no copy shows a moment in between.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Test, test } from 'tap';
import { CopyFailed, copyFrozen } from '../../sqlite/platform/backup/frozen-copy.ts';
import { openDatabase } from '../../sqlite/platform/database.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { dataFolder } from '../support/program.ts';

const NAMES = ['a.db', 'b.db', 'c.db'];

/**
 * Three databases, each with a count and some padding, and a writer that raises all counts in one
 * turn.
 */
function counters(t: Test) {
  const folder = dataFolder(t);
  const databases = NAMES.map((name) => {
    const database = openDatabase({
      path: join(folder, name),
      synchronous: 'NORMAL',
      migrations: [
        {
          id: 1,
          sql: 'CREATE TABLE n (id INTEGER PRIMARY KEY, count INTEGER, weight BLOB) STRICT',
        },
      ],
    });
    const insert = database.prepare('INSERT INTO n (count, weight) VALUES (0, randomblob(4000))');
    for (let i = 0; i < 300; i++) insert.run();
    return database;
  });
  const raises = databases.map((database) =>
    database.prepare('UPDATE n SET count = count + 1 WHERE id <= 10'),
  );
  let writing = true;
  let count = 0;
  const write = (): void => {
    if (!writing) return;
    for (const raise of raises) raise.run();
    count++;
    setImmediate(write);
  };
  write();
  t.teardown(() => {
    writing = false;
    for (const database of databases) database.close();
  });
  const files = NAMES.map((name) => ({
    path: join(folder, name),
    to: join(folder, `copy-${name}`),
    ask: 'SELECT count FROM n WHERE id = 1',
  }));
  return { folder, files, count: () => count };
}

test('DUR-18: copies of several databases show one moment during writes', async (t) => {
  const { files, count } = counters(t);
  for (let times = 0; times < 3; times++) {
    let frozenAt = -1;
    let steps = 0;
    const before = count();
    const copies = await copyFrozen({
      files,
      clock: systemClock,
      signal: AbortSignal.timeout(180_000),
      onFrozen: () => {
        frozenAt = count();
      },
      onProgress: () => {
        steps++;
      },
    });
    t.ok(steps > 0, 'it reports its progress');
    t.same(
      copies.flatMap(({ answers }) => answers),
      NAMES.map(() => ({ count: frozenAt })),
      'the query’s answers show that moment',
    );
    const counts = files.map(({ to }) => {
      const copy = new Database(to, { readonly: true });
      const found = copy.prepare('SELECT min(count) FROM n WHERE id <= 10').pluck().get();
      copy.close();
      return found;
    });
    t.same(counts, [frozenAt, frozenAt, frozenAt], 'the files show that moment');
    t.ok(count() > before, 'the writer continued during the copy');
  }
});

test('an aborted copy ends', async (t) => {
  const { files } = counters(t);
  const giveUp = new AbortController();
  const copying = copyFrozen({
    files,
    clock: systemClock,
    signal: giveUp.signal,
    onFrozen: () => giveUp.abort(new Error('given up')),
  });
  await t.rejects(copying, { message: 'given up' });
});

test('the error names the database that cannot be copied', async (t) => {
  const { files, folder } = counters(t);
  const options = { clock: systemClock, signal: AbortSignal.timeout(180_000) };
  const absent = { path: join(folder, 'absent.db'), to: join(folder, 'x.db') };
  await t.rejects(copyFrozen({ ...options, files: [...files, absent] }), {
    name: 'CopyFailed',
    code: 'SQLITE_CANTOPEN',
  });
  writeFileSync(join(folder, 'text.db'), 'this is text, not a database'.repeat(100));
  const text = { path: join(folder, 'text.db'), to: join(folder, 'x.db') };
  const error = await copyFrozen({ ...options, files: [text] }).catch((fault: unknown) => fault);
  t.ok(error instanceof CopyFailed && error.code === 'SQLITE_NOTADB', String(error));
  t.notOk(existsSync(join(folder, 'x.db')));
});
