/**
 * The stream port on NATS JetStream, one server or a cluster of three. It adds to the client
 * library: streams with a checked identity, outcomes sorted into done, not done and unknown, and
 * reads and consumers that survive a killed server.
 */
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamPublishOptions,
  PersistMode,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { type Random, systemRandom, ulid } from '../random.ts';
import {
  type Append,
  type AppendOutcome,
  type Consumer,
  type ConsumerSpec,
  type Copies,
  type ReadOptions,
  type Stream,
  type StreamHealth,
  StreamMisconfigured,
  type StreamOrigin,
  type StreamRead,
  type StreamSpec,
  type StreamState,
  StreamUnavailable,
  subjectMatches,
} from '../stream.ts';
import { streamLosses } from '../stream-loss.ts';
import {
  isNoResponders,
  isStreamAbsent,
  JetStreamConnection,
  type JetStreamConnectionOptions,
  NoLeader,
} from './connection.ts';
import { openDurableConsumer } from './durable-consumer.ts';
import { asCopiesFault, StreamCopies } from './stream-copies.ts';
import { JetStreamRead } from './tail-read.ts';

export interface JetStreamOptions extends JetStreamConnectionOptions {
  /** Copies of new streams. Default: 3 if the server is in a cluster, else 1. */
  readonly replicas?: Copies;
  /** Identities of new streams. Default: the system's generator. */
  readonly random?: Random;
  /** Called after this process has recreated a missing stream. */
  readonly onMadeAgain?: (stream: string) => void;
}

/** Number of unanswered appends after which the server is probed. */
const UNANSWERED_MAX = 2;
/** Time for which an unanswered append counts, ms: members append at least every 12 s. */
const UNANSWERED_MS = 30_000;

/** Known facts about a stream since its first use here. */
interface KnownStream {
  readonly identity: string;
  readonly subjects: readonly string[];
  readonly retention: RetentionPolicy;
  /** Highest sequence the server has acknowledged here. */
  acknowledged: number;
  /** Highest sequence that the stream was seen with. */
  last: number;
}

/**
 * Maximum number and interval (ms) of checks for a stream that another node creates: 10 s in total.
 */
const MADE_LOOKS_MAX = 50;
const MADE_WAIT_MS = 200;
/** Delay before a missing stream is checked a second time and recreated, ms. */
const MISSING_MS = 500;
/**
 * Number of sequences that a recreated stream skips. Other processes have read further than this
 * one, but by less than that.
 */
const LEFT_OUT = 1_000_000;

const CODES = {
  wrongLastSequence: [
    JetStreamApiCodes.StreamWrongLastSequence,
    JetStreamApiCodes.StreamWrongLastSequenceUnknown,
  ] as number[],
  // The subject belongs to a stream other than the expected one.
  otherStream: 10060,
  nameInUse: 10058,
};

/**
 * The connected JetStream adapter. Throws `StreamUnavailable` if no server answers, and
 * `StreamMisconfigured` for one that is too old or lacks JetStream.
 */
export async function openJetStream(options: JetStreamOptions): Promise<JetStream> {
  return new JetStream(await JetStreamConnection.open(options), options);
}

/** Streams on NATS JetStream; `openJetStream` makes one. */
export class JetStream implements Stream {
  /** For the operator. */
  readonly copies: StreamCopies;
  readonly #connection: JetStreamConnection;
  readonly #random: Random;
  readonly #onMadeAgain: (stream: string) => void;
  readonly #known = new Map<string, KnownStream>();
  /** Logs that each use recreates if they are missing. */
  readonly #madeAgain = new Map<string, StreamSpec>();
  readonly #making = new Map<string, Promise<StreamState>>();
  /** Successive appends without an answer, by stream. */
  readonly #unanswered = new Map<string, number>();
  /** Servers that answer but do not store, by stream, with the time when this was last seen. */
  readonly #unstored = new Map<string, { readonly server: string; readonly atMs: number }>();
  readonly #open = new Set<{ close(): Promise<void> }>();

  constructor(connection: JetStreamConnection, options: JetStreamOptions) {
    const { random, replicas, onMadeAgain } = options;
    this.#connection = connection;
    this.#random = random ?? systemRandom;
    this.#onMadeAgain = onMadeAgain ?? (() => {});
    this.copies = new StreamCopies(connection, replicas);
  }

  async ensure(spec: StreamSpec, origin?: StreamOrigin): Promise<StreamState> {
    const { name, whenMissing, lastOfSubject } = spec;
    const isKnown = this.#known.has(name);
    const found = await this.#find(name);
    const info = found ?? (await this.#add(spec, origin ?? this.#continuationOf(spec)));
    assertKeeps(info.config, spec);
    if (whenMissing === 'replace') this.#forgetReplaced(info);
    if (whenMissing !== undefined && !lastOfSubject) this.#madeAgain.set(name, spec);
    const state = this.#recognised(info);
    if (found === undefined && isKnown) this.#onMadeAgain(name);
    return state;
  }

  async compare(spec: StreamSpec): Promise<StreamState | undefined> {
    const info = await this.#find(spec.name);
    if (info === undefined) return undefined;
    assertKeeps(info.config, spec);
    if (spec.whenMissing === 'replace' && !spec.lastOfSubject) this.#forgetReplaced(info);
    return this.#recognised(info);
  }

  state(stream: string): Promise<StreamState> {
    return this.#connection.ask(() => this.#state(stream));
  }

  async append(append: Append): Promise<AppendOutcome> {
    const { stream, subject, messageId, expectedLastSubjectSequence } = append;
    const { answerMs } = this.#connection;
    const known = await this.#know(stream);
    if (!known.subjects.some((pattern) => subjectMatches(subject, pattern))) {
      throw new StreamMisconfigured(`Stream ${stream} does not accept ${subject}`);
    }
    const expect = {
      streamName: stream,
      ...(expectedLastSubjectSequence === undefined
        ? {}
        : { lastSubjectSequence: expectedLastSubjectSequence }),
    };
    const options: Partial<JetStreamPublishOptions> = {
      timeout: Math.min(append.answerMs ?? answerMs, answerMs),
      // The client's own retries also repeat a time-out, whose outcome is unknown.
      retries: 1,
      expect,
      ...(messageId === undefined ? {} : { msgID: messageId }),
    };
    try {
      const ack = await this.#publish(append, options);
      this.#unanswered.delete(stream);
      this.#unstored.delete(stream);
      if (ack.duplicate) return { kind: 'duplicate', sequence: ack.seq };
      // A reused sequence: the stream was replaced, or has lost its end.
      if (ack.seq <= known.acknowledged) await this.#checkEnd(stream, known);
      known.acknowledged = Math.max(known.acknowledged, ack.seq);
      known.last = Math.max(known.last, ack.seq);
      return { kind: 'appended', sequence: ack.seq };
    } catch (error) {
      if (error instanceof StreamUnavailable && error.outcome === 'unknown') {
        void this.#recordUnanswered(stream);
      }
      return this.#refused(append, error);
    }
  }

  /** A server whose disk is full answers requests, and no append. */
  async #recordUnanswered(stream: string): Promise<void> {
    const count = (this.#unanswered.get(stream) ?? 0) + 1;
    this.#unanswered.set(stream, count);
    if (count < UNANSWERED_MAX) return;
    const { streams } = this.#connection.manager;
    const info = await this.#connection.request(() => streams.info(stream)).catch(() => undefined);
    if (info === undefined || !this.#unanswered.has(stream)) return;
    const server = info.cluster?.leader ?? this.#connection.nats.info?.server_name ?? '';
    this.#unstored.set(stream, { server, atMs: this.#connection.clock.elapsed() });
  }

  #publish({ stream, subject, data }: Append, options: Partial<JetStreamPublishOptions>) {
    const { js } = this.#connection;
    let isLookedFor = !this.#madeAgain.has(stream);
    return this.#connection.requestLeader(async () => {
      try {
        return await js.publish(subject, data, options);
      } catch (error) {
        // A missing stream has no leader either, and is recreated before the next try.
        if (!isLookedFor && isNoResponders(error)) {
          isLookedFor = true;
          await this.state(stream);
        }
        throw error;
      }
    });
  }

  read(options: ReadOptions): StreamRead {
    const read: StreamRead = new JetStreamRead({
      ...options,
      connection: this.#connection,
      state: () => this.#readable(options.stream),
      onClosed: () => this.#open.delete(read),
    });
    this.#open.add(read);
    return read;
  }

  async consume(spec: ConsumerSpec): Promise<Consumer> {
    if (this.#madeAgain.has(spec.stream)) await this.state(spec.stream);
    const consumer = await openDurableConsumer(this.#connection, spec);
    this.#open.add(consumer);
    void consumer.closed.then(() => this.#open.delete(consumer));
    return consumer;
  }

  async truncate(options: { stream: string; belowSequence: number; subject?: string }) {
    const { stream, belowSequence, subject } = options;
    const { acknowledged } = await this.#know(stream);
    // A purge beyond the end would move the next sequence there.
    const isKnown = belowSequence <= acknowledged + 1;
    const lastSequence = isKnown ? acknowledged : (await this.state(stream)).lastSequence;
    const seq = Math.min(belowSequence, lastSequence + 1);
    if (seq <= 1) return;
    const purge = { seq, ...(subject === undefined ? {} : { filter: subject }) };
    const { streams } = this.#connection.manager;
    await this.#connection.requestLeader(() => streams.purge(stream, purge));
  }

  health(): StreamHealth {
    const health = this.#connection.health();
    const sinceMs = this.#connection.clock.elapsed() - UNANSWERED_MS;
    const unstored = [...this.#unstored].filter(([, { atMs }]) => atMs >= sinceMs);
    if (unstored.length === 0) return health;
    const streams = unstored.map(([stream]) => stream).join(', ');
    const names = [...new Set(unstored.map(([, { server }]) => server))].sort().join(', ');
    return {
      state: 'unavailable',
      reason:
        `NATS answers, but stores nothing on ${streams}: the disk of ${names} is probably full. ` +
        'Free space there, then restart that nats-server; nothing acknowledged is lost',
    };
  }

  async close(): Promise<void> {
    const open = [...this.#open];
    for (const one of open) await one.close();
    await this.#connection.close();
  }

  async #find(name: string): Promise<StreamInfo | undefined> {
    const { streams } = this.#connection.manager;
    try {
      return await this.#connection.ask(() => streams.info(name));
    } catch (error) {
      if (isStreamAbsent(error)) return undefined;
      throw error;
    }
  }

  async #add(spec: StreamSpec, origin: StreamOrigin | undefined): Promise<StreamInfo> {
    const { streams } = this.#connection.manager;
    const identity = origin?.identity ?? ulid(this.#connection.clock.now(), this.#random);
    const copies = this.copies.wanted;
    const config = {
      ...configOf(spec, identity),
      num_replicas: copies,
      ...(origin !== undefined && { first_seq: origin.firstSequence }),
    };
    try {
      return await this.#connection.requestLeader(() => streams.add(config));
    } catch (error) {
      // Another node created it first.
      if (error instanceof JetStreamApiError && error.code === CODES.nameInUse) {
        const info = await this.#findMade(spec.name);
        if (info !== undefined) return info;
      }
      const fault = asCopiesFault(error, spec.name, copies);
      if (fault !== undefined) throw fault;
      if (!(error instanceof JetStreamApiError)) throw error;
      const message = `The server refuses stream ${spec.name}: ${error.message} (${error.code})`;
      throw new StreamMisconfigured(message, { cause: error });
    }
  }

  /** In a cluster, a stream that is being created has its name before any leader answers for it. */
  async #findMade(name: string): Promise<StreamInfo | undefined> {
    for (let looks = 0; looks < MADE_LOOKS_MAX; looks++) {
      const info = await this.#find(name);
      if (info !== undefined) return info;
      await this.#connection.pause(MADE_WAIT_MS);
    }
    return undefined;
  }

  async #know(stream: string): Promise<KnownStream> {
    if (!this.#known.has(stream)) await this.state(stream);
    const known = this.#known.get(stream);
    if (known === undefined) throw new Error(`Stream ${stream} was not recorded when it was found`);
    return known;
  }

  async #state(stream: string): Promise<StreamState> {
    try {
      const info = await this.#connection.manager.streams.info(stream);
      if (this.#madeAgain.get(stream)?.whenMissing === 'replace') this.#forgetReplaced(info);
      return this.#recognised(info);
    } catch (error) {
      const spec = this.#madeAgain.get(stream);
      if (spec === undefined || !isStreamAbsent(error)) throw error;
      const making = this.#making.get(stream) ?? this.#makeAgain(spec);
      this.#making.set(stream, making);
      return making.finally(() => this.#making.delete(stream));
    }
  }

  /** Recreates a log that was found missing twice. */
  async #makeAgain(spec: StreamSpec): Promise<StreamState> {
    await this.#connection.pause(MISSING_MS);
    return this.ensure(spec);
  }

  #forgetReplaced(info: StreamInfo): void {
    const { name } = info.config;
    if (this.#known.get(name)?.identity !== identityOf(info)) this.#known.delete(name);
  }

  #continuationOf({ name, whenMissing }: StreamSpec): StreamOrigin | undefined {
    const known = this.#known.get(name);
    if (known === undefined || whenMissing !== 'continue') return undefined;
    const reads = [...this.#open].filter((one) => one instanceof JetStreamRead);
    const read = reads.filter(({ stream }) => stream === name).map(({ delivered }) => delivered);
    const last = Math.max(known.last, ...read);
    return { identity: known.identity, firstSequence: last + 1 + LEFT_OUT };
  }

  async #readable(stream: string): Promise<StreamState> {
    const state = await this.#state(stream);
    if (this.#known.get(stream)?.retention === RetentionPolicy.Workqueue) {
      throw new StreamMisconfigured(`Stream ${stream} is a work queue: consume it`);
    }
    return state;
  }

  /**
   * Acknowledgements may arrive out of order; an end below an acknowledged message must not occur.
   */
  async #checkEnd(stream: string, { identity, acknowledged }: KnownStream): Promise<void> {
    const { identity: found, lastSequence } = await this.state(stream);
    // Another stream may have taken its place.
    if (found !== identity || lastSequence >= acknowledged) return;
    throw new StreamMisconfigured(
      `Stream ${stream} has lost messages: it ends at ${lastSequence}, ` +
        `acknowledged was ${acknowledged}`,
    );
  }

  /** Throws `StreamMisconfigured` if the stream is not the one first used. */
  #recognised(info: StreamInfo): StreamState {
    const { name, subjects, retention } = info.config;
    const state = stateOf(info);
    const known = this.#known.get(name);
    if (known !== undefined && known.identity !== state.identity) {
      throw new StreamMisconfigured(
        `Stream ${name} was replaced: it is ${state.identity}, it was ${known.identity}`,
      );
    }
    if (known === undefined) {
      const { identity, lastSequence: last } = state;
      const seen = { acknowledged: 0, last };
      this.#known.set(name, { identity, subjects: subjects ?? [], retention, ...seen });
    } else {
      known.last = Math.max(known.last, state.lastSequence);
    }
    return state;
  }

  /** Outcome of a response that is not an acknowledgement. Decided by its code: texts change. */
  async #refused(append: Append, error: unknown): Promise<AppendOutcome> {
    if (error instanceof StreamMisconfigured) throw error;
    if (error instanceof JetStreamApiError) {
      if (CODES.wrongLastSequence.includes(error.code)) return { kind: 'wrongLastSequence' };
      const what = error.code === CODES.otherStream ? 'does not accept' : 'refused a message on';
      const message = `Stream ${append.stream} ${what} ${append.subject} (${error.code})`;
      throw new StreamMisconfigured(message, { cause: error });
    }
    // No leader answered for the subject; if the stream is missing, that does not change.
    if (error instanceof NoLeader) await this.state(append.stream);
    throw error instanceof StreamUnavailable ? error : unexpected(append, error);
  }
}

function unexpected(append: Append, error: unknown): StreamUnavailable {
  // An error unknown to this code does not show whether the message was sent.
  const message = `Appending to ${append.stream} failed: ${String(error)}`;
  return new StreamUnavailable(message, 'unknown', { cause: error });
}

/** Key of the stream's metadata that holds its identity. */
const IDENTITY_KEY = 'vm-monitoring-identity';
const NANOS_PER_MS = 1_000_000;

/**
 * A stream's specification as a JetStream configuration and back. The server's configuration is
 * always compared with the request, because older servers ignore unknown options, and because
 * someone may have created or changed the stream by hand.
 */
function configOf(spec: StreamSpec, identity: string) {
  return {
    name: spec.name,
    subjects: [...spec.subjects],
    retention: spec.retention === 'log' ? RetentionPolicy.Limits : RetentionPolicy.Workqueue,
    storage: StorageType.File,
    max_age: (spec.maxAgeMs ?? 0) * NANOS_PER_MS,
    duplicate_window: spec.duplicateWindowMs * NANOS_PER_MS,
    max_msgs: -1,
    max_bytes: -1,
    max_msgs_per_subject: spec.lastOfSubject ? 1 : -1,
    // In case an operator sets a limit: a full stream refuses, and never drops acknowledged
    // messages.
    discard: DiscardPolicy.New,
    // A direct get may be answered by a copy that is behind.
    allow_direct: false,
    metadata: { [IDENTITY_KEY]: identity },
  };
}

/**
 * Identity of a stream, written at its creation. Throws `StreamMisconfigured` if there is none:
 * this program did not create it.
 */
function identityOf(info: StreamInfo): string {
  const identity = info.config.metadata?.[IDENTITY_KEY];
  if (identity !== undefined && identity !== '') return identity;
  throw new StreamMisconfigured(
    `Stream ${info.config.name} has no ${IDENTITY_KEY} in its metadata, so it was not created by ` +
      'this program: name another account of NATS in SVC_NATS_URL',
  );
}

/** State in the port's terms; an empty JetStream stream gives its first sequence in two ways. */
function stateOf(info: StreamInfo): StreamState {
  const { messages, first_seq: first, last_seq: last } = info.state;
  return {
    identity: identityOf(info),
    firstSequence: messages === 0 ? last + 1 : first,
    lastSequence: last,
    messages,
  };
}

/** Throws `StreamMisconfigured` if using the stream would lose something that `spec` keeps. */
function assertKeeps(config: StreamConfig, spec: StreamSpec): void {
  const losses = [...streamLosses(specOf(config), spec), ...limitsOf(config)];
  if (config.storage !== StorageType.File) losses.push('storage is memory, required is file');
  if (losses.length === 0) return;
  throw new StreamMisconfigured(`Stream ${spec.name} on the server differs: ${losses.join('; ')}`);
}

function specOf(config: StreamConfig): StreamSpec {
  const retention = config.retention === RetentionPolicy.Workqueue ? 'workQueue' : 'log';
  return {
    name: config.name,
    subjects: config.subjects ?? [],
    retention,
    ...(config.max_age > 0 ? { maxAgeMs: config.max_age / NANOS_PER_MS } : {}),
    ...(config.max_msgs_per_subject === 1 ? { lastOfSubject: true } : {}),
    duplicateWindowMs: config.duplicate_window / NANOS_PER_MS,
  };
}

function limitsOf(config: StreamConfig): string[] {
  const losses: string[] = [];
  const known: string[] = [RetentionPolicy.Limits, RetentionPolicy.Workqueue];
  if (!known.includes(config.retention)) losses.push(`retention is ${config.retention}`);
  const limits = {
    max_msgs: config.max_msgs,
    max_bytes: config.max_bytes,
    // A table requests 1, and `streamLosses` compares that one.
    max_msgs_per_subject: config.max_msgs_per_subject === 1 ? -1 : config.max_msgs_per_subject,
    max_msg_size: config.max_msg_size,
  };
  for (const [name, limit] of Object.entries(limits)) {
    if (limit > 0) losses.push(`${name} is ${limit}, required is no limit`);
  }
  const switches = {
    sealed: config.sealed,
    no_ack: config.no_ack,
    deny_purge: config.deny_purge,
    mirror: config.mirror,
    subject_transform: config.subject_transform,
    persist_mode: config.persist_mode === PersistMode.Async ? true : undefined,
  };
  for (const [name, on] of Object.entries(switches)) {
    if (on) losses.push(`${name} is set, required is its default`);
  }
  return losses;
}
