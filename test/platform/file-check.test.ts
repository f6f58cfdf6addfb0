/**
 * Checks of whole databases and of write-ahead logs, on small files: damage is told from an
 * operator's own changes and from the remains of a crash.
 */
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Test, test } from 'tap';
import { openDatabase } from '../../sqlite/platform/database.ts';
import { checkFile } from '../../sqlite/platform/file-check.ts';
import { scanLog } from '../../sqlite/platform/log-scan.ts';
import { checksumOf } from '../../sqlite/platform/row-checksum.ts';

const schema = {
  area: 'notes',
  migrations: [
    {
      id: 1,
      sql: `CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL, size REAL,
        data BLOB, checksum INTEGER) STRICT; CREATE INDEX note_by_text ON note (text)`,
    },
  ],
} as const;

function openNotes(path: string) {
  return openDatabase({ path, synchronous: 'FULL', ...schema });
}

/** A file with some notes, closed. */
function notes(t: Test): string {
  const path = join(t.testdir(), 'notes.db');
  const database = openNotes(path);
  const add = database.prepare('INSERT INTO note VALUES (?, ?, ?, ?, ?)');
  for (let id = 1; id <= 40; id++) {
    const columns = [id, `note ${id} ü\u0000`, id / 3, Buffer.from([id, 0])] as const;
    add.run(...columns, checksumOf(columns));
  }
  add.run(41, 'older', null, null, null);
  database.close();
  return path;
}

function check(path: string) {
  const database = openDatabase({ path, synchronous: 'NORMAL', readonly: true, ...schema });
  try {
    return checkFile(database, 'notes.db', schema);
  } finally {
    database.close();
  }
}

function change(path: string, sql: string): void {
  const database = new Database(path).unsafeMode(true);
  database.exec(sql);
  database.close();
}

test('a sound file has no damage, and older rows are counted as unproven', (t) => {
  t.match(check(notes(t)), { rows: 40, unproven: 1, damage: [] });
  t.end();
});

test('DUR-29: each changed column of a row is found, with the row', (t) => {
  for (const set of ["text = 'x'", 'size = size + 1', "data = x'00'", 'data = NULL', 'id = 99']) {
    const path = notes(t);
    change(path, `UPDATE note SET ${set} WHERE id = 7`);
    const { damage } = check(path);
    t.match(damage, [{ kind: 'row', table: 'note', row: set.startsWith('id') ? '99' : '7' }], set);
    t.equal(damage.length, 1);
  }
  t.end();
});

test('DUR-29: a missing index entry and a changed definition are found', (t) => {
  const path = notes(t);
  change(
    path,
    `PRAGMA writable_schema = ON;
     UPDATE sqlite_schema SET sql = 'CREATE INDEX note_by_text ON note (size)'
       WHERE name = 'note_by_text'`,
  );
  t.ok(check(path).damage.some(({ table }) => table === 'note_by_text'));
  t.end();
});

test('DUR-29: a changed row of the migrations is found', (t) => {
  const path = notes(t);
  change(path, "INSERT INTO schema_migrations VALUES ('other', 1)");
  t.match(check(path).damage, [{ kind: 'structure', table: 'schema_migrations' }]);
  t.end();
});

test('an index and statistics of an operator are not damage', (t) => {
  const path = notes(t);
  change(path, 'CREATE INDEX mine ON note (size); ANALYZE');
  t.same(check(path).damage, []);
  t.end();
});

/** The file and its log as a killed process leaves them, after some transactions. */
function killed(t: Test): string {
  const folder = t.testdir();
  const path = join(folder, 'notes.db');
  const database = openNotes(path);
  for (let id = 1; id <= 10; id++) database.exec(`INSERT INTO note (text) VALUES ('${id}')`);
  const copy = join(folder, 'copy.db');
  for (const suffix of ['', '-wal']) copyFileSync(path + suffix, copy + suffix);
  database.close();
  return copy;
}

test('DUR-29: a flipped bit in each part of a log is found before SQLite drops the rest', (t) => {
  const path = killed(t);
  const whole = readFileSync(`${path}-wal`);
  t.same(scanLog(path).lost, 0);
  const { frames } = scanLog(path);
  t.ok(frames > 10);
  for (let at = 0; at < whole.length - 3 * 4_120; at += 131) {
    const bytes = Buffer.from(whole);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
    writeFileSync(`${path}-wal`, bytes);
    const scan = scanLog(path);
    // Bytes 12 to 15 count checkpoints; like all of the header, its checksum covers them.
    if (scan.lost === 0) t.fail(`byte ${at} of ${whole.length}`);
  }
  t.end();
});

test('an unfinished transaction at the end of a log is not damage', (t) => {
  const path = killed(t);
  const whole = readFileSync(`${path}-wal`);
  for (const left of [0, 20, 32, 40, 4_000, 32 + 4_120, whole.length - 4_120, whole.length - 1]) {
    writeFileSync(`${path}-wal`, whole.subarray(0, left));
    t.same(scanLog(path).lost, 0, `${left} bytes`);
  }
  t.ok(statSync(path).size > 0);
  t.end();
});
