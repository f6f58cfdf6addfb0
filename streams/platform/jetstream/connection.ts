/**
 * One connection to a NATS server or cluster that never gives up: it reconnects forever, reports
 * the current problem in `health`, and turns the client's errors into the port's. A request is
 * either sent on a live connection or refused at once; if the connection breaks during a request,
 * its outcome is unknown from that moment, not from a time-out.
 */
import {
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream';
import {
  connect,
  errors,
  type NatsConnection,
  type NodeConnectionOptions,
} from '@nats-io/transport-node';
import type { Clock } from '../clock.ts';
import { Sleep } from '../pause.ts';
import { redactedUrl } from '../redacted-url.ts';
import {
  type StreamHealth,
  StreamMisconfigured,
  StreamMissing,
  StreamUnavailable,
} from '../stream.ts';

export interface JetStreamConnectionOptions {
  /** `nats://host:port`, or several: any server of one cluster. */
  readonly url: string | readonly string[];
  readonly clock: Clock;
  /** Credentials and TLS of the connection. */
  readonly security?: Pick<
    NodeConnectionOptions,
    'authenticator' | 'user' | 'pass' | 'token' | 'tls'
  >;
  /** Time after which the outcome of an unanswered request is unknown, ms. Default 5,000. */
  readonly answerMs?: number;
  /** Longest time to retry while no leader answers, ms. Default 10,000: elections take 6 to 8 s. */
  readonly leaderMs?: number;
}

const RECONNECT_WAIT_MS = 250;
const PING_INTERVAL_MS = 5_000;
const RETRY_WAIT_MS = 200;
/** First wait for a repeatable request, ms; each further one is twice as long. */
const FIRST_ANSWER_MS = 1_500;
/** About one round trip between the servers of a cluster. */
const BUSY_WAIT_MS = 10;

/** Longer than an election, ms. */
const LASTING_MS = 20_000;
const LASTING =
  'This lasts longer than an election: start the nats-servers that are missing. If all run, a disk may ' +
  'be full, as their logs say: free space there, then restart those servers; nothing acknowledged is lost';

/** API error codes: the meta group has no leader at the moment, or this server is not it. */
const NO_LEADER_CODES = new Set([10008, 10009]);
/** In a cluster, an earlier message of the subject or with the id is still being copied. */
const BUSY_SUBJECT = 10163;
const BUSY_ID = 10158;
const STREAM_NOT_FOUND = 10059;
/**
 * Insufficient resources, no JetStream in the account or on the server, storage exceeded, a store
 * that cannot be made or written.
 */
const NO_SPACE_CODES = new Set([10023, 10039, 10047, 10049, 10076, 10077]);
const NO_SPACE =
  'If the disk of a nats-server is full, free space there, then restart that nats-server; nothing acknowledged is lost';

export class JetStreamConnection {
  readonly nats: NatsConnection;
  readonly js: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly clock: Clock;
  readonly answerMs: number;
  readonly #leaderMs: number;
  readonly #onBroken = new Set<() => void>();
  readonly #untilRestored: Sleep;
  #broken: string | undefined;
  #fault: string | undefined;
  /** Elapsed time since which every request has failed, ms. */
  #faultSinceMs = Number.POSITIVE_INFINITY;
  #closed = false;

  /**
   * Throws `StreamUnavailable` if no server answers, `StreamMisconfigured` for an unsuitable one.
   */
  static async open(options: JetStreamConnectionOptions): Promise<JetStreamConnection> {
    const servers = typeof options.url === 'string' ? [options.url] : [...options.url];
    const answerMs = options.answerMs ?? 5_000;
    let nats: NatsConnection;
    try {
      nats = await connect({
        ...options.security,
        servers,
        name: 'vm-monitoring',
        timeout: answerMs,
        maxReconnectAttempts: -1,
        reconnectTimeWait: RECONNECT_WAIT_MS,
        pingInterval: PING_INTERVAL_MS,
        // A password that is changed on both sides must not require a restart here.
        ignoreAuthErrorAbort: true,
      });
    } catch (error) {
      throw connectFailure(error, servers.join(', '));
    }
    try {
      assertServer(nats);
      const manager = await jetstreamManager(nats, { checkAPI: false, timeout: answerMs });
      return new JetStreamConnection(nats, manager, options);
    } catch (error) {
      await nats.close();
      throw error;
    }
  }

  private constructor(
    nats: NatsConnection,
    manager: JetStreamManager,
    options: JetStreamConnectionOptions,
  ) {
    this.nats = nats;
    this.manager = manager;
    this.clock = options.clock;
    this.#untilRestored = new Sleep(options.clock);
    this.answerMs = options.answerMs ?? 5_000;
    this.#leaderMs = options.leaderMs ?? 10_000;
    this.js = jetstream(nats, { timeout: this.answerMs });
    void this.#watch();
  }

  get closed(): boolean {
    return this.#closed;
  }

  health(): StreamHealth {
    const reason = this.#closed ? 'The stream is closed' : (this.#broken ?? this.#fault);
    if (reason === undefined) return { state: 'available' };
    const isLasting = this.clock.elapsed() - this.#faultSinceMs > LASTING_MS;
    if (this.#closed || this.#broken !== undefined || !isLasting) {
      return { state: 'unavailable', reason };
    }
    return { state: 'unavailable', reason: `${reason}. ${LASTING}` };
  }

  /**
   * Result of one request that the server answers. `StreamUnavailable` is `refused` if it was not
   * sent or the server rejected it; `unknown` if no response arrived. A JetStream API error about
   * the request itself passes unchanged.
   */
  async request<R>(send: () => Promise<R>): Promise<R> {
    this.#assertConnected();
    let broken: () => void = () => {};
    const breaks = new Promise<never>((_, reject) => {
      broken = () => reject(new StreamUnavailable(`No answer: ${this.#broken}`, 'unknown'));
    });
    this.#onBroken.add(broken);
    try {
      const result = await Promise.race([send(), breaks]);
      this.#recovered();
      return result;
    } catch (error) {
      throw this.#failed(error);
    } finally {
      this.#onBroken.delete(broken);
    }
  }

  /**
   * Like `request`, but sent again while there is no leader, or it is busy. "No responders" also
   * means that nothing was stored, so a retry is safe; a missing stream causes it too, hence the
   * bound.
   */
  async requestLeader<R>(send: () => Promise<R>): Promise<R> {
    const untilMs = this.clock.elapsed() + this.#leaderMs;
    for (let waitMs = RETRY_WAIT_MS; ; ) {
      try {
        return await this.request(send);
      } catch (error) {
        const isBusy = error instanceof LeaderBusy;
        const isPassing = isBusy || error instanceof NoLeader;
        if (!isPassing || this.clock.elapsed() + RETRY_WAIT_MS > untilMs) throw error;
        waitMs = isBusy ? BUSY_WAIT_MS : RETRY_WAIT_MS;
      }
      await this.pause(waitMs);
    }
  }

  /** Like `requestLeader`, for repeatable requests: also repeated if no response arrived. */
  async ask<R>(send: () => Promise<R>): Promise<R> {
    const untilMs = this.clock.elapsed() + this.#leaderMs;
    for (let waitMs = FIRST_ANSWER_MS; ; waitMs *= 2) {
      try {
        return await this.requestLeader(() => this.#briefly(waitMs, send));
      } catch (error) {
        const isLost = error instanceof StreamUnavailable && error.outcome === 'unknown';
        if (!isLost || this.#broken !== undefined || this.clock.elapsed() > untilMs) throw error;
      }
    }
  }

  /** Like `requestLeader`, until it succeeds, is permanently refused, or `stopped` returns true. */
  async requestPatiently<R>(send: () => Promise<R>, stopped: () => boolean): Promise<R> {
    for (let waitMs = FIRST_ANSWER_MS; ; waitMs *= 2) {
      try {
        return await this.request(() => this.#briefly(waitMs, send));
      } catch (error) {
        if (!(error instanceof StreamUnavailable) || this.#closed || stopped()) throw error;
      }
      await this.pause(RETRY_WAIT_MS);
    }
  }

  /**
   * Waits `waitMs` for a repeatable request: during an election a request is often lost. A late
   * result is ignored.
   */
  async #briefly<R>(waitMs: number, send: () => Promise<R>): Promise<R> {
    if (waitMs >= this.answerMs) return send();
    const late = Promise.withResolvers<never>();
    const cancel = this.clock.wakeAfter(waitMs, () => late.reject(new LateAnswer()));
    try {
      return await Promise.race([send(), late.promise]);
    } finally {
      cancel();
    }
  }

  /** Calls `listener` each time the connection breaks. Returns a function that ends this. */
  onBroken(listener: () => void): () => void {
    this.#onBroken.add(listener);
    return () => void this.#onBroken.delete(listener);
  }

  /** Resolves after `ms`, or as soon as the connection is restored or closed. */
  pause(ms: number): Promise<void> {
    return this.#closed ? Promise.resolve() : this.#untilRestored.pause(ms);
  }

  /**
   * Requests the removal of an ephemeral consumer without waiting. If it fails, the server removes
   * the consumer once it is inactive.
   */
  removeConsumer(stream: string, consumer: string): void {
    if (this.#closed || this.#broken !== undefined) return;
    this.nats.publish(`$JS.API.CONSUMER.DELETE.${stream}.${consumer}`);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#breakOff('The stream is closed');
    this.#untilRestored.wake();
    await this.nats.close();
  }

  async #watch(): Promise<void> {
    // A refused login breaks the connection too; the first error says more.
    let isRefused = false;
    for await (const status of this.nats.status()) {
      const server = this.nats.getServer();
      if (status.type === 'error' && isLoginError(status.error)) {
        isRefused = true;
        this.#breakOff(`NATS at ${server} refuses the login; retrying`);
      } else if (status.type === 'disconnect' || status.type === 'staleConnection') {
        if (!isRefused) this.#breakOff(`Not connected to ${server}; reconnecting`);
        isRefused = false;
      } else if (status.type === 'reconnect') {
        this.#reconnected();
      }
    }
  }

  #reconnected(): void {
    try {
      assertServer(this.nats);
      this.#broken = undefined;
      this.#recovered();
    } catch (error) {
      // A cluster in the middle of an upgrade or downgrade: health names the server.
      this.#broken = messageOf(error);
    }
    this.#untilRestored.wake();
  }

  #breakOff(reason: string): void {
    this.#broken = reason;
    for (const broken of [...this.#onBroken]) broken();
  }

  #assertConnected(): void {
    if (this.#closed) throw new StreamUnavailable('The stream is closed', 'refused');
    if (this.#broken !== undefined) throw new StreamUnavailable(this.#broken, 'refused');
  }

  #failed(error: unknown): unknown {
    const failure = asUnavailable(error);
    const isFault = failure instanceof StreamUnavailable && !(failure instanceof LateAnswer);
    if (isFault) {
      this.#fault = failure.message;
      this.#faultSinceMs = Math.min(this.#faultSinceMs, this.clock.elapsed());
    }
    return failure;
  }

  #recovered(): void {
    this.#fault = undefined;
    this.#faultSinceMs = Number.POSITIVE_INFINITY;
  }
}

/**
 * The response may still arrive; the request is sent again. Not a fault yet: a busy server is slow.
 */
class LateAnswer extends StreamUnavailable {
  constructor() {
    super('The server did not answer in time', 'unknown');
  }
}

/**
 * The request had no effect because no leader answers for the stream at the moment: safe to send
 * again.
 */
export class NoLeader extends StreamUnavailable {
  constructor(cause: unknown) {
    const what = 'No JetStream leader answers: an election, a server without -js, or no stream';
    super(what, 'refused', { cause });
    this.name = 'NoLeader';
  }
}

/**
 * This request was not done because an earlier one is in progress: safe to send again. If that one
 * has the same message id, it is not known whether the message will be stored.
 */
class LeaderBusy extends StreamUnavailable {
  constructor(cause: JetStreamApiError) {
    const outcome = cause.code === BUSY_ID ? 'unknown' : 'refused';
    super(`The leader is busy: ${cause.message}`, outcome, { cause });
    this.name = 'LeaderBusy';
  }
}

/** True if the error says that the stream does not exist on the server. */
export function isStreamAbsent(error: unknown): boolean {
  if (error instanceof StreamMissing) return true;
  return error instanceof JetStreamApiError && error.code === STREAM_NOT_FOUND;
}

/**
 * Why a reachable NATS server rejects the connection. `login`: user, password, token, key or
 * credentials. `serverCertificate`: it is not trusted here. `clientCertificate`: ours is required,
 * or not trusted. `unencrypted`: it offers no TLS, which we require.
 */
export type NatsRefusal = 'login' | 'serverCertificate' | 'clientCertificate' | 'unencrypted';

/** The server answers but rejects this program, so a retry would not help. */
export class NatsRefused extends Error {
  readonly reason: NatsRefusal;
  constructor(reason: NatsRefusal, servers: string, cause: unknown) {
    super(`NATS at ${redactedUrl(servers)} refuses the connection (${messageOf(cause)})`, {
      cause,
    });
    this.name = 'NatsRefused';
    this.reason = reason;
  }
}

function connectFailure(error: unknown, servers: string): Error {
  const reason = refusalOf(error);
  if (reason !== undefined) return new NatsRefused(reason, servers, error);
  const message = `Cannot connect to ${redactedUrl(servers)}: ${messageOf(error)}`;
  return new StreamUnavailable(message, 'refused', { cause: error });
}

function refusalOf(error: unknown): NatsRefusal | undefined {
  if (isLoginError(error)) return 'login';
  if (!(error instanceof Error)) return undefined;
  // The client has no class for this error.
  if (/does not support 'tls'/.test(error.message)) return 'unencrypted';
  const { code } = error as { readonly code?: unknown };
  if (typeof code !== 'string') return undefined;
  if (/^ERR_SSL_.*ALERT/.test(code)) return 'clientCertificate';
  // Names of OpenSSL's verification results, as Node.js gives them.
  const isUntrusted =
    /^(CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|INVALID_|HOSTNAME_|ERR_TLS_CERT_|ERR_SSL_)/.test(
      code,
    );
  return isUntrusted ? 'serverCertificate' : undefined;
}

function isLoginError(error: unknown): boolean {
  return (
    error instanceof errors.AuthorizationError ||
    error instanceof errors.UserAuthenticationExpiredError
  );
}

/** The user may connect but lacks the permission for this request. */
function permissionError(
  error: unknown,
): InstanceType<typeof errors.PermissionViolationError> | undefined {
  if (error instanceof errors.PermissionViolationError) return error;
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof errors.PermissionViolationError ? cause : undefined;
}

function asUnavailable(error: unknown): unknown {
  if (error instanceof StreamUnavailable) return error;
  const forbidden = permissionError(error);
  if (forbidden) {
    const message =
      `The NATS user may not ${forbidden.operation} ${forbidden.subject}: give it the permissions ` +
      'listed in docs/operations/cluster.md';
    return new StreamMisconfigured(message, { cause: error });
  }
  if (error instanceof JetStreamApiError) {
    if (error.code === STREAM_NOT_FOUND) {
      return new StreamMissing({ cause: error });
    }
    if (NO_LEADER_CODES.has(error.code)) return new NoLeader(error);
    if (error.code === BUSY_SUBJECT || error.code === BUSY_ID) return new LeaderBusy(error);
    // 5xx: the server failed, e.g. its disk is full. Others are about the request.
    if (error.status < 500) return error;
    const hint = NO_SPACE_CODES.has(error.code) ? `. ${NO_SPACE}` : '';
    const message = `The server refused with error ${error.code}: ${error.message}${hint}`;
    return new StreamUnavailable(message, 'refused', { cause: error });
  }
  if (isNoResponders(error)) return new NoLeader(error);
  if (error instanceof errors.TimeoutError) {
    return new StreamUnavailable('The server did not answer in time', 'unknown', { cause: error });
  }
  if (isConnectionError(error)) {
    return new StreamUnavailable('The connection is closed', 'refused', { cause: error });
  }
  return error;
}

/** The client found no living connection to send on. */
export function isConnectionError(error: unknown): boolean {
  return (
    error instanceof errors.ClosedConnectionError ||
    error instanceof errors.DrainingConnectionError ||
    error instanceof errors.ConnectionError
  );
}

/** A 503. The class `JetStreamNotEnabled` is not exported; its name is its contract. */
export function isNoResponders(error: unknown): boolean {
  if (error instanceof errors.RequestError) return error.isNoResponders();
  if (error instanceof errors.NoRespondersError) return true;
  return error instanceof Error && error.name === 'JetStreamNotEnabled';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// Requirements on a nats-server, checked with its greeting at each connection: an older one would
// silently ignore options, and one without JetStream looks like an election that never ends.

/** Oldest server with everything the adapter relies on; the version in Debian stable. */
const OLDEST_SERVER = '2.10.27';

// Commits may have 256 KiB, and a message has headers besides its data.
const PAYLOAD_BYTES_MIN = 512 * 1024;

/** Throws `StreamMisconfigured` with the remedy if the connected server does not meet them. */
function assertServer(nats: NatsConnection): void {
  const info = nats.info;
  if (info === undefined) throw new StreamUnavailable('The server sent no greeting', 'refused');
  const where = `nats-server ${info.version} at ${nats.getServer()}`;
  if (isOlder(info.version, OLDEST_SERVER)) {
    throw new StreamMisconfigured(`${where} is too old: use ${OLDEST_SERVER} or newer`);
  }
  if (info.jetstream !== true) {
    throw new StreamMisconfigured(`${where} has no JetStream: add jetstream {} to its settings`);
  }
  if (info.max_payload < PAYLOAD_BYTES_MIN) {
    throw new StreamMisconfigured(
      `${where} accepts ${info.max_payload} bytes per message: set max_payload to at least ` +
        `${PAYLOAD_BYTES_MIN}`,
    );
  }
}

/** Compares `major.minor.patch`; a suffix (`-beta.1`) does not count. */
export function isOlder(version: string, than: string): boolean {
  const parts = version.split(/[.+-]/).map(Number);
  for (const [i, bound] of than.split('.').map(Number).entries()) {
    const part = parts[i] ?? 0;
    if (part !== bound) return !(part > bound);
  }
  return false;
}
