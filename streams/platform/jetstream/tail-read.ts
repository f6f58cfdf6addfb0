/**
 * A read of a JetStream stream that survives restarts of the server. It makes its own ordered
 * consumer instead of the client library's: an ephemeral pull consumer without acknowledgements,
 * whose delivery sequence must have no gaps, and which is recreated from the next sequence whenever
 * anything about it is wrong. The library's consumer queues a pull for each missed heartbeat while
 * its reader is busy, and would silently continue after the stream was replaced.
 */
import {
  AckPolicy,
  type ConsumerInfo,
  DeliverPolicy,
  JetStreamApiError,
  JetStreamError,
  type JsMsg,
} from '@nats-io/jetstream';
import { nuid } from '@nats-io/transport-node';
import {
  type ReadOptions,
  type StreamMessage,
  StreamMisconfigured,
  type StreamRead,
  type StreamState,
  StreamUnavailable,
} from '../stream.ts';
import { isConnectionError, type JetStreamConnection } from './connection.ts';

// 128 payloads of 256 KiB stay below the 64 MiB after which a server drops a slow client.
const FETCH_MESSAGES = 128;
// Short: a pull that died with its server is detected after two heartbeats, not after 30 s.
const FETCH_EXPIRES_MS = 3_000;
const FETCH_EXPIRES_UNTIL_END_MS = 1_000;
const HEARTBEAT_MS = 500;
const REOPEN_WAIT_MS = 100;
const SETTLE_MS = 1_000;
/** Allows 10 s or more in which a copy that is behind returns nothing. */
const LOOKS_MAX = 100;
// A reader that pauses longer gets a new consumer.
const INACTIVE_MS = 60_000;
const NANOS_PER_MS = 1_000_000;

export interface TailReadOptions extends ReadOptions {
  readonly connection: JetStreamConnection;
  /** State of the stream; throws `StreamMisconfigured` if it was replaced since it was made. */
  readonly state: () => Promise<StreamState>;
  readonly onClosed: () => void;
}

export class JetStreamRead implements StreamRead {
  readonly #options: TailReadOptions;
  #closed = false;
  #interrupt: () => void = () => {};
  /** Next sequence to request; undefined until a read by time has its first message. */
  #next: number | undefined;
  #delivered = 0;
  /** Number of times the copy being read was behind since its last message. */
  #looks = 0;
  #end = Number.MAX_SAFE_INTEGER;
  #identity: string | undefined;

  constructor(options: TailReadOptions) {
    this.#options = options;
    if ('sequence' in options.from) this.#next = Math.max(1, options.from.sequence);
  }

  get stream(): string {
    return this.#options.stream;
  }

  /** Sequence of the last message that it has delivered; 0 before the first. */
  get delivered(): number {
    return this.#delivered;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamMessage, void, void> {
    try {
      while (!this.#closed) {
        await this.#checkStream();
        const info = await this.#open();
        if (info === undefined) return;
        const complete = yield* this.#session(info);
        if (complete && !(await this.#isCopyBehind())) return;
      }
    } catch (error) {
      // Closing the adapter aborts a request: that is an end, not a failure.
      if (!this.#closed && !this.#options.connection.closed) throw error;
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#interrupt();
    this.#options.onClosed();
  }

  /**
   * Yields what one consumer delivers; returns true if the read is complete, false to open another.
   */
  async *#session(info: ConsumerInfo): AsyncGenerator<StreamMessage, boolean, void> {
    const { connection, stream, untilEnd } = this.#options;
    let pending = info.num_pending;
    let deliveries = 0;
    // The client then stops watching heartbeats until the consumer answers. It never answers while
    // the server that held both is down.
    let isBroken = false;
    const undo = connection.onBroken(() => {
      isBroken = true;
      this.#interrupt();
    });
    try {
      const consumer = connection.js.consumers.getConsumerFromInfo(info);
      while (!this.#closed && !(untilEnd && pending === 0)) {
        const fetched = await consumer.fetch(fetchOptions(untilEnd));
        this.#interrupt = () => void fetched.close();
        // Closed during the fetch request: nothing else would end it before it expires.
        if (this.#closed || isBroken) this.#interrupt();
        for await (const message of fetched) {
          const { streamSequence, deliverySequence, pending: left } = message.info;
          // A gap: a message was lost on the way and is requested again.
          if (deliverySequence !== ++deliveries) return false;
          if (streamSequence > this.#end) return true;
          this.#delivered = streamSequence;
          this.#looks = 0;
          this.#next = streamSequence + 1;
          yield messageOf(message);
          pending = left;
          if (this.#closed || (untilEnd && (left === 0 || streamSequence === this.#end))) break;
        }
        if (isBroken) return false;
        // Truncated during the read: the pending messages may be removed.
        if (untilEnd && pending > 0) pending = (await consumer.info()).num_pending;
      }
      return true;
    } catch (error) {
      if (this.#closed || !isTransient(error)) throw error;
      // The consumer or the connection is lost; the next session continues from this position.
      await this.#unlessClosed(connection.pause(REOPEN_WAIT_MS));
      return false;
    } finally {
      undo();
      connection.removeConsumer(stream, info.name);
    }
  }

  /**
   * In a cluster, the consumer may be on a server whose copy lacks acknowledged messages. When the
   * copy has no more, this asks whether the leader has more, and if so waits briefly.
   */
  async #isCopyBehind(): Promise<boolean> {
    const { connection, stream, subject = '>', from, untilEnd } = this.#options;
    const isCluster = connection.nats.info?.cluster !== undefined;
    if (!untilEnd || !isCluster || this.#closed || this.#delivered >= this.#end) return false;
    const { streams } = connection.manager;
    // Before the first message of a read by time, no sequence is known to continue from.
    const next = this.#next;
    const query =
      next === undefined ? { last_by_subj: subject } : { seq: next, next_by_subj: subject };
    const message = await this.#request(() => streams.getMessage(stream, query));
    if (message === undefined || message === null) return false;
    if (next !== undefined && message.seq > this.#end) return false;
    if ('timeMs' in from && message.time.getTime() < from.timeMs) return false;
    if (++this.#looks > LOOKS_MAX) {
      const what = `A copy of stream ${stream} is behind at ${this.#delivered} of ${message.seq}`;
      throw new StreamUnavailable(what, 'refused');
    }
    await this.#unlessClosed(connection.pause(REOPEN_WAIT_MS));
    return !this.#closed;
  }

  /** Creates a consumer from the next sequence on; undefined if the read has been closed. */
  #open(): Promise<ConsumerInfo | undefined> {
    const { connection, stream, subject, from } = this.#options;
    const start =
      this.#next === undefined && 'timeMs' in from
        ? {
            deliver_policy: DeliverPolicy.StartTime,
            opt_start_time: new Date(from.timeMs).toISOString(),
          }
        : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: this.#next ?? 1 };
    return this.#request(() =>
      connection.manager.consumers.add(stream, {
        ...start,
        name: `read-${nuid.next()}`,
        ...(subject === undefined ? {} : { filter_subject: subject }),
        ack_policy: AckPolicy.None,
        max_deliver: 1,
        mem_storage: true,
        num_replicas: 1,
        inactive_threshold: INACTIVE_MS * NANOS_PER_MS,
      }),
    );
  }

  /**
   * Detects a stream that was replaced, or that a power loss has shortened below the read position.
   */
  async #checkStream(again = false): Promise<void> {
    const { connection, stream, untilEnd } = this.#options;
    const state = await this.#request(this.#options.state);
    if (state === undefined) return;
    if (this.#identity === undefined) {
      this.#identity = state.identity;
      if (untilEnd) this.#end = state.lastSequence;
    }
    if (state.identity === this.#identity && state.lastSequence >= this.#delivered) return;
    if (!again) {
      // During an election an old leader may answer: only a stable answer counts.
      await this.#unlessClosed(connection.pause(SETTLE_MS));
      return this.#checkStream(true);
    }
    const now = `it is ${state.identity} and ends at ${state.lastSequence}`;
    throw new StreamMisconfigured(
      `Stream ${stream} was replaced or shortened: ${now}, ` +
        `read was ${this.#identity} up to ${this.#delivered}`,
    );
  }

  /** A bounded read gives up if no server answers; one that follows the tail waits for it. */
  #request<R>(send: () => Promise<R>): Promise<R | undefined> {
    const { connection, untilEnd } = this.#options;
    const stopped = () => this.#closed;
    const request = untilEnd ? connection.ask(send) : connection.requestPatiently(send, stopped);
    return this.#unlessClosed(request);
  }

  /** Not `Promise.race` with one promise for the close: each race would stay in its memory. */
  #unlessClosed<R>(promise: Promise<R>): Promise<R | undefined> {
    return new Promise((resolve, reject) => {
      this.#interrupt = () => resolve(undefined);
      promise.then(resolve, reject);
      if (this.#closed) resolve(undefined);
    });
  }
}

function fetchOptions(untilEnd: boolean) {
  return {
    max_messages: FETCH_MESSAGES,
    expires: untilEnd ? FETCH_EXPIRES_UNTIL_END_MS : FETCH_EXPIRES_MS,
    idle_heartbeat: HEARTBEAT_MS,
  };
}

/** Missed heartbeats, a lost consumer, no response: cured by a retry. */
export function isTransient(error: unknown): boolean {
  const ofServer = error instanceof JetStreamError || error instanceof JetStreamApiError;
  return ofServer || error instanceof StreamUnavailable || isConnectionError(error);
}

/** Converts a delivered message to the port's type. */
export function messageOf(message: JsMsg): StreamMessage {
  const messageId = message.headers?.get('Nats-Msg-Id');
  return {
    subject: message.subject,
    sequence: message.info.streamSequence,
    timeMs: Math.floor(message.info.timestampNanos / NANOS_PER_MS),
    data: message.data,
    ...(messageId ? { messageId } : {}),
  };
}
