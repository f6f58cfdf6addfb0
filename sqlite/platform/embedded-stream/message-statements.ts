/**
 * The prepared statements of the message table. Ranges are of positions, stream and sequence in
 * one integer, as the schema explains; all lower bounds are exclusive, upper ones inclusive unless
 * a statement says otherwise.
 */
import type { Statement } from 'better-sqlite3';
import type { SqliteDatabase } from '../database.ts';

interface StoredStream {
  id: number;
  identity: string;
  spec: string;
  last_sequence: number;
  last_time_ms: number;
  messages: number;
}

interface StoredMessage {
  position: number;
  subject: number;
  time_ms: number;
  message_id: string | null;
  data: Uint8Array;
}

const COLUMNS = 'position, subject, time_ms, message_id, data';

/**
 * Prepares them all for one connection.
 * @internal their types cannot be named outside of better-sqlite3, nor need they be
 */
export function messageStatements(database: SqliteDatabase) {
  const prepare = <P extends unknown[], R = unknown>(sql: string): Statement<P, R> =>
    database.prepare<P, R>(sql);
  const range = 'position > ? AND position <= ?';
  return {
    findStream: prepare<[string], StoredStream>('SELECT * FROM stream WHERE name = ?'),
    insertStream: prepare<[string, string, string]>(
      `INSERT INTO stream (name, identity, spec, last_sequence, last_time_ms, messages)
       VALUES (?, ?, ?, 0, 0, 0)`,
    ),
    updateStream: prepare<[number, number, number, number]>(
      'UPDATE stream SET last_sequence = ?, last_time_ms = ?, messages = ? WHERE id = ?',
    ),
    firstPosition: prepare<[number, number], { position: number | null }>(
      'SELECT min(position) AS position FROM stream_message WHERE position > ? AND position < ?',
    ),
    timeFrom: prepare<[number, number], { position: number; time_ms: number }>(
      `SELECT position, time_ms FROM stream_message WHERE position >= ? AND position < ?
       ORDER BY position LIMIT 1`,
    ),
    subjects: prepare<[number], { id: number; name: string }>(
      'SELECT id, name FROM stream_subject WHERE stream = ?',
    ),
    subjectName: prepare<[number], { name: string }>(
      'SELECT name FROM stream_subject WHERE id = ?',
    ),
    insertSubject: prepare<[number, string]>(
      'INSERT INTO stream_subject (stream, name) VALUES (?, ?)',
    ),
    lastOfSubject: prepare<[number], { position: number | null }>(
      'SELECT max(position) AS position FROM stream_message WHERE subject = ?',
    ),
    findId: prepare<[number, string], { sequence: number; time_ms: number }>(
      'SELECT sequence, time_ms FROM stream_message_id WHERE stream = ? AND message_id = ?',
    ),
    insertId: prepare<[number, string, number, number]>(
      'INSERT OR REPLACE INTO stream_message_id VALUES (?, ?, ?, ?)',
    ),
    removeIds: prepare<[number, number, number]>(
      `DELETE FROM stream_message_id WHERE stream = ? AND message_id IN (
         SELECT message_id FROM stream_message_id WHERE stream = ? AND time_ms <= ? LIMIT 2)`,
    ),
    insertMessage: prepare<[number, number, number, string | null, Uint8Array]>(
      'INSERT INTO stream_message VALUES (?, ?, ?, ?, ?)',
    ),
    readAll: prepare<[number, number, number], StoredMessage>(
      `SELECT ${COLUMNS} FROM stream_message WHERE ${range} ORDER BY position LIMIT ?`,
    ),
    readSubject: prepare<[number, number, number, number], StoredMessage>(
      `SELECT ${COLUMNS} FROM stream_message INDEXED BY stream_message_subject
       WHERE subject = ? AND ${range} ORDER BY position LIMIT ?`,
    ),
    // By position, not by subject: many subjects would have to be sorted first.
    readSubjects: prepare<[number, number, string, number], StoredMessage>(
      `SELECT ${COLUMNS} FROM stream_message NOT INDEXED
       WHERE ${range} AND subject IN (SELECT value FROM json_each(?)) ORDER BY position LIMIT ?`,
    ),
    removeBelow: prepare<[number, number, number]>(
      `DELETE FROM stream_message WHERE position IN (SELECT position FROM stream_message
       WHERE position > ? AND position < ? ORDER BY position LIMIT ?)`,
    ),
    removeSubjectBelow: prepare<[number, number, number]>(
      `DELETE FROM stream_message WHERE position IN (SELECT position FROM stream_message
       INDEXED BY stream_message_subject WHERE subject = ? AND position < ?
       ORDER BY position LIMIT ?)`,
    ),
    removeOne: prepare<[number]>('DELETE FROM stream_message WHERE position = ?'),
  };
}
