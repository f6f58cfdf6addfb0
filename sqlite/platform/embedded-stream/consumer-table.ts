/**
 * Positions and unacknowledged messages of the durable consumers of one file. Writes run inside a
 * transaction of the group commit.
 */
import type { SqliteDatabase } from '../database.ts';

/** A message delivered and not settled. */
export interface StoredPending {
  readonly sequence: number;
  readonly deliveryCount: number;
  /** After a nak: when it is due again, Unix ms, and the delay it was given, ms. */
  readonly dueMs: number | null;
  readonly delayMs: number | null;
}

export interface StoredConsumer {
  readonly id: number;
  /** Every matching message up to here was delivered at least once. */
  readonly deliveredThrough: number;
}

export class ConsumerTable {
  readonly #sql: ReturnType<typeof statements>;

  constructor(database: SqliteDatabase) {
    this.#sql = statements(database);
  }

  /** The consumer, made at the stream's begin when it is new. */
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

  /** Records that everything up to `sequence` was looked through. */
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
