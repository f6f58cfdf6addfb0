/**
 * The read-only PromQL URL (API-03): which requests are admitted, in which order they are checked,
 * and how they are rejected. Paths are an allow-list; the project in the path must be the
 * credential's own; everything else of a request is read only through `Parameters`. Access is
 * checked before a body is read.
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import {
  type SeriesDescriptor,
  seriesCatalogue,
} from '../../../streams/telemetry/metrics/series-catalogue.ts';
import { httpStatusOf } from '../../platform/errors.ts';
import type { CallClass } from '../../platform/gate/call-classes.ts';
import type { Pass } from '../../platform/gate/project-gate.ts';
import { goneSignal } from '../../platform/http/abort-signals.ts';
import { negotiateEncoding } from '../../platform/http/negotiation.ts';
import {
  type AdmittedReader,
  admitReader,
  type ReaderAccess,
  requestBytesOf,
} from '../../platform/http/project-access.ts';
import { SEQUENCE_HEADER } from '../../platform/http/sequence.ts';
import { FORM_BYTES_MAX } from '../../platform/http-limits.ts';
import type { Log } from '../../platform/log.ts';
import { PromqlError } from '../promql/errors.ts';
import { formatDuration } from '../promql/parse/literal.ts';
import {
  encodeData,
  encodeError,
  errorAnswer,
  type PromqlErrorType,
} from '../query/promql/promql-json.ts';
import type { PromqlQueries } from '../query/promql/promql-queries.ts';
import type { PromqlAnswer, QueryRequest } from '../query/promql/query-request.ts';
import { QUERY_MS_MAX } from '../query/threads/limits.ts';
import { type AlertingRules, alertsData, rulesData } from './alerts.ts';
import {
  instantRequest,
  metadataRequest,
  Parameters,
  type QueryInput,
  rangeRequest,
  seriesRequest,
  textRequest,
} from './query-requests.ts';

/** Dependencies of the routes: read access, the query threads, and whether the service is ready. */
export interface PromqlRoutesDeps extends ReaderAccess {
  readonly queries: PromqlQueries;
  readonly alertingRules: AlertingRules;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the service is ready; reported at `/-/ready`. */
  readonly health: { report(): { readonly ready: boolean } };
}

const PREFIX = '/v1/monitoring/projects/:project/promql';
const API = '/api/v1/';

/** In order of preference among those that a client accepts equally. */
const ENCODINGS = ['zstd', 'gzip'] as const;

/** Below the base URL for clients as well as at the root, for `promtool check`. */
const PROBES = ['/-/healthy', '/-/ready'] as const;

/**
 * Adds the routes in a scope of their own, because their errors and bodies have other formats than
 * those of the RPCs.
 */
export async function addPromqlRoutes(app: FastifyInstance, deps: PromqlRoutesDeps): Promise<void> {
  await app.register(
    async (scope) => {
      addHeaders(scope);
      refuseUnknownPaths(scope);
      readFormsOnly(scope);
      sendErrors(scope, deps.log);
      addProbes(scope, deps);
      for (const endpoint of endpoints) addEndpoint(scope, endpoint, deps);
    },
    { prefix: PREFIX },
  );
}

type PromqlHttpRequest = FastifyRequest<{ Params: { project: string; label?: string } }>;

function addEndpoint(scope: FastifyInstance, endpoint: Endpoint, deps: PromqlRoutesDeps): void {
  const { queries, alertingRules, clock, positions } = deps;
  /** Admitted readers by request; released when the body has arrived or broken off. */
  const admitted = new WeakMap<FastifyRequest, AdmittedReader & Pass>();
  scope.route<{ Params: { project: string; label?: string } }>({
    method: [...endpoint.methods],
    url: API + endpoint.path,
    exposeHeadRoute: false,
    async onRequest(request, reply) {
      const { project } = request.params;
      const signal = goneSignal(reply);
      const { kind } = endpoint;
      const reader = await admitReader(deps, { project, request, kind, people: true, signal });
      checkBodyHeaders(request);
      const { release } = deps.gate.takeBody(reader.caller, kind, bodyBytesOf(request));
      admitted.set(request, { ...reader, release });
      // Releases requests that never reach their handler: their body breaks off or is too large.
      reply.raw.once('close', release);
    },
    async handler(request, reply) {
      const reader = admitted.get(request);
      if (!reader) throw new Error('A PromQL request was rejected');
      // Its body has arrived: while it waits, its memory is bounded along with the other waiting
      // requests.
      reader.release();
      const slot = await reader.takeSlot(requestBytesOf(request));
      try {
        return await answered(request, reply, reader);
      } finally {
        slot.release();
      }
    },
  });

  async function answered(
    request: PromqlHttpRequest,
    reply: FastifyReply,
    reader: AdmittedReader,
  ): Promise<FastifyReply> {
    const answer = await endpoint.answer({
      project: request.params.project,
      parameters: parametersOf(request),
      label: request.params.label ?? '',
      encoding: negotiateEncoding(request.headers['accept-encoding']?.toString(), ENCODINGS),
      nowMs: clock.now(),
      queries,
      alertingRules,
      signal: goneSignal(reply),
    });
    reader.assertStillAdmitted();
    if (answer.encoding !== 'identity') reply.header('content-encoding', answer.encoding);
    reply.header(SEQUENCE_HEADER, positions.current());
    return send(reply, answer);
  }
}

/** The body of a GET is not read: it has no meaning (RFC 9110, section 9.3.1). */
function parametersOf(request: PromqlHttpRequest): Parameters {
  const { url } = request.raw;
  const at = url?.indexOf('?') ?? -1;
  const fromUrl = url === undefined || at < 0 ? '' : url.slice(at + 1);
  return new Parameters(typeof request.body === 'string' ? [request.body, fromUrl] : [fromUrl]);
}

const FORM = /^application\/x-www-form-urlencoded *(; *charset="?utf-8"? *)?$/i;

/**
 * Upper bound of the size of the coming body, bytes; a body that declares more is rejected unread.
 */
function bodyBytesOf({ method, headers }: PromqlHttpRequest): number {
  const { 'content-length': length, 'transfer-encoding': transfer } = headers;
  if (method === 'GET') return 0;
  return transfer === undefined ? Math.min(Number(length ?? 0), FORM_BYTES_MAX) : FORM_BYTES_MAX;
}

/** A body must be a plain form; anything else is rejected unread and never ignored. */
function checkBodyHeaders({ method, headers }: PromqlHttpRequest): void {
  const { 'content-length': length = '0', 'transfer-encoding': transfer } = headers;
  if (method === 'GET' || (transfer === undefined && length === '0')) return;
  if (!FORM.test(headers['content-type'] ?? '')) {
    throw unsupported('The body is not application/x-www-form-urlencoded in UTF-8');
  }
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw unsupported('The body has a Content-Encoding: send it unencoded');
  }
}

function unsupported(message: string): FastifyError {
  return Object.assign(new Error(message), {
    name: 'FastifyError',
    code: 'UNSUPPORTED',
    statusCode: 415,
  });
}

/** Responses are only for the owner of the key, and browsers must read them as JSON. */
function addHeaders(scope: FastifyInstance): void {
  scope.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding, authorization',
    });
  });
}

/** Rejects known paths with another method, and unknown paths, before a body is read. */
function refuseUnknownPaths(scope: FastifyInstance): void {
  const known: readonly KnownPath[] = [
    ...endpoints.map(({ path, methods }) => ({ pattern: patternOf(API + path), methods })),
    ...PROBES.map((path) => ({ pattern: patternOf(path), methods: ['GET', 'HEAD'] })),
  ];
  scope.addHook('onRequest', async (request, reply) => {
    if (request.is404) return refusePath(known, request, reply);
  });
  // The hook has responded. Without a handler in this scope it would not run for unknown paths.
  scope.setNotFoundHandler((request, reply) => refusePath(known, request, reply));
}

interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: readonly string[];
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${PREFIX}${path}$`.replaceAll(/:[a-z]+/g, '[^/]+'));
}

function refusePath(
  known: readonly KnownPath[],
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const [path = ''] = request.url.split('?', 1);
  const methods = known.find(({ pattern }) => pattern.test(path))?.methods;
  if (methods === undefined) {
    return reply.code(404).type('text/plain').send('404 page not found\n');
  }
  reply.header('allow', [...methods, 'OPTIONS'].join(', '));
  if (request.method === 'OPTIONS') return reply.code(204).send();
  return reply.code(405).type('text/plain').send('Method Not Allowed\n');
}

function readFormsOnly(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  // The sender of a body has already been admitted.
  const options = { parseAs: 'string', bodyLimit: FORM_BYTES_MAX } as const;
  scope.addContentTypeParser('*', options, (_request, body, done) => done(null, body));
}

/** Sends each error in the envelope; unexpected errors go only to the log. */
function sendErrors(scope: FastifyInstance, log: Log): void {
  scope.setErrorHandler((error: FastifyError | Refusal | PromqlError, request, reply) => {
    if (error instanceof Refusal) return sendRefusal(reply, error);
    if (error instanceof PromqlError) return sendPromqlError(reply, error);
    if (reply.raw.destroyed) return sendGone(reply);
    const { statusCode = 500 } = error;
    if (statusCode >= 400 && statusCode < 500) return sendBadRequest(reply, error);
    log.error({ err: error, requestId: request.id }, 'A PromQL request failed unexpectedly');
    const message = `The service failed; its log says why under request id ${request.id}`;
    return send(reply, { status: 500, body: encodeError('internal', message) });
  });
}

function addProbes(scope: FastifyInstance, { health }: PromqlRoutesDeps): void {
  const [healthy, ready] = PROBES;
  scope.get(healthy, (_request, reply) =>
    reply.type('text/plain').send('The service is healthy\n'),
  );
  scope.get(ready, (_request, reply) => {
    const isReady = health.report().ready;
    reply.code(isReady ? 200 : 503).type('text/plain');
    return reply.send(isReady ? 'The service is ready\n' : 'The service is not ready\n');
  });
}

const ERROR_TYPES: Readonly<Record<number, PromqlErrorType>> = {
  400: 'bad_data',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  429: 'too_many_requests',
  503: 'unavailable',
  504: 'timeout',
};
const RETRY_AFTER_SECONDS = '1';

/** 401 says how to authenticate; 429 and 503 say when to retry. */
function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { reason, message, metadata } = refusal;
  const status = reason === 'QUERY_TIMEOUT' ? 503 : httpStatusOf(reason);
  const errorType = reason === 'QUERY_TIMEOUT' ? 'timeout' : (ERROR_TYPES[status] ?? 'internal');
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (status === 429 || status === 503) {
    reply.header('retry-after', metadata.retryAfterSeconds ?? RETRY_AFTER_SECONDS);
  }
  return send(reply, { status, body: encodeError(errorType, `${reason}: ${message}`) });
}

/** Sends rejections by the framework: a body that is too large or does not match its headers. */
function sendBadRequest(reply: FastifyReply, error: FastifyError): FastifyReply {
  const body = encodeError('bad_data', error.message);
  return send(reply, { status: error.statusCode ?? 400, body });
}

function sendPromqlError(reply: FastifyReply, error: PromqlError): FastifyReply {
  return send(reply, errorAnswer(error));
}

/** No client reads this response; the status appears in the request's log entry. */
function sendGone(reply: FastifyReply): FastifyReply {
  return sendPromqlError(reply, new PromqlError('canceled', 'the client disconnected'));
}

function send(
  reply: FastifyReply,
  { status, body }: { readonly status: number; readonly body: Uint8Array },
): FastifyReply {
  return reply.code(status).type('application/json').send(body);
}

// The allow-list: every path of the PromQL URL, with its methods and its response. Everything else
// in a Prometheus (writes, administration, configuration, federation) does not exist here.

/** One admitted request. */
export interface EndpointRequest extends QueryInput {
  readonly queries: PromqlQueries;
  readonly alertingRules: AlertingRules;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/** One path of the allow-list. */
export interface Endpoint {
  /** Path below `/api/v1/`. */
  readonly path: string;
  readonly methods: readonly ('GET' | 'POST')[];
  /** `query`: it needs the query threads. */
  readonly kind: CallClass;
  /** Throws `PromqlError`, and the errors of `PromqlQueries.run`. */
  readonly answer: (request: EndpointRequest) => Promise<PromqlAnswer> | PromqlAnswer;
}

const GET = ['GET'] as const;
const GET_POST = ['GET', 'POST'] as const;

/**
 * Identity of the service for clients: the dialect that it speaks. With a `features` object,
 * Grafana would take it for a Mimir whose rules can be written.
 */
const BUILD = {
  version: '3.5.3',
  revision: '',
  branch: '',
  buildUser: '',
  buildDate: '',
  goVersion: '',
};

/** The flags of Prometheus that are meaningful for this service. */
const FLAGS = {
  'query.timeout': `${QUERY_MS_MAX / 1000}s`,
  'storage.tsdb.retention.time': '7d',
};

/** The lookback is the project's own, formatted as a Go duration. */
function flagsOf({ queries, project }: EndpointRequest) {
  const lookback = formatDuration(queries.lookbackMs(project));
  return { 'query.lookback-delta': lookback, ...FLAGS };
}

const RUNTIME = { reloadConfigSuccess: true, corruptionCount: 0, storageRetention: '7d' };

const NO_TARGETS = { activeTargets: [], droppedTargets: [], droppedTargetCounts: {} };

const endpoints: readonly Endpoint[] = [
  querying('query', instantRequest),
  querying('query_range', rangeRequest),
  querying('series', seriesRequest),
  querying('labels', (input) => metadataRequest({ kind: 'labels' }, input)),
  { ...querying('label/:label/values', labelValuesRequest), methods: GET },
  querying('format_query', (input) => textRequest('format', input)),
  querying('parse_query', (input) => textRequest('parse', input)),
  { path: 'metadata', methods: GET, kind: 'query', answer: metadata },
  // Empty, for clients that request them: no exemplars are stored, and nothing is scraped.
  { path: 'query_exemplars', methods: GET_POST, kind: 'call', answer: () => answerOf([]) },
  { path: 'targets', methods: GET, kind: 'call', answer: () => answerOf(NO_TARGETS) },
  {
    path: 'rules',
    methods: GET,
    kind: 'call',
    answer: async (it) => answerOf(await rulesData(it)),
  },
  {
    path: 'alerts',
    methods: GET,
    kind: 'call',
    answer: async (it) => answerOf(await alertsData(it)),
  },
  { path: 'status/buildinfo', methods: GET, kind: 'call', answer: () => answerOf(BUILD) },
  { path: 'status/flags', methods: GET, kind: 'call', answer: (it) => answerOf(flagsOf(it)) },
  { path: 'status/runtimeinfo', methods: GET, kind: 'call', answer: () => answerOf(RUNTIME) },
];

/** An endpoint answered by one query. */
function querying(path: string, requestOf: (input: QueryInput) => QueryRequest): Endpoint {
  return {
    path,
    methods: GET_POST,
    kind: 'query',
    answer: (request) => request.queries.run(requestOf(request), request.signal),
  };
}

function labelValuesRequest(input: QueryInput): QueryRequest {
  const label = unescapeLabelName(input.label);
  if (label === '') throw new PromqlError('bad_data', 'invalid label name: ""');
  return metadataRequest({ kind: 'labelValues', label }, input);
}

/** All metric names that the project has ever stored. */
const ALL_NAMES: Pick<QueryRequest, 'operation' | 'limit'> = {
  operation: {
    kind: 'labelValues',
    label: '__name__',
    matches: [],
    startMs: Number.MIN_SAFE_INTEGER,
    endMs: Number.MAX_SAFE_INTEGER,
  },
  limit: 0,
};

async function metadata(request: EndpointRequest): Promise<PromqlAnswer> {
  const { project, queries, signal, parameters } = request;
  const limits = metadataLimits(parameters);
  const names = await queries.run({ ...ALL_NAMES, project, encoding: 'identity' }, signal);
  if (names.status !== 200) return names;
  const { data } = JSON.parse(Buffer.from(names.body).toString()) as { data: readonly string[] };
  return answerOf(metadataOf(data, limits));
}

function answerOf(data: unknown): PromqlAnswer {
  return { status: 200, body: encodeData(data), encoding: 'identity' };
}

const ESCAPED = /^U__((?:[^_]|__|_[0-9a-fA-F]{1,6}_)*)$/;
const ESCAPES = /__|_([0-9a-fA-F]{1,6})_/g;
const CODE_POINT_MAX = 0x10ffff;

/** A name that does not follow the escaping is used unchanged. */
function unescapeLabelName(name: string): string {
  const escaped = ESCAPED.exec(name)?.[1];
  if (escaped === undefined) return name;
  const codes = [...escaped.matchAll(ESCAPES)].map(([, code]) => Number.parseInt(code ?? '5f', 16));
  if (!codes.every(isCharacter)) return name;
  return escaped.replaceAll(ESCAPES, (_, code: string | undefined) =>
    String.fromCodePoint(Number.parseInt(code ?? '5f', 16)),
  );
}

/** Half a surrogate pair is not a character. */
function isCharacter(code: number): boolean {
  return code <= CODE_POINT_MAX && (code < 0xd800 || code > 0xdfff);
}

/** Limits of `/metadata`, as its parameters give them. */
export interface MetadataLimits {
  /** Maximum number of metrics; negative = all. */
  readonly limit: number;
  /** '' = all. */
  readonly metric: string;
}

type Metadata = Pick<SeriesDescriptor, 'unit' | 'help'> & {
  readonly type: SeriesDescriptor['type'] | 'unknown';
};

/** Throws `PromqlError` bad_data, in Prometheus's words. */
function metadataLimits(parameters: Parameters): MetadataLimits {
  const limit = numberOf(parameters, 'limit');
  // Each metric has one entry here, so no limit per metric leaves any out.
  numberOf(parameters, 'limit_per_metric');
  return { limit, metric: parameters.get('metric') };
}

/** `names`: metric names of the project. */
function metadataOf(
  names: readonly string[],
  { limit, metric }: MetadataLimits,
): Record<string, readonly Metadata[]> {
  const requested = metric === '' ? names : names.filter((name) => name === metric);
  const kept = limit < 0 ? requested : requested.slice(0, limit);
  return Object.fromEntries(kept.map((name) => [name, [entryOf(name)]]));
}

function entryOf(name: string): Metadata {
  const known = seriesCatalogue.get(name);
  if (known === undefined) return { type: 'unknown', help: '', unit: '' };
  return { type: known.type, help: known.help, unit: known.unit };
}

function numberOf(parameters: Parameters, name: string): number {
  const text = parameters.get(name);
  if (text === '') return -1;
  if (/^[+-]?\d{1,15}$/.test(text)) return Number(text);
  throw new PromqlError('bad_data', `${name} must be a number`);
}
