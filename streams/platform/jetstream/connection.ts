/**
 * One connection to a NATS server or cluster that is never given up: it reconnects for ever, says
 * in `health` what is wrong meanwhile, and turns the client's errors into the port's. A request is
 * either sent on a living connection or refused at once; one that is under way when the connection
 * breaks has an unknown outcome from that moment, not from a time-out.
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
import { shownUrl } from '../shown-url.ts';
import { type StreamHealth, StreamMisconfigured, StreamUnavailable } from '../stream.ts';

export interface JetStreamConnectionOptions {
  /** `nats://host:port`, or several: any server of one cluster. */
  readonly url: string | readonly string[];
  readonly clock: Clock;
  /** Credentials and TLS of the connection. */
  readonly security?: Pick<
    NodeConnectionOptions,
    'authenticator' | 'user' | 'pass' | 'token' | 'tls'
  >;
  /** How long an answer may take before the outcome is unknown, ms. Default 5,000. */
  readonly answerMs?: number;
  /** How long to go on trying while no leader answers, ms. Default 10,000: elections take 6 to 8 s. */
  readonly leaderMs?: number;
}

const RECONNECT_WAIT_MS = 250;
const PING_INTERVAL_MS = 5_000;
const RETRY_WAIT_MS = 200;
/** First wait for an answer to what may be asked again, ms; each further one is twice as long. */
const FIRST_ANSWER_MS = 1_500;
/** Of the order of a round between the servers of a cluster. */
const BUSY_WAIT_MS = 10;

/** API error codes: the meta group has no leader, or this server is not it, at the moment. */
const NO_LEADER_CODES = new Set([10008, 10009]);
/** In a cluster, an earlier message of the subject or with the id is on its way to the copies. */
const BUSY_SUBJECT = 10163;
const BUSY_ID = 10158;
const STREAM_NOT_FOUND = 10059;

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
  #closed = false;

  /** Throws `StreamUnavailable` when no server answers, `StreamMisconfigured` for a wrong one. */
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
        // A password that is changed on both sides must not need a restart here.
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
    return reason === undefined ? { state: 'available' } : { state: 'unavailable', reason };
  }

  /**
   * Result of one request that the server answers. `StreamUnavailable` is `refused` when it was
   * not sent, or when the server said no; `unknown` when no answer came. An error of the
   * JetStream API that says something about the request itself passes unchanged.
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
      this.#fault = undefined;
      return result;
    } catch (error) {
      throw this.#failed(error);
    } finally {
      this.#onBroken.delete(broken);
    }
  }

  /**
   * Like `request`, sent again while there is no leader, or it is busy. "No responders" also means that nothing
   * was stored, so trying again is safe; it comes for a missing stream too, hence the bound.
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

  /** Like `requestLeader` for what may be done twice: repeated also when no answer came. */
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

  /** Like `requestLeader` until it succeeds, is refused for good, or `stopped` says so. */
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
   * Waits `waitMs` for what may be asked again: in the middle of an election a request is often lost.
   * What it comes to later is nobody's.
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

  /** Calls `listener` each time the connection breaks, until the function returned is called. */
  onBroken(listener: () => void): () => void {
    this.#onBroken.add(listener);
    return () => void this.#onBroken.delete(listener);
  }

  /** Resolves after `ms`, or as soon as the connection is restored or closed. */
  pause(ms: number): Promise<void> {
    return this.#closed ? Promise.resolve() : this.#untilRestored.pause(ms);
  }

  /**
   * Asks for an ephemeral consumer to be removed and waits for nothing: where it fails, the server
   * removes it after its time of inactivity.
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
    // A refused login breaks the connection too: what came first says more.
    let isRefused = false;
    for await (const status of this.nats.status()) {
      const server = this.nats.getServer();
      if (status.type === 'error' && isLoginError(status.error)) {
        isRefused = true;
        this.#breakOff(`NATS at ${server} refuses the login, trying again`);
      } else if (status.type === 'disconnect' || status.type === 'staleConnection') {
        if (!isRefused) this.#breakOff(`Not connected to ${server}, reconnecting`);
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
      this.#fault = undefined;
    } catch (error) {
      // A cluster in the middle of an upgrade, or a downgrade: health says which server it is.
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
    if (isFault) this.#fault = failure.message;
    return failure;
  }
}

/** It may still come; the request is sent again. No fault yet: a busy server is slow. */
class LateAnswer extends StreamUnavailable {
  constructor() {
    super('The server did not answer in time', 'unknown');
  }
}

/** Nothing was done because nobody answers for the stream at the moment: safe to send again. */
export class NoLeader extends StreamUnavailable {
  constructor(cause: unknown) {
    const what = 'No JetStream leader answers: an election, a server without -js, or no stream';
    super(what, 'refused', { cause });
    this.name = 'NoLeader';
  }
}

/**
 * This request was not done, and an earlier one is under way: safe to send again. Where that one has
 * the same message id it is not known whether the message will be stored.
 */
class LeaderBusy extends StreamUnavailable {
  constructor(cause: JetStreamApiError) {
    const outcome = cause.code === BUSY_ID ? 'unknown' : 'refused';
    super(`The leader is busy: ${cause.message}`, outcome, { cause });
    this.name = 'LeaderBusy';
  }
}

/** Is it the error for a stream that does not exist on the server? */
export function isStreamAbsent(error: unknown): boolean {
  const cause = error instanceof StreamMisconfigured ? error.cause : undefined;
  return cause instanceof JetStreamApiError && cause.code === STREAM_NOT_FOUND;
}

/**
 * Why a NATS server that answers lets nobody in. `login`: user, password, token, key or credentials.
 * `serverCertificate`: it is not trusted here. `clientCertificate`: ours is wanted, or not trusted.
 * `unencrypted`: it offers no TLS, and we insist.
 */
export type NatsRefusal = 'login' | 'serverCertificate' | 'clientCertificate' | 'unencrypted';

/** The server answers and does not let this program in: trying again would not help. */
export class NatsRefused extends Error {
  readonly reason: NatsRefusal;
  constructor(reason: NatsRefusal, servers: string, cause: unknown) {
    super(`NATS at ${shownUrl(servers)} refuses the connection (${messageOf(cause)})`, { cause });
    this.name = 'NatsRefused';
    this.reason = reason;
  }
}

function connectFailure(error: unknown, servers: string): Error {
  const reason = refusalOf(error);
  if (reason !== undefined) return new NatsRefused(reason, servers, error);
  const message = `Cannot connect to ${shownUrl(servers)}: ${messageOf(error)}`;
  return new StreamUnavailable(message, 'refused', { cause: error });
}

function refusalOf(error: unknown): NatsRefusal | undefined {
  if (isLoginError(error)) return 'login';
  if (!(error instanceof Error)) return undefined;
  // The client has no class for it.
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

/** The user may connect and may not do what it asks. */
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
      'that docs/operations/cluster.md names';
    return new StreamMisconfigured(message, { cause: error });
  }
  if (error instanceof JetStreamApiError) {
    if (error.code === STREAM_NOT_FOUND) {
      const message =
        'The server does not have the stream: it lost its store (restore it), or ensure never made it';
      return new StreamMisconfigured(message, { cause: error });
    }
    if (NO_LEADER_CODES.has(error.code)) return new NoLeader(error);
    if (error.code === BUSY_SUBJECT || error.code === BUSY_ID) return new LeaderBusy(error);
    // 5xx: the server could not, e.g. its disk is full. Others are about the request.
    if (error.status < 500) return error;
    const message = `The server refused with error ${error.code}: ${error.message}`;
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
function isNoResponders(error: unknown): boolean {
  if (error instanceof errors.RequestError) return error.isNoResponders();
  if (error instanceof errors.NoRespondersError) return true;
  return error instanceof Error && error.name === 'JetStreamNotEnabled';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// Requirements on a nats-server, checked with its greeting at each connection: an older one would
// ignore options without a word, and one without JetStream looks like an election that never ends.

/** Oldest server with everything the adapter relies on; what Debian stable has. */
const OLDEST_SERVER = '2.10.27';

// Commits may be 256 KiB, and a message has headers beside its data.
const PAYLOAD_BYTES_MIN = 512 * 1024;

/** Throws `StreamMisconfigured` with what would do when the connected server does not. */
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
      `${where} takes ${info.max_payload} bytes a message: set max_payload to at least ` +
        `${PAYLOAD_BYTES_MIN}`,
    );
  }
}

/** Compares `major.minor.patch`; what follows (`-beta.1`) does not count. */
export function isOlder(version: string, than: string): boolean {
  const parts = version.split(/[.+-]/).map(Number);
  for (const [i, bound] of than.split('.').map(Number).entries()) {
    const part = parts[i] ?? 0;
    if (part !== bound) return !(part > bound);
  }
  return false;
}
