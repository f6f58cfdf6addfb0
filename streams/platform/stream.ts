/**
 * The stream port: append-only, ordered logs of messages with subjects. Two adapters implement it
 * (`sqlite/platform/embedded-stream/embedded-stream.ts` on tables, `streams/platform/jetstream/` on
 * NATS) and pass one contract suite, so that everything above runs unchanged in one host and
 * clustered.
 *
 * It never decides anything about alerts, looks into a payload, or retries a decision.
 */

/** A required stream: created if missing, otherwise compared with the existing one. */
export interface StreamSpec {
  /** Upper-case name, e.g. `EVENTS`. */
  readonly name: string;
  /** Subject patterns with NATS wildcards, e.g. `svc.events.*.*` or `svc.samples.>`. */
  readonly subjects: readonly string[];
  /** `log`: kept until its age or a truncation ends it. `workQueue`: removed once acknowledged. */
  readonly retention: 'log' | 'workQueue';
  /** Age in ms after which messages are removed; absent = kept until truncated. */
  readonly maxAgeMs?: number;
  /**
   * Only the newest message of each subject is kept: the stream is a table, a subject a row. A
   * reader from its beginning sees every row, then the changes; of a row changed in between it may
   * see only the last version. After a crash of a nats-server, its copy may return a replaced
   * message before the newest one, and restore a message of an erased row (nats-server issue 8505).
   * The highest sequence is the newest; an append that expects a restored one may be refused, and
   * one that expects no message of the subject is accepted then. Absent = false.
   */
  readonly lastOfSubject?: boolean;
  /** Time for which a message id is remembered for de-duplication, ms. */
  readonly duplicateWindowMs: number;
  /**
   * Reaction of a running service to a deleted stream. `continue`: recreates it under its identity;
   * sequences continue to rise, with a gap. `replace`: recreates it as another stream. Each use of
   * a replaced log accepts that one; of a replaced table, whose readers have to start over, only
   * `ensure` does. Absent: the stream is needed, so every use throws.
   */
  readonly whenMissing?: 'continue' | 'replace';
}

/** Copies of a stream on servers: one survives no loss of a server, 3 survive one, 5 survive two. */
export const COPIES = [1, 3, 5] as const;
export type Copies = (typeof COPIES)[number];

/** What a stream holds now. An empty stream has `firstSequence = lastSequence + 1`. */
export interface StreamState {
  /** Random, made with the stream: a stream that is deleted and created again has another one. */
  readonly identity: string;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly messages: number;
}

/** Point that a stream continues from: the identity of a copy, and the sequence it begins at. */
export interface StreamOrigin {
  readonly identity: string;
  readonly firstSequence: number;
}

export interface StreamMessage {
  readonly subject: string;
  /** Position in the stream, from 1, growing, with gaps only for removed messages. */
  readonly sequence: number;
  /** Time at which the stream stored it, Unix ms. */
  readonly timeMs: number;
  readonly data: Uint8Array;
  readonly messageId?: string;
}

export interface Append {
  readonly stream: string;
  readonly subject: string;
  /** Must not change before the append has its outcome: it may be written later in the turn. */
  readonly data: Uint8Array;
  /**
   * De-duplication: a second append with the same id inside the window stores nothing, even if the
   * first message has been truncated or acknowledged since.
   */
  readonly messageId?: string;
  /**
   * Refuse unless this is the sequence of the subject's last message; 0 = the subject is empty. A
   * subject that retention or a truncation has emptied accepts only 0, never its real last one.
   */
  readonly expectedLastSubjectSequence?: number;
  /**
   * Time after which an unanswered append has an unknown outcome, ms. For appends that are then
   * repeated, and so reach the leader that a cluster has elected in the meantime. Default 5,000. A
   * local stream always answers.
   */
  readonly answerMs?: number;
}

/**
 * Outcome of an append. All three are responses of the stream; *no* response (time-out, broken
 * connection, no leader) is a thrown `StreamUnavailable` with `outcome: 'unknown' | 'refused'`.
 *
 * `duplicate` means that the message is stored. `wrongLastSequence` does not mean that it is not: a
 * repeated append to which both apply (same id, an expectation outdated by its first success) has
 * either outcome, as servers before 2.12 check the id first and later ones the sequence. After
 * `wrongLastSequence` and after `unknown`, read the subject forward from the expected sequence and
 * look for your own id; its last message alone may belong to another writer.
 */
export type AppendOutcome =
  | { readonly kind: 'appended'; readonly sequence: number }
  | { readonly kind: 'duplicate'; readonly sequence: number }
  | { readonly kind: 'wrongLastSequence' };

/**
 * Start of a read. `sequence` is inclusive; a truncated position starts at the first kept message.
 */
export type ReadFrom = { readonly sequence: number } | { readonly timeMs: number };

export interface ReadOptions {
  readonly stream: string;
  readonly from: ReadFrom;
  /** Only messages whose subject matches this pattern (NATS wildcards). */
  readonly subject?: string;
  /** true: end at the last message stored when the read began. false: follow the live tail. */
  readonly untilEnd: boolean;
}

/**
 * A read in progress: iterate it once; `close` ends it (also a waiting `next`). It has the stream's
 * order, with gaps only for removed messages. A tail continues by itself after a lost connection.
 * It throws `StreamMisconfigured` if the stream was replaced or has lost its end, and for a work
 * queue, which can only be consumed; a bounded read also throws `StreamUnavailable`.
 */
export interface StreamRead extends AsyncIterable<StreamMessage> {
  close(): Promise<void>;
}

export interface ConsumerSpec {
  readonly stream: string;
  /** Durable name: position and unacknowledged messages survive a restart of everything. */
  readonly durable: string;
  readonly subject?: string;
  /** Time after which a message that is neither acknowledged nor refused is delivered again, ms. */
  readonly ackWaitMs: number;
  /**
   * Maximum number of unacknowledged messages; delivery pauses there (a slow consumer is never
   * dropped).
   */
  readonly maxAckPending: number;
  /**
   * Number of messages to request at a time, for a receiver that takes them without waiting. If it
   * waits, the ack-wait of those it has not taken runs out. Default 1. SQLite always hands them out
   * one by one.
   */
  readonly batch?: number;
}

/**
 * One delivery of a message to a durable consumer. Settling twice throws; after a
 * `StreamUnavailable` it may be retried. Delivery is at least once: a settlement in the last tenth
 * of a second before a nats-server was killed is lost, and its message is delivered again
 * (consumers' positions reach the server's disk late; the embedded adapter's are on disk when the
 * promise resolves).
 */
export interface Delivery extends StreamMessage {
  /**
   * 1 for the first delivery. There is no maximum: count, and `term` messages that cannot be
   * handled.
   */
  readonly deliveryCount: number;
  /** Done. Resolves once the stream has recorded it. */
  ack(): Promise<void>;
  /** Deliver again, not before `delayMs`; until settled it counts against `maxAckPending`. */
  nak(delayMs: number): Promise<void>;
  /** Never deliver again. */
  term(): Promise<void>;
}

/**
 * A receiver of a durable consumer: iterate it once; `close` ends it. Receivers of one durable name
 * share its messages. A loop that throws ends only its own receiver, whose messages are delivered
 * again after the ack-wait. Throws `StreamMisconfigured` if someone removed the consumer.
 */
export interface Consumer extends AsyncIterable<Delivery> {
  close(): Promise<void>;
}

/**
 * State of the connection as the adapter sees it; `unavailable` carries a sentence for `/readyz`.
 */
export type StreamHealth =
  | { readonly state: 'available' }
  | { readonly state: 'unavailable'; readonly reason: string };

export interface Stream {
  /**
   * Creates the stream, or compares the existing one. Throws `StreamMisconfigured` if an existing
   * stream differs in a way that would lose something (older servers ignore options silently), or
   * if it was replaced since its first use here and may not be.
   * @param origin point that a new stream continues from, to restore a copy. Absent: a fresh
   * stream.
   */
  ensure(spec: StreamSpec, origin?: StreamOrigin): Promise<StreamState>;
  /** Compares an existing stream as `ensure` does; undefined if absent. Creates nothing. */
  compare(spec: StreamSpec): Promise<StreamState | undefined>;
  state(stream: string): Promise<StreamState>;
  /**
   * Durable when it resolves: on disk (embedded: WAL, synchronous FULL; JetStream: as the
   * server's `sync_interval` says). Concurrent appends may share one disk write.
   */
  append(append: Append): Promise<AppendOutcome>;
  read(options: ReadOptions): StreamRead;
  /** Creates the durable consumer at the stream's beginning, or continues it under this spec. */
  consume(spec: ConsumerSpec): Promise<Consumer>;
  /**
   * Removes every message below `belowSequence`, or only those whose subject matches the pattern
   * `subject` (NATS wildcards), which leaves gaps between the others. Sequences continue, even if
   * nothing is left.
   */
  truncate(options: { stream: string; belowSequence: number; subject?: string }): Promise<void>;
  health(): StreamHealth;
  close(): Promise<void>;
}

/**
 * The stream did not respond. `unknown`: the request may have taken effect. `refused`: it has not.
 */
export class StreamUnavailable extends Error {
  readonly outcome: 'unknown' | 'refused';
  constructor(message: string, outcome: 'unknown' | 'refused', options?: ErrorOptions) {
    super(message, options);
    this.name = 'StreamUnavailable';
    this.outcome = outcome;
  }
}

/** A stream, or its server, does not meet this program's needs; the message names the remedy. */
export class StreamMisconfigured extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StreamMisconfigured';
  }
}

/** The stream is not on the server: someone deleted it, or the server has lost its store. */
export class StreamMissing extends StreamMisconfigured {
  constructor(options?: ErrorOptions) {
    super('NATS does not have the stream: it was deleted, or a server has lost its store', options);
    this.name = 'StreamMissing';
  }
}

/** Partitions of a deployment, fixed when its streams are made. */
export const PARTITIONS = 64;

/**
 * Partition of a project: FNV-1a of its id, mod 64. Part of every subject, so it must never change.
 */
export function partitionOf(project: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(project)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash % PARTITIONS;
}

/** True if `subject` matches `pattern` (NATS: `*` one token, `>` one or more at the end). */
export function subjectMatches(subject: string, pattern: string): boolean {
  const tokens = subject.split('.');
  const parts = pattern.split('.');
  for (const [i, part] of parts.entries()) {
    if (part === '>') return tokens.length > i;
    if (tokens[i] === undefined || (part !== '*' && part !== tokens[i])) return false;
  }
  return tokens.length === parts.length;
}
