/**
 * Copies of the streams in a NATS cluster: how many a new stream gets, how many the existing ones
 * have, which of them are behind, and changing their number. For the operator: appends and reads
 * are the same with any number of copies.
 */
import { JetStreamApiError, type StreamInfo } from '@nats-io/jetstream';
import { type Copies, StreamMisconfigured, StreamUnavailable } from '../stream.ts';
import type { JetStreamConnection } from './connection.ts';

/** One further copy of a stream, as its leader sees it. */
export interface Follower {
  readonly server: string;
  /** true: it has everything that the leader has. */
  readonly isCurrent: boolean;
  readonly isOffline: boolean;
  /** Number of operations it is behind. */
  readonly lag: number;
}

/** A stream on the servers, from the operator's view. */
export interface StreamDescription {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly messages: number;
  readonly bytes: number;
  readonly consumers: number;
  readonly copies: {
    /** Copies that this service requests. */
    readonly wanted: number;
    /** Copies that the stream is configured for. */
    readonly set: number;
    /** Copies that are up to date, including the leader. */
    readonly current: number;
  };
  /** Server that leads it; absent: none does at the moment. */
  readonly leader?: string;
  readonly followers: readonly Follower[];
}

/** The streams of a connection's account, and the number of their copies. */
export class StreamCopies {
  readonly #connection: JetStreamConnection;
  readonly #requested: Copies | undefined;
  /** As of the last description. */
  #seen: readonly StreamDescription[] = [];

  /** @param requested number from the settings; undefined: 3 for a cluster of servers, else 1 */
  constructor(connection: JetStreamConnection, requested?: Copies) {
    this.#connection = connection;
    this.#requested = requested;
  }

  /** Copies that a new stream gets now. */
  get wanted(): Copies {
    return this.#requested ?? (this.#connection.nats.info?.cluster === undefined ? 1 : 3);
  }

  /** All streams of the account, by name. Throws `StreamUnavailable`. */
  async describe(): Promise<StreamDescription[]> {
    const described = this.#described(await this.#list());
    this.#seen = described;
    return described;
  }

  /** Server that led the stream at the last description, or the only one; undefined: unknown. */
  leaderOf(stream: string): string | undefined {
    const { info } = this.#connection.nats;
    if (info?.cluster === undefined) return info?.server_name;
    return this.#seen.find(({ name }) => name === stream)?.leader;
  }

  /**
   * Sets the number of copies of every stream; further copies are filled in the background. Throws
   * `StreamMisconfigured` with the remedy; streams before the failed one stay changed.
   */
  async set(copies: Copies): Promise<StreamDescription[]> {
    const { streams } = this.#connection.manager;
    const changed: StreamInfo[] = [];
    for (const info of await this.#list()) {
      const { name, num_replicas: before } = info.config;
      const change = { num_replicas: copies };
      try {
        const update = () => streams.update(name, change);
        changed.push(before === copies ? info : await this.#connection.requestLeader(update));
      } catch (error) {
        throw asCopiesFault(error, name, copies) ?? error;
      }
    }
    return this.#described(changed);
  }

  #described(infos: readonly StreamInfo[]): StreamDescription[] {
    return infos
      .map((info) => describe(info, this.wanted))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #list(): Promise<StreamInfo[]> {
    const { streams } = this.#connection.manager;
    return this.#connection.ask(async () => {
      const all: StreamInfo[] = [];
      for await (const info of streams.list()) all.push(info);
      return all;
    });
  }
}

function describe(info: StreamInfo, wanted: number): StreamDescription {
  const { config, state, cluster } = info;
  const followers = (cluster?.replicas ?? []).map(
    ({ name, current, offline = false, lag = 0 }) => ({
      server: name,
      isCurrent: current && !offline,
      isOffline: offline,
      lag,
    }),
  );
  // A server outside a cluster names no leader: it is the one copy.
  const isLed = cluster === undefined || (cluster.leader ?? '') !== '' || followers.length === 0;
  const current = followers.filter(({ isCurrent }) => isCurrent).length + (isLed ? 1 : 0);
  return {
    name: config.name,
    subjects: config.subjects ?? [],
    messages: state.messages,
    bytes: state.bytes,
    consumers: state.consumer_count,
    copies: { wanted, set: config.num_replicas, current },
    ...(cluster?.leader && { leader: cluster.leader }),
    followers,
  };
}

const NO_PEERS = new Set([10005, 10023]);
const NOT_CLUSTERED = 10074;

/**
 * Message for a server that cannot keep that many copies; undefined for another error. Missing
 * servers may still appear: that is `StreamUnavailable`.
 */
export function asCopiesFault(error: unknown, stream: string, copies: number): Error | undefined {
  const cause = causeOf(error);
  if (cause === undefined) return undefined;
  if (cause.code === NOT_CLUSTERED) {
    const message =
      `Stream ${stream} cannot have ${copies} copies: the nats-server is in no cluster. Set ` +
      'SVC_STREAM_REPLICAS to 1, or run three servers';
    return new StreamMisconfigured(message, { cause: error });
  }
  if (!NO_PEERS.has(cause.code) || copies === 1) return undefined;
  const message =
    `The NATS cluster has too few servers with JetStream and room for ${copies} copies of stream ` +
    `${stream} (${cause.message}): start the others, or set SVC_STREAM_REPLICAS`;
  return new StreamUnavailable(message, 'refused', { cause: error });
}

function causeOf(error: unknown): JetStreamApiError | undefined {
  if (error instanceof JetStreamApiError) return error;
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof JetStreamApiError ? cause : undefined;
}
