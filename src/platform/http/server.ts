/**
 * The API's HTTP server: fastify with bounds on everything a client can hold open, TLS from files,
 * health, metrics and the routes handed in. Fastify's request logging is off: it makes a logger for
 * each request, which costs more than a whole ingest request. Below it: how every server of ours
 * binds its socket, and the address that clients should use.
 */
import { readFileSync } from 'node:fs';
import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { createSecureContext } from 'node:tls';
import { type FastifyInstance, fastify } from 'fastify';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Random } from '../../../streams/platform/random.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { Health } from '../health.ts';
import * as limits from '../http-limits.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { ConfigError } from '../settings/config.ts';
import type { ListenAddress } from '../settings/setting-kinds.ts';
import type { Settings } from '../settings/settings.ts';
import { createAddressList } from './address-list.ts';
import { boundConnections } from './connections.ts';
import { addFallbacks, CLIENT_GONE, clientErrorListener } from './fallbacks.ts';
import { addOperations } from './operations.ts';
import type { ReaderCheck, ReadGate } from './read-gate.ts';
import { guardRequests } from './request-guard.ts';
import { ServiceAddress } from './service-address.ts';

export interface HttpServerOptions {
  readonly settings: Pick<
    Settings,
    | 'listen'
    | 'publicUrl'
    | 'allowedHosts'
    | 'tlsCertFile'
    | 'tlsKeyFile'
    | 'trustedProxy'
    | 'connectionsPerAddress'
  >;
  readonly log: Log;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  /** Check for callers that may read reasons in `/readyz`. */
  readonly isReader: ReaderCheck;
  /** Gate of `/metrics`. */
  readonly readGate: ReadGate;
  /** true: `/metrics` is on this listener too. Default: false. */
  readonly hasMetrics?: boolean;
  /** Learns the bound address once the server listens. Default: a private one. */
  readonly address?: ServiceAddress;
  /** Adds the API's routes, before the server listens. */
  readonly addRoutes: (app: FastifyInstance) => Promise<void>;
  /** Time that requests in flight may take at a stop, ms. */
  readonly stopWaitMs?: number;
}

export interface HttpServer {
  readonly app: FastifyInstance;
  /** Origin for clients: that of `ServiceAddress`. */
  readonly baseUrl: string;
  /**
   * Reads certificate and key again; new connections use them. Throws `ConfigError` and keeps the
   * old ones.
   */
  reloadCertificate(): void;
  /**
   * Stops accepting, lets requests in flight finish, and closes the rest after `stopWaitMs`.
   * Harmless on a second call.
   */
  close(): Promise<void>;
}

/** Opens a listening server. Throws `ConfigError` if the address or the certificate is invalid. */
export async function openHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { settings, log, health, address = new ServiceAddress(settings.publicUrl) } = options;
  const tlsFiles =
    settings.tlsCertFile !== null && settings.tlsKeyFile !== null
      ? { certFile: settings.tlsCertFile, keyFile: settings.tlsKeyFile }
      : undefined;
  const app = createApp(options, tlsFiles && loadTls(tlsFiles));
  const state = { isStopping: false };
  addRequestRecords(app, options);
  refuseTwoCredentials(app);
  endConnectionsAtStop(app, state);
  addFallbacks(app, log);
  addOperations(app, options);
  let closing: Promise<void> | undefined;
  try {
    await app.register((scope) => options.addRoutes(scope));
    await app.ready();
    guardEdge(app, options, tlsFiles !== undefined);
    await listenOn('SVC_LISTEN', settings.listen, () => app.listen({ ...settings.listen }));
    address.bound(originOf(app.server, tlsFiles ? 'https' : 'http', settings.listen));
  } catch (error) {
    await app.close();
    throw error;
  }
  return {
    app,
    baseUrl: address.origin(),
    reloadCertificate: () => {
      if (!tlsFiles) return;
      // With TLS files the server comes from node:https, which fastify's type does not show.
      (app.server as unknown as HttpsServer).setSecureContext(loadTls(tlsFiles));
      log.info({ certFile: tlsFiles.certFile }, 'The certificate was reloaded');
    },
    close: () => {
      state.isStopping = true;
      health.stopping('The service is stopping');
      closing ??= drain(app, options);
      return closing;
    },
  };
}

function createApp(options: HttpServerOptions, tls: TlsMaterial | undefined): FastifyInstance {
  const clientErrors = options.metrics.counter(
    'svc_http_client_errors_total',
    'Connections closed because of an invalid HTTP request',
    ['code'],
  );
  const bounds = {
    maxHeaderSize: limits.HEADER_BYTES_MAX,
    headersTimeout: limits.HEADERS_TIMEOUT_MS,
    connectionsCheckingInterval: limits.TIMEOUT_CHECK_MS,
    requireHostHeader: false,
  };
  const handshakeTimeout = limits.HANDSHAKE_TIMEOUT_MS;
  const app = fastify({
    logger: false,
    trustProxy: options.settings.trustedProxy ? [...options.settings.trustedProxy] : false,
    genReqId: requestIds(options.random),
    // Small by default; routes that accept more say so.
    bodyLimit: limits.ANONYMOUS_BODY_BYTES_MAX,
    requestTimeout: limits.REQUEST_TIMEOUT_MS,
    keepAliveTimeout: limits.KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    clientErrorHandler: clientErrorListener((code) => clientErrors.inc({ code })),
    ...(tls
      ? { https: { ...bounds, ...tls, handshakeTimeout, minVersion: 'TLSv1.2' } }
      : { http: bounds }),
    // The instance's type depends on the kind of server; nothing above this line uses the server.
  }) as unknown as FastifyInstance;
  return app;
}

/** Guards around all routes: which requests are admitted, and how many connections may be open. */
function guardEdge(app: FastifyInstance, options: HttpServerOptions, isTls: boolean): void {
  const { settings, metrics, clock } = options;
  const refused = metrics.counter(
    'svc_http_refused_total',
    'Requests refused before routing, by cause',
    ['cause'],
  );
  guardRequests(app.server, { settings, recordRefused: (cause) => refused.inc({ cause }) });
  boundConnections(app.server, {
    isTls,
    clock,
    metrics,
    perAddressMax: settings.connectionsPerAddress,
    proxies: settings.trustedProxy ? createAddressList(settings.trustedProxy) : undefined,
  });
}

/**
 * 72 random bits. Strangers see request ids, which must not reveal how many requests others send
 * or when the service started.
 */
function requestIds(random: Random): () => string {
  return () => Buffer.from(random.bytes(9)).toString('base64url');
}

/** Counts and times each request by route and status, and returns its id to the caller. */
function addRequestRecords(app: FastifyInstance, { metrics, log }: HttpServerOptions): void {
  const requests = metrics.counter(
    'svc_http_requests_total',
    'Answered requests; status 499: the client closed the connection first',
    ['route', 'status'],
  );
  const seconds = metrics.histogram('svc_http_request_seconds', 'Time to answer', ['route']);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    // `onResponse` runs only for responses that were sent.
    reply.raw.once('close', () => {
      if (reply.raw.headersSent) return;
      requests.inc({ route: request.routeOptions.url ?? 'none', status: CLIENT_GONE });
    });
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none';
    const status = reply.statusCode;
    requests.inc({ route, status });
    seconds.observe({ route }, reply.elapsedTime / 1000);
    log.debug({ requestId: request.id, method: request.method, route, status }, 'Answered');
    done();
  });
}

/** Two credentials may belong to two people, one of them a gateway's: every route rejects both. */
export function refuseTwoCredentials(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { rawHeaders } = request.raw;
    const isCredential = (name: string, i: number) =>
      i % 2 === 0 && name.toLowerCase() === 'authorization';
    if (rawHeaders.filter(isCredential).length <= 1) return done();
    const message = 'The request has more than one Authorization header; send one';
    done(new Refusal('MALFORMED_CREDENTIAL', message));
  });
}

/**
 * A kept-alive connection that gets its response during a stop is then idle, and would stay open.
 */
function endConnectionsAtStop(app: FastifyInstance, state: { isStopping: boolean }): void {
  app.addHook('onResponse', (_request, _reply, done) => {
    if (state.isStopping) setImmediate(() => app.server.closeIdleConnections());
    done();
  });
}

async function drain(app: FastifyInstance, options: HttpServerOptions): Promise<void> {
  const { clock, log, stopWaitMs = limits.STOP_WAIT_MS } = options;
  const cancel = clock.wakeAfter(stopWaitMs, () => {
    log.warn({}, `Requests still in flight after ${stopWaitMs} ms were cut off`);
    app.server.closeAllConnections();
  });
  await app.close();
  cancel();
}

// Sockets, the TLS certificate, and the address that clients should use.

/** Message for a socket that could not be bound; undefined for any other fault. */
function bindProblem(error: unknown, setting: string, { host, port }: ListenAddress) {
  const what = `${setting} ${formatAddress(host, port)}`;
  switch ((error as NodeJS.ErrnoException | null)?.code) {
    case 'EADDRINUSE':
      return `${what} is taken by another program: stop it, or choose another port`;
    case 'EACCES':
      return `${what} may not be bound by this user: choose a port above 1023`;
    case 'EADDRNOTAVAIL':
      return `${what} is not an address of this machine: use one of its own, or 0.0.0.0 for all`;
    default:
      return undefined;
  }
}

/** Awaits `listen`. Throws `ConfigError` when the address cannot be bound. */
export async function listenOn(
  setting: string,
  address: ListenAddress,
  listen: () => Promise<unknown>,
): Promise<void> {
  try {
    await listen();
  } catch (error) {
    const problem = bindProblem(error, setting, address);
    throw problem === undefined ? error : new ConfigError([problem]);
  }
}

/** `http://127.0.0.1:8080`: where a client on this machine reaches a listening server. */
export function originOf(
  server: Server,
  scheme: 'http' | 'https',
  requested: ListenAddress,
): string {
  // A server that listens on TCP has an AddressInfo; the other forms are pipes and not listening.
  const { port } = server.address() as AddressInfo;
  const isWildcard = requested.host === '0.0.0.0' || requested.host === '::';
  return `${scheme}://${formatAddress(isWildcard ? 'localhost' : requested.host, port)}`;
}

function formatAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface TlsMaterial {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Both files, checked to belong together. Throws `ConfigError` with the file and the problem. */
export function loadTls({ certFile, keyFile }: TlsFiles): TlsMaterial {
  const cert = read('SVC_TLS_CERT_FILE', certFile);
  const key = read('SVC_TLS_KEY_FILE', keyFile);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new ConfigError([
      `SVC_TLS_CERT_FILE ${certFile} and SVC_TLS_KEY_FILE ${keyFile} are not a certificate and ` +
        `its key (${messageOf(error)}): use a PEM chain and its PEM key without a passphrase`,
    ]);
  }
  return { cert, key };
}

function read(name: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new ConfigError([`${name} cannot be read: ${messageOf(error)}`]);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
