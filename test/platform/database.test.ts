/** Opening a SQLite file: pragmas, migrations by area, and files that are rejected. */

import Database from 'better-sqlite3';
import { test } from 'tap';
import {
  migrate,
  openDatabase,
  SchemaMismatch,
  type SqliteDatabase,
} from '../../sqlite/platform/database.ts';

const first = { id: 1, sql: 'CREATE TABLE reading (value REAL) STRICT' };
const second = {
  id: 2,
  apply: (database: SqliteDatabase) => void database.exec('INSERT INTO reading VALUES (1.5)'),
};

test('DUR-10: an opened database uses WAL, the requested synchronous level and foreign keys', async (t) => {
  const path = `${t.testdir({})}/a.db`;
  const levels = { FULL: 2, NORMAL: 1 } as const;
  for (const synchronous of ['FULL', 'NORMAL'] as const) {
    const database = openDatabase({ path, synchronous, migrations: [] });
    t.equal(database.pragma('journal_mode', { simple: true }), 'wal');
    t.equal(database.pragma('synchronous', { simple: true }), levels[synchronous]);
    t.equal(database.pragma('wal_autocheckpoint', { simple: true }), 1000);
    t.equal(database.pragma('foreign_keys', { simple: true }), 1);
    t.equal(database.pragma('busy_timeout', { simple: true }), 250);
    database.close();
  }
});

test('migrations run once each, and each area of a shared file has its own numbers', async (t) => {
  const path = `${t.testdir({})}/a.db`;
  openDatabase({ path, synchronous: 'FULL', migrations: [first] }).close();
  const database = openDatabase({ path, synchronous: 'FULL', migrations: [first, second] });
  migrate(database, [first, second]);
  migrate(database, [{ id: 1, sql: 'CREATE TABLE other (id INTEGER) STRICT' }], 'other');
  t.same(database.prepare('SELECT value FROM reading').all(), [{ value: 1.5 }]);
  t.same(database.prepare('SELECT area, id FROM schema_migrations').all(), [
    { area: 'main', id: 1 },
    { area: 'main', id: 2 },
    { area: 'other', id: 1 },
  ]);
  database.close();
});

test('a failed migration is rolled back completely', async (t) => {
  const path = `${t.testdir({})}/a.db`;
  const broken = { id: 1, sql: 'CREATE TABLE half (id INTEGER); SELECT * FROM absent' };
  t.throws(() => openDatabase({ path, synchronous: 'FULL', migrations: [broken] }), /absent/);
  const database = openDatabase({ path, synchronous: 'FULL', migrations: [first] });
  t.same(database.prepare("SELECT name FROM sqlite_schema WHERE name = 'half'").all(), []);
  database.close();
});

test('a file of a newer program, or an unmigrated one opened read-only, is rejected', async (t) => {
  const path = `${t.testdir({})}/a.db`;
  openDatabase({ path, synchronous: 'FULL', migrations: [first] }).close();
  const options = { path, synchronous: 'FULL' } as const;
  t.throws(() => openDatabase({ ...options, migrations: [] }), SchemaMismatch);
  t.throws(
    () => openDatabase({ ...options, migrations: [first, second], readonly: true }),
    SchemaMismatch,
  );
  const reader = openDatabase({ ...options, migrations: [first], readonly: true });
  t.throws(() => reader.exec('DELETE FROM reading'), /readonly/);
  reader.close();
  t.throws(() => openDatabase({ ...options, migrations: [second] }), /number from 1/);
  new Database(`${path}2`).exec('CREATE TABLE foreign_data (id INTEGER)').close();
  const foreign = { ...options, path: `${path}2`, migrations: [first], readonly: true };
  t.throws(() => openDatabase(foreign), SchemaMismatch, 'a file without our schema');
});
