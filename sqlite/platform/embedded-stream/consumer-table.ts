/**
 * Positions and unacknowledged messages of the durable consumers of one file of streams. All calls
 * are synchronous; writing calls run inside a transaction of the group commit.
 */
import type { SqliteDatabase } from '../database.ts';
import { assertChecksum, checksumOf } from '../row-checksum.ts';

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
  readonly #file: string;

  constructor(database: SqliteDatabase) {
    this.#sql = statements(database);
    this.#file = database.name;
  }

  /** The consumer; a new one starts at the stream's beginning. */
  open(stream: number, durable: string): StoredConsumer {
    if (this.#sql.insert.run(stream, durable).changes > 0) {
      this.#sql.sealConsumer.run(stream, durable);
    }
    const row = this.#sql.find.get(stream, durable);
    if (row === undefined) throw new Error(`Consumer ${durable} vanished in its own transaction`);
    const { id, deliveredThrough, checksum } = row;
    assertChecksum(checksum, [id, stream, durable, deliveredThrough], () => ({
      file: this.#file,
      table: 'stream_consumer',
      row: durable,
    }));
    return { id, deliveredThrough };
  }

  pending(consumer: number): StoredPending[] {
    return this.#sql.pending.all(consumer).map(({ checksum, ...pending }) => {
      const { sequence, deliveryCount, dueMs, delayMs } = pending;
      assertChecksum(checksum, [consumer, sequence, deliveryCount, dueMs, delayMs], () => ({
        file: this.#file,
        table: 'stream_pending',
        row: `${consumer} ${sequence}`,
      }));
      return pending;
    });
  }

  /** Records a delivery: the first one, or one more. */
  delivered(consumer: number, sequence: number, deliveryCount: number): void {
    const columns = [consumer, sequence, deliveryCount] as const;
    this.#sql.delivered.run(...columns, checksumOf([...columns, null, null]));
    this.#sql.advance.run(sequence, sequence, consumer);
  }

  /** Records that everything up to `sequence` was examined. */
  advance(consumer: number, sequence: number): void {
    this.#sql.advance.run(sequence, sequence, consumer);
  }

  settled(consumer: number, sequence: number): void {
    this.#sql.settled.run(consumer, sequence);
  }

  /** A nak: due again at `dueMs` (Unix ms), `delayMs` from now. */
  postponed(consumer: number, sequence: number, dueMs: number, delayMs: number): void {
    const times = [Math.ceil(dueMs), Math.ceil(delayMs)] as const;
    this.#sql.postponed.run(...times, ...times, consumer, sequence);
  }
}

function statements(database: SqliteDatabase) {
  return {
    insert: database.prepare<[number, string]>(
      `INSERT INTO stream_consumer (stream, durable, delivered_through) VALUES (?, ?, 0)
       ON CONFLICT DO NOTHING`,
    ),
    sealConsumer: database.prepare<[number, string]>(
      `UPDATE stream_consumer SET checksum = row_checksum(id, stream, durable, delivered_through)
       WHERE stream = ? AND durable = ?`,
    ),
    find: database.prepare<[number, string], StoredConsumer & { checksum: number | null }>(
      `SELECT id, delivered_through AS deliveredThrough, checksum FROM stream_consumer
       WHERE stream = ? AND durable = ?`,
    ),
    pending: database.prepare<[number], StoredPending & { checksum: number | null }>(
      `SELECT sequence, delivery_count AS deliveryCount, due_ms AS dueMs, delay_ms AS delayMs,
         checksum FROM stream_pending WHERE consumer = ? ORDER BY sequence`,
    ),
    delivered: database.prepare<[number, number, number, number]>(
      'INSERT OR REPLACE INTO stream_pending VALUES (?, ?, ?, NULL, NULL, ?)',
    ),
    advance: database.prepare<[number, number, number]>(
      `UPDATE stream_consumer SET delivered_through = max(delivered_through, ?),
         checksum = row_checksum(id, stream, durable, max(delivered_through, ?)) WHERE id = ?`,
    ),
    settled: database.prepare<[number, number]>(
      'DELETE FROM stream_pending WHERE consumer = ? AND sequence = ?',
    ),
    postponed: database.prepare<[number, number, number, number, number, number]>(
      `UPDATE stream_pending SET due_ms = ?, delay_ms = ?,
         checksum = row_checksum(consumer, sequence, delivery_count, ?, ?)
       WHERE consumer = ? AND sequence = ?`,
    ),
  };
}
