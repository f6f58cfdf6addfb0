/**
 * Tables of the embedded streams. All messages of a file share one table whose key is the stream
 * and the sequence in one integer, so that a stream is a contiguous range of one B-tree and a blob
 * row stays a rowid row (WITHOUT ROWID would push most of a payload to overflow pages).
 */
import type { Migration } from '../database.ts';

/** Name of this schema among those that share a file. */
export const EMBEDDED_STREAM_AREA = 'stream';

/** Sequences of one stream occupy [id * SPAN, (id + 1) * SPAN): 10^12 messages, 8,191 streams. */
export const SEQUENCE_SPAN = 2 ** 40;

export const embeddedStreamMigrations: readonly Migration[] = [
  {
    id: 1,
    sql: `
      CREATE TABLE stream (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        identity TEXT NOT NULL,
        spec TEXT NOT NULL,
        last_sequence INTEGER NOT NULL,
        last_time_ms INTEGER NOT NULL,
        messages INTEGER NOT NULL
      ) STRICT;

      CREATE TABLE stream_subject (
        id INTEGER PRIMARY KEY,
        stream INTEGER NOT NULL REFERENCES stream (id),
        name TEXT NOT NULL,
        UNIQUE (stream, name)
      ) STRICT;

      -- data comes last: a filter on the other columns then never touches overflow pages.
      CREATE TABLE stream_message (
        position INTEGER PRIMARY KEY,
        subject INTEGER NOT NULL,
        time_ms INTEGER NOT NULL,
        message_id TEXT,
        data BLOB NOT NULL
      ) STRICT;
      CREATE INDEX stream_message_subject ON stream_message (subject);

      -- Apart from the messages: an id outlives a message that was acknowledged or truncated.
      CREATE TABLE stream_message_id (
        stream INTEGER NOT NULL,
        message_id TEXT NOT NULL,
        sequence INTEGER NOT NULL,
        time_ms INTEGER NOT NULL,
        PRIMARY KEY (stream, message_id)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX stream_message_id_time ON stream_message_id (stream, time_ms);

      CREATE TABLE stream_consumer (
        id INTEGER PRIMARY KEY,
        stream INTEGER NOT NULL REFERENCES stream (id),
        durable TEXT NOT NULL,
        delivered_through INTEGER NOT NULL,
        UNIQUE (stream, durable)
      ) STRICT;

      -- due_ms (Unix ms) and delay_ms only after a nak; NULL = with a receiver.
      CREATE TABLE stream_pending (
        consumer INTEGER NOT NULL REFERENCES stream_consumer (id),
        sequence INTEGER NOT NULL,
        delivery_count INTEGER NOT NULL,
        due_ms INTEGER,
        delay_ms INTEGER,
        PRIMARY KEY (consumer, sequence)
      ) STRICT, WITHOUT ROWID;

      -- Rewritten by the probe that finds out whether a failed disk takes writes again.
      CREATE TABLE stream_probe (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
    `,
  },
  {
    id: 2,
    sql: `
      -- See row-checksum.ts; stream_probe holds nothing.
      ALTER TABLE stream ADD COLUMN checksum INTEGER;
      ALTER TABLE stream_subject ADD COLUMN checksum INTEGER;
      ALTER TABLE stream_message ADD COLUMN checksum INTEGER;
      ALTER TABLE stream_message_id ADD COLUMN checksum INTEGER;
      ALTER TABLE stream_consumer ADD COLUMN checksum INTEGER;
      ALTER TABLE stream_pending ADD COLUMN checksum INTEGER;
    `,
  },
];
