/**
 * The tables of one file of streams: messages, and positions of the durable consumers. Appending
 * inside a transaction, reading ranges, removing. All calls are synchronous. Writing calls run
 * inside a transaction of the group commit, which makes the check of an expected sequence and the
 * insert one step.
 */
import type { Statement } from 'better-sqlite3';
import { AHEAD_MS_MAX, nextTime } from '../../../streams/platform/clock.ts';
import {
  type Append,
  type AppendOutcome,
  type StreamMessage,
  StreamMisconfigured,
  type StreamOrigin,
  type StreamSpec,
  type StreamState,
  subjectMatches,
} from '../../../streams/platform/stream.ts';
import type { SqliteDatabase } from '../database.ts';
import { SEQUENCE_SPAN } from './schema.ts';

/** A stream's row; its counters change inside a transaction and are written at its end. */
export interface StreamRow {
  readonly id: number;
  readonly identity: string;
  readonly spec: StreamSpec;
  lastSequence: number;
  lastTimeMs: number;
  messages: number;
}

/** Messages with a sequence in (`after`, `through`], in order. */
export interface MessageRange {
  readonly stream: string;
  readonly subject?: string | undefined;
  readonly after: number;
  readonly through: number;
  readonly limit: number;
}

/** Messages of all streams of a file. Used only inside transactions of the group commit. */
export class MessageTable {
  readonly #sql: ReturnType<typeof messageStatements>;
  /**
   * Rows read or changed in this transaction; between transactions, the state after the last one.
   */
  readonly #rows = new Map<string, StreamRow>();
  readonly #changed = new Set<StreamRow>();
  readonly #subjectIds = new Map<number, Map<string, number>>();
  readonly #subjectNames = new Map<number, string>();

  constructor(database: SqliteDatabase) {
    this.#sql = messageStatements(database);
  }

  /** Reads the counters again from now on: the transaction sees the file as it is. */
  begun(): void {
    this.#rows.clear();
  }

  /** Drops everything read or added: some of it is no longer true. */
  rolledBack(): void {
    this.#rows.clear();
    this.#changed.clear();
    this.#subjectIds.clear();
    this.#subjectNames.clear();
  }

  /** Writes the counters of the streams this transaction changed. */
  writeCounters(): void {
    for (const row of this.#changed) {
      this.#sql.updateStream.run(row.lastSequence, row.lastTimeMs, row.messages, row.id);
    }
    this.#changed.clear();
  }

  find(name: string): StreamRow | undefined {
    const known = this.#rows.get(name);
    if (known !== undefined) return known;
    const stored = this.#sql.findStream.get(name);
    if (stored === undefined) return undefined;
    const row: StreamRow = {
      id: stored.id,
      identity: stored.identity,
      // Written by `create` below from a StreamSpec, never by anyone else.
      spec: JSON.parse(stored.spec) as StreamSpec,
      lastSequence: stored.last_sequence,
      lastTimeMs: stored.last_time_ms,
      messages: stored.messages,
    };
    this.#rows.set(name, row);
    return row;
  }

  /** Like `find`. Throws `StreamMisconfigured` if there is no such stream. */
  get(name: string): StreamRow {
    const row = this.find(name);
    if (row === undefined) {
      throw new StreamMisconfigured(`Stream ${name} does not exist: create it with ensure first`);
    }
    return row;
  }

  create(spec: StreamSpec, { identity, firstSequence }: StreamOrigin): void {
    const last = firstSequence - 1;
    this.#sql.insertStream.run(spec.name, identity, JSON.stringify(spec), last);
  }

  /** Adds a message of another stream under its own sequence and time; copies are made in order. */
  copy(stream: string, { subject, sequence, timeMs, data, messageId }: StreamMessage): void {
    this.get(stream).lastSequence = sequence - 1;
    const append = { stream, subject, data, ...(messageId !== undefined && { messageId }) };
    const { kind } = this.append(append, timeMs);
    if (kind !== 'appended') throw new Error(`Message ${sequence} of ${stream} is already there`);
  }

  state(name: string): StreamState {
    const row = this.get(name);
    const first = this.#sql.firstPosition.get(base(row), base(row) + SEQUENCE_SPAN)?.position;
    return {
      identity: row.identity,
      firstSequence: typeof first === 'number' ? first - base(row) : row.lastSequence + 1,
      lastSequence: row.lastSequence,
      messages: row.messages,
    };
  }

  append(append: Append, nowMs: number): AppendOutcome {
    const row = this.get(append.stream);
    const { messageId, expectedLastSubjectSequence: expected } = append;
    if (messageId !== undefined) {
      const earlier = this.#sql.findId.get(row.id, messageId);
      if (earlier !== undefined && earlier.time_ms > nowMs - row.spec.duplicateWindowMs) {
        return { kind: 'duplicate', sequence: earlier.sequence };
      }
    }
    if (expected !== undefined && this.#lastOfSubject(row, append.subject) !== expected) {
      return { kind: 'wrongLastSequence' };
    }
    const sequence = row.lastSequence + 1;
    // Decreases only if the clock was set back. A search by time then finds one of two positions:
    // the first of the messages that were stored with the wrong time, or the right one.
    const timeMs = nextTime(row.lastTimeMs, Math.floor(nowMs));
    if (timeMs < row.lastTimeMs) {
      this.#sql.retimeIds.run(timeMs, row.id, timeMs + AHEAD_MS_MAX);
    }
    const subject = this.#subjectId(row, append.subject) ?? this.#addSubject(row, append.subject);
    const id = messageId ?? null;
    this.#sql.insertMessage.run(base(row) + sequence, subject, timeMs, id, append.data);
    if (id !== null) this.#rememberId(row, id, sequence, Math.floor(nowMs));
    row.lastSequence = sequence;
    row.lastTimeMs = timeMs;
    row.messages += 1;
    this.#changed.add(row);
    if (row.spec.lastOfSubject) this.removeBelow(append.stream, sequence, 1, append.subject);
    return { kind: 'appended', sequence };
  }

  read(range: MessageRange): StreamMessage[] {
    const row = this.get(range.stream);
    const from = base(row) + Math.max(0, range.after);
    const through = base(row) + Math.min(range.through, row.lastSequence);
    return this.#select(row, range.subject, from, through, range.limit).map((stored) => ({
      subject: this.#subjectName(stored.subject),
      sequence: stored.position - base(row),
      timeMs: stored.time_ms,
      data: stored.data,
      ...(stored.message_id === null ? {} : { messageId: stored.message_id }),
    }));
  }

  /** Sequence of the first message stored at `timeMs` or later, or one past the last. */
  firstSequenceAt(name: string, timeMs: number): number {
    const row = this.get(name);
    let low = this.state(name).firstSequence;
    let high = row.lastSequence + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const found = this.#sql.timeFrom.get(base(row) + middle, base(row) + high);
      if (found === undefined || found.time_ms >= timeMs) high = middle;
      else low = found.position - base(row) + 1;
    }
    return low;
  }

  /** Removes at most `limit` messages below `sequence`; returns the number removed. */
  removeBelow(name: string, sequence: number, limit: number, subject?: string): number {
    const row = this.get(name);
    const below = base(row) + Math.min(sequence, row.lastSequence + 1);
    if (subject === undefined) {
      return this.#removed(row, this.#sql.removeBelow.run(base(row), below, limit).changes);
    }
    const id = this.#subjectId(row, subject);
    if (id === undefined) return 0;
    return this.#removed(row, this.#sql.removeSubjectBelow.run(id, below, limit).changes);
  }

  removeOne(name: string, sequence: number): void {
    const row = this.get(name);
    this.#removed(row, this.#sql.removeOne.run(base(row) + sequence).changes);
  }

  /** Each new id makes room by forgetting two whose window has passed. */
  #rememberId(row: StreamRow, id: string, sequence: number, nowMs: number): void {
    this.#sql.insertId.run(row.id, id, sequence, nowMs);
    this.#sql.removeIds.run(row.id, row.id, nowMs - row.spec.duplicateWindowMs);
  }

  #removed(row: StreamRow, count: number): number {
    row.messages -= count;
    if (count > 0) this.#changed.add(row);
    return count;
  }

  #select(row: StreamRow, subject: string | undefined, from: number, to: number, limit: number) {
    if (subject === undefined) return this.#sql.readAll.all(from, to, limit);
    if (!/[*>]/.test(subject)) {
      const id = this.#subjectId(row, subject);
      return id === undefined ? [] : this.#sql.readSubject.all(id, from, to, limit);
    }
    const ids = [...this.#subjects(row)].filter(([name]) => subjectMatches(name, subject));
    const list = JSON.stringify(ids.map(([, id]) => id));
    return ids.length === 0 ? [] : this.#sql.readSubjects.all(from, to, list, limit);
  }

  #lastOfSubject(row: StreamRow, subject: string): number {
    const id = this.#subjectId(row, subject);
    const last = id === undefined ? null : this.#sql.lastOfSubject.get(id)?.position;
    return typeof last === 'number' ? last - base(row) : 0;
  }

  #subjects(row: StreamRow): Map<string, number> {
    let subjects = this.#subjectIds.get(row.id);
    if (subjects === undefined) {
      subjects = new Map();
      for (const { id, name } of this.#sql.subjects.all(row.id)) {
        subjects.set(name, id);
        this.#subjectNames.set(id, name);
      }
      this.#subjectIds.set(row.id, subjects);
    }
    return subjects;
  }

  #subjectId(row: StreamRow, subject: string): number | undefined {
    return this.#subjects(row).get(subject);
  }

  #addSubject(row: StreamRow, subject: string): number {
    const id = Number(this.#sql.insertSubject.run(row.id, subject).lastInsertRowid);
    this.#subjects(row).set(subject, id);
    this.#subjectNames.set(id, subject);
    return id;
  }

  #subjectName(id: number): string {
    const name = this.#subjectNames.get(id) ?? this.#sql.subjectName.get(id)?.name;
    if (name === undefined) throw new Error(`Subject ${id} is missing from stream_subject`);
    this.#subjectNames.set(id, name);
    return name;
  }
}

function base(row: StreamRow): number {
  return row.id * SEQUENCE_SPAN;
}

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
    insertStream: prepare<[string, string, string, number]>(
      `INSERT INTO stream (name, identity, spec, last_sequence, last_time_ms, messages)
       VALUES (?, ?, ?, ?, 0, 0)`,
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
    // Ids are recognised for their window from now on, not until the clock has caught up.
    retimeIds: prepare<[number, number, number]>(
      'UPDATE stream_message_id SET time_ms = ? WHERE stream = ? AND time_ms > ?',
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

// Positions and unacknowledged messages of the durable consumers.

/** A message delivered but not settled. */
export interface StoredPending {
  readonly sequence: number;
  readonly deliveryCount: number;
  /** After a nak: time at which it is due again, Unix ms, and the requested delay, ms. */
  readonly dueMs: number | null;
  readonly delayMs: number | null;
}

/**
 * A durable consumer's position. Messages after it may have been delivered too, and are delivered
 * again.
 */
export interface StoredConsumer {
  readonly id: number;
  /** Every matching message up to here was delivered at least once. */
  readonly deliveredThrough: number;
}

/** Positions of durable consumers, by stream and name. */
export class ConsumerTable {
  readonly #sql: ReturnType<typeof statements>;

  constructor(database: SqliteDatabase) {
    this.#sql = statements(database);
  }

  /** The consumer; a new one starts at the stream's beginning. */
  open(stream: number, durable: string): StoredConsumer {
    this.#sql.insert.run(stream, durable);
    const row = this.#sql.find.get(stream, durable);
    if (row === undefined) throw new Error(`Consumer ${durable} vanished in its own transaction`);
    return row;
  }

  pending(consumer: number): StoredPending[] {
    return this.#sql.pending.all(consumer);
  }

  /** Records a delivery: the first one, or one more. */
  delivered(consumer: number, sequence: number, deliveryCount: number): void {
    this.#sql.delivered.run(consumer, sequence, deliveryCount);
    this.#sql.advance.run(sequence, consumer);
  }

  /** Records that everything up to `sequence` was examined. */
  advance(consumer: number, sequence: number): void {
    this.#sql.advance.run(sequence, consumer);
  }

  settled(consumer: number, sequence: number): void {
    this.#sql.settled.run(consumer, sequence);
  }

  /** A nak: due again at `dueMs` (Unix ms), `delayMs` from now. */
  postponed(consumer: number, sequence: number, dueMs: number, delayMs: number): void {
    this.#sql.postponed.run(Math.ceil(dueMs), Math.ceil(delayMs), consumer, sequence);
  }
}

function statements(database: SqliteDatabase) {
  return {
    insert: database.prepare<[number, string]>(
      `INSERT INTO stream_consumer (stream, durable, delivered_through) VALUES (?, ?, 0)
       ON CONFLICT DO NOTHING`,
    ),
    find: database.prepare<[number, string], StoredConsumer>(
      `SELECT id, delivered_through AS deliveredThrough FROM stream_consumer
       WHERE stream = ? AND durable = ?`,
    ),
    pending: database.prepare<[number], StoredPending>(
      `SELECT sequence, delivery_count AS deliveryCount, due_ms AS dueMs, delay_ms AS delayMs
       FROM stream_pending WHERE consumer = ? ORDER BY sequence`,
    ),
    delivered: database.prepare<[number, number, number]>(
      'INSERT OR REPLACE INTO stream_pending VALUES (?, ?, ?, NULL, NULL)',
    ),
    advance: database.prepare<[number, number]>(
      `UPDATE stream_consumer SET delivered_through = max(delivered_through, ?) WHERE id = ?`,
    ),
    settled: database.prepare<[number, number]>(
      'DELETE FROM stream_pending WHERE consumer = ? AND sequence = ?',
    ),
    postponed: database.prepare<[number, number, number, number]>(
      'UPDATE stream_pending SET due_ms = ?, delay_ms = ? WHERE consumer = ? AND sequence = ?',
    ),
  };
}
