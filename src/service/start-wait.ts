/**
 * Waiting for NATS at a start. Servers that are not there yet, or have no leader yet, will appear,
 * and a supervisor that restarts the program every few seconds would not speed that up. Meanwhile
 * the addresses of the service answer its probes: alive but not ready, with the reason. A fault
 * that a retry does not cure (a login, a certificate, a server without JetStream or too old) ends
 * the start at once.
 */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { pause } from '../../streams/platform/pause.ts';
import { withoutLogins } from '../../streams/platform/redacted-url.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';
import { refusalBody } from '../platform/errors.ts';
import { faulty, publicReport } from '../platform/health.ts';
import { clientErrorListener } from '../platform/http/fallbacks.ts';
import { ALIVE, READY } from '../platform/http/operations.ts';
import { guardRequests } from '../platform/http/request-guard.ts';
import { listenOn, loadTls } from '../platform/http/server.ts';
import { HEADER_BYTES_MAX, HEADERS_TIMEOUT_MS, TIMEOUT_CHECK_MS } from '../platform/http-limits.ts';
import type { RoomBase } from '../platform/room-base.ts';
import { StartStopped } from './running-service.ts';

const RETRY_MS = 1_000;
/** Interval between log lines about the wait, ms. */
const LOG_MS = 5_000;
const CONNECTIONS_MAX = 100;

export interface StartWait {
  /**
   * Result of `act`, which is retried while the stream is unavailable. Throws `StartStopped`, and
   * anything else that `act` throws.
   */
  until<T>(act: () => Promise<T>): Promise<T>;
  /** The stream is available, so the service's own server may bind its address. */
  over(): Promise<void>;
  /** The service has started: `/readyz` now reports only its parts. */
  started(): void;
}

export interface StartWaitOptions {
  readonly base: RoomBase;
  /** Aborts on a stop request. Absent: no waiting. */
  readonly stopped?: AbortSignal | undefined;
  /** Opens the operator's listener, which remains. */
  readonly openMetrics: () => Promise<unknown>;
}

export function createStartWait(options: StartWaitOptions): StartWait {
  const { stopped } = options;
  if (stopped === undefined) {
    return { until: (act) => act(), over: async () => {}, started: () => {} };
  }
  return new Wait(options, stopped);
}

class Wait implements StartWait {
  readonly #options: StartWaitOptions;
  readonly #stopped: AbortSignal;
  readonly #undo: (() => void)[] = [];
  #server: Server | undefined;
  #reason: string | undefined;
  #loggedMs = Number.NEGATIVE_INFINITY;

  constructor(options: StartWaitOptions, stopped: AbortSignal) {
    this.#options = options;
    this.#stopped = stopped;
    options.base.closers.add('probes while waiting', () => this.over());
  }

  async until<T>(act: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.#unlessStopped(act());
      } catch (error) {
        if (!(error instanceof StreamUnavailable)) throw error;
        await this.#wait(error.message);
      }
    }
  }

  async over(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (this.#reason !== undefined) this.#reason = 'NATS answers; the service is starting';
    if (server === undefined) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  started(): void {
    for (const undo of this.#undo) undo();
  }

  async #wait(fault: string): Promise<void> {
    const { clock, log, health } = this.#options.base;
    const isFirst = this.#reason === undefined;
    this.#reason = `Waiting for NATS, retrying every second: ${withoutLogins(fault)}`;
    if (isFirst) {
      const summary = 'The service is starting and waits for its stream';
      const check = () => ({ ...faulty('notReady', summary), reason: this.#reason ?? summary });
      this.#undo.push(health.watch({ kind: 'start' }, check));
      await this.#options.openMetrics();
      await this.#answerProbes();
    }
    if (clock.elapsed() - this.#loggedMs >= LOG_MS) {
      this.#loggedMs = clock.elapsed();
      log.warn({ part: 'stream' }, this.#reason);
    }
    await pause(clock, RETRY_MS, this.#stopped);
    if (this.#stopped.aborted) throw new StartStopped();
  }

  /** Not on a free port of the system's choice, which no one could know. */
  async #answerProbes(): Promise<void> {
    const { settings } = this.#options.base;
    const { listen, tlsCertFile: certFile, tlsKeyFile: keyFile } = settings;
    if (listen.port === 0) return;
    const bounds = {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      requireHostHeader: false,
    };
    const server =
      certFile !== null && keyFile !== null
        ? createTlsServer({ ...bounds, ...loadTls({ certFile, keyFile }) }, this.#answer)
        : createServer(bounds, this.#answer);
    guardRequests(server, { settings, recordRefused: () => {} });
    server.on(
      'clientError',
      clientErrorListener(() => {}),
    );
    server.maxConnections = CONNECTIONS_MAX;
    await listenOn('SVC_LISTEN', listen, async () => {
      server.listen({ ...listen });
      await once(server, 'listening');
    });
    this.#server = server;
  }

  readonly #answer: RequestListener = (request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1);
    const plain = { 'content-type': 'text/plain', 'cache-control': 'no-store' };
    if (ALIVE.includes(path)) return void response.writeHead(200, plain).end('alive\n');
    if (READY.includes(path)) {
      const report = publicReport(this.#options.base.health.report());
      const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
      return void response.writeHead(503, headers).end(JSON.stringify(report));
    }
    const refusal = new Refusal('NOT_READY', 'The service is starting and waits for its stream');
    const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
    response.writeHead(503, { ...headers, 'retry-after': '5' }).end(refusalBody(refusal));
  };

  /** The result of `acting` after the stop is ignored: the process ends. */
  #unlessStopped<T>(acting: Promise<T>): Promise<T> {
    const stopped = this.#stopped;
    return new Promise((resolve, reject) => {
      const stop = () => reject(new StartStopped());
      if (stopped.aborted) stop();
      stopped.addEventListener('abort', stop, { once: true });
      acting.then(resolve, reject).finally(() => stopped.removeEventListener('abort', stop));
    });
  }
}
