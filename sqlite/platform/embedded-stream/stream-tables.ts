/**
 * The messages of one file of streams: appending inside a transaction, reading ranges, removing. All
 * calls are synchronous. Writing calls run inside a transaction of the group commit, which makes the
 * check of an expected sequence and the insert one step.
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
import { assertChecksum, checksumOf, DamagedRow } from '../row-checksum.ts';
import { NewestMessages } from './newest-messages.ts';
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

/** A message that differs from the appended one. The damage may be in its time. */
export interface DamagedMessage {
  readonly sequence: number;
  readonly timeMs: number;
  readonly damage: DamagedRow;
}

/** Messages of all streams of a file. Used only inside transactions of the group commit. */
export class MessageTable {
  readonly #sql: ReturnType<typeof messageStatements>;
  readonly #file: string;
  /**
   * Rows read or changed in this transaction; between transactions, the state after the last one.
   */
  readonly #rows = new Map<string, StreamRow>();
  readonly #changed = new Set<StreamRow>();
  readonly #subjectIds = new Map<number, Map<string, number>>();
  readonly #subjectNames = new Map<number, string>();
  readonly #newest = new NewestMessages();

  constructor(database: SqliteDatabase) {
    this.#sql = messageStatements(database);
    this.#file = database.name;
  }

  /** Reads the counters again from now on: the transaction sees the file as it is. */
  begun(): void {
    this.#rows.clear();
  }

  /** Drops everything read or added, because some of it is no longer valid. */
  rolledBack(): void {
    this.#rows.clear();
    this.#changed.clear();
    this.#subjectIds.clear();
    this.#subjectNames.clear();
    this.#newest.dropAll();
  }

  /** Writes the counters of the streams this transaction changed. */
  writeCounters(): void {
    for (const row of this.#changed) {
      const counters = [row.lastSequence, row.lastTimeMs, row.messages] as const;
      this.#sql.updateStream.run(...counters, ...counters, row.id);
    }
    this.#changed.clear();
  }

  find(name: string): StreamRow | undefined {
    const known = this.#rows.get(name);
    if (known !== undefined) return known;
    const stored = this.#sql.findStream.get(name);
    if (stored === undefined) return undefined;
    const { checksum, ...columns } = stored;
    assertChecksum(checksum, Object.values(columns), () => this.#place('stream', name));
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
    this.#sql.sealStream.run(spec.name);
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
      if (earlier !== undefined) {
        const { checksum, sequence, time_ms: timeMs } = earlier;
        const columns = [row.id, messageId, sequence, timeMs];
        assertChecksum(checksum, columns, () => this.#place('stream_message_id', messageId));
      }
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
      this.#sql.retimeIds.run(timeMs, timeMs, row.id, timeMs + AHEAD_MS_MAX);
    }
    const subject = this.#subjectId(row, append.subject) ?? this.#addSubject(row, append.subject);
    const id = messageId ?? null;
    const columns = [base(row) + sequence, subject, timeMs, id, append.data] as const;
    this.#sql.insertMessage.run(...columns, checksumOf(columns));
    if (id !== null) this.#rememberId(row, id, sequence, Math.floor(nowMs));
    row.lastSequence = sequence;
    row.lastTimeMs = timeMs;
    row.messages += 1;
    this.#changed.add(row);
    const message = { subject: append.subject, sequence, timeMs, data: append.data };
    this.#newest.add(row.id, id === null ? message : { ...message, messageId: id });
    if (row.spec.lastOfSubject) this.removeBelow(append.stream, sequence, 1, append.subject);
    return { kind: 'appended', sequence };
  }

  /** Throws `DamagedRow` for the first message that differs from the appended one. */
  read(range: MessageRange): StreamMessage[] {
    return this.readAll(range).map((found) => {
      if ('damage' in found) throw found.damage;
      return found;
    });
  }

  /**
   * All messages with a sequence in (`after`, `through`], if they are the newest ones and are in
   * memory; undefined: query them.
   */
  newest(stream: string, after: number, through: number): readonly StreamMessage[] | undefined {
    return this.#newest.within(this.get(stream).id, after, through);
  }

  /** Like `read`, with damaged messages in their places. */
  readAll(range: MessageRange): (StreamMessage | DamagedMessage)[] {
    const row = this.get(range.stream);
    const from = base(row) + Math.max(0, range.after);
    const through = base(row) + Math.min(range.through, row.lastSequence);
    return this.#select(row, range.subject, from, through, range.limit).map((stored) => {
      const { position, subject, time_ms: timeMs, message_id: messageId, data, checksum } = stored;
      const sequence = position - base(row);
      const columns = [position, subject, timeMs, messageId, data];
      if (checksum !== null && checksum !== checksumOf(columns)) {
        const place = this.#place('stream_message', `${range.stream} ${sequence}`);
        return { sequence, timeMs, damage: new DamagedRow(place) };
      }
      const message = { subject: this.#subjectName(subject), sequence, timeMs, data };
      return messageId === null ? message : { ...message, messageId };
    });
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

  /**
   * Removes at most `limit` messages below `sequence`, the oldest first: a removal that a crash
   * interrupts leaves no later message of the subjects without an earlier one. @returns the number
   * removed
   */
  removeBelow(name: string, sequence: number, limit: number, subject?: string): number {
    const row = this.get(name);
    const below = base(row) + Math.min(sequence, row.lastSequence + 1);
    if (subject === undefined) {
      return this.#removed(row, this.#sql.removeBelow.run(base(row), below, limit).changes);
    }
    const ids = this.#subjectIdsOf(row, subject);
    if (ids.length === 0) return 0;
    const list = JSON.stringify(ids);
    return this.#removed(row, this.#sql.removeSubjectsBelow.run(list, below, limit).changes);
  }

  removeOne(name: string, sequence: number): void {
    const row = this.get(name);
    this.#removed(row, this.#sql.removeOne.run(base(row) + sequence).changes);
  }

  /** Each new id makes room by forgetting two whose window has passed. */
  #rememberId(row: StreamRow, id: string, sequence: number, nowMs: number): void {
    const columns = [row.id, id, sequence, nowMs] as const;
    this.#sql.insertId.run(...columns, checksumOf(columns));
    this.#sql.removeIds.run(row.id, row.id, nowMs - row.spec.duplicateWindowMs);
  }

  #removed(row: StreamRow, count: number): number {
    row.messages -= count;
    if (count === 0) return 0;
    this.#changed.add(row);
    this.#newest.drop(row.id);
    return count;
  }

  #select(row: StreamRow, subject: string | undefined, from: number, to: number, limit: number) {
    if (subject === undefined) return this.#sql.readAll.all(from, to, limit);
    if (!/[*>]/.test(subject)) {
      const id = this.#subjectId(row, subject);
      return id === undefined ? [] : this.#sql.readSubject.all(id, from, to, limit);
    }
    const ids = this.#subjectIdsOf(row, subject);
    const list = JSON.stringify(ids);
    return ids.length === 0 ? [] : this.#sql.readSubjects.all(from, to, list, limit);
  }

  /** Ids of the subjects that match the pattern. */
  #subjectIdsOf(row: StreamRow, pattern: string): number[] {
    const matching = [...this.#subjects(row)].filter(([name]) => subjectMatches(name, pattern));
    return matching.map(([, id]) => id);
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
      for (const { id, name, checksum } of this.#sql.subjects.all(row.id)) {
        assertChecksum(checksum, [id, row.id, name], () => this.#place('stream_subject', `${id}`));
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
    this.#sql.sealSubject.run(id);
    this.#subjects(row).set(subject, id);
    this.#subjectNames.set(id, subject);
    return id;
  }

  #subjectName(id: number): string {
    const known = this.#subjectNames.get(id);
    if (known !== undefined) return known;
    const found = this.#sql.subjectName.get(id);
    if (found === undefined) throw new Error(`Subject ${id} is missing from stream_subject`);
    const { stream, name, checksum } = found;
    assertChecksum(checksum, [id, stream, name], () => this.#place('stream_subject', `${id}`));
    this.#subjectNames.set(id, name);
    return name;
  }

  #place(table: string, row: string) {
    return { file: this.#file, table, row };
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
  checksum: number | null;
}

interface StoredMessage {
  position: number;
  subject: number;
  time_ms: number;
  message_id: string | null;
  data: Uint8Array;
  checksum: number | null;
}

interface StoredMessageId {
  sequence: number;
  time_ms: number;
  checksum: number | null;
}

const COLUMNS = 'position, subject, time_ms, message_id, data, checksum';

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
    sealStream: prepare<[string]>(
      `UPDATE stream SET checksum = row_checksum(id, name, identity, spec, last_sequence,
         last_time_ms, messages) WHERE name = ?`,
    ),
    updateStream: prepare<[number, number, number, number, number, number, number]>(
      `UPDATE stream SET last_sequence = ?, last_time_ms = ?, messages = ?,
         checksum = row_checksum(id, name, identity, spec, ?, ?, ?) WHERE id = ?`,
    ),
    firstPosition: prepare<[number, number], { position: number | null }>(
      'SELECT min(position) AS position FROM stream_message WHERE position > ? AND position < ?',
    ),
    timeFrom: prepare<[number, number], { position: number; time_ms: number }>(
      `SELECT position, time_ms FROM stream_message WHERE position >= ? AND position < ?
       ORDER BY position LIMIT 1`,
    ),
    subjects: prepare<[number], { id: number; name: string; checksum: number | null }>(
      'SELECT id, name, checksum FROM stream_subject WHERE stream = ?',
    ),
    subjectName: prepare<[number], { stream: number; name: string; checksum: number | null }>(
      'SELECT stream, name, checksum FROM stream_subject WHERE id = ?',
    ),
    sealSubject: prepare<[number]>(
      'UPDATE stream_subject SET checksum = row_checksum(id, stream, name) WHERE id = ?',
    ),
    insertSubject: prepare<[number, string]>(
      'INSERT INTO stream_subject (stream, name) VALUES (?, ?)',
    ),
    lastOfSubject: prepare<[number], { position: number | null }>(
      'SELECT max(position) AS position FROM stream_message WHERE subject = ?',
    ),
    // Ids are recognised for their window from now on, not until the clock has caught up.
    retimeIds: prepare<[number, number, number, number]>(
      `UPDATE stream_message_id SET time_ms = ?,
         checksum = row_checksum(stream, message_id, sequence, ?) WHERE stream = ? AND time_ms > ?`,
    ),
    findId: prepare<[number, string], StoredMessageId>(
      `SELECT sequence, time_ms, checksum FROM stream_message_id
       WHERE stream = ? AND message_id = ?`,
    ),
    insertId: prepare<[number, string, number, number, number]>(
      'INSERT OR REPLACE INTO stream_message_id VALUES (?, ?, ?, ?, ?)',
    ),
    removeIds: prepare<[number, number, number]>(
      `DELETE FROM stream_message_id WHERE stream = ? AND message_id IN (
         SELECT message_id FROM stream_message_id WHERE stream = ? AND time_ms <= ? LIMIT 2)`,
    ),
    insertMessage: prepare<[number, number, number, string | null, Uint8Array, number]>(
      'INSERT INTO stream_message VALUES (?, ?, ?, ?, ?, ?)',
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
    // By subject, not by position: older messages of other subjects are not visited.
    removeSubjectsBelow: prepare<[string, number, number]>(
      `DELETE FROM stream_message WHERE position IN (SELECT position FROM stream_message
       INDEXED BY stream_message_subject
       WHERE subject IN (SELECT value FROM json_each(?)) AND position < ?
       ORDER BY position LIMIT ?)`,
    ),
    removeOne: prepare<[number]>('DELETE FROM stream_message WHERE position = ?'),
  };
}
