/**
 * The allow-list: every path of the PromQL URL, with its methods and its answer. Whatever else a
 * Prometheus has (writing, administration, configuration, federation) does not exist here.
 */

import {
  type SeriesDescriptor,
  seriesCatalogue,
} from '../../../streams/telemetry/metrics/series-catalogue.ts';
import type { CallClass } from '../../platform/gate/call-classes.ts';
import { PromqlError } from '../promql/errors.ts';
import { encodeData } from '../query/promql/promql-json.ts';
import type { PromqlQueries } from '../query/promql/promql-queries.ts';
import type { PromqlAnswer, QueryRequest } from '../query/promql/query-request.ts';
import {
  instantRequest,
  metadataRequest,
  type Parameters,
  type QueryInput,
  rangeRequest,
  seriesRequest,
  textRequest,
} from './query-requests.ts';

/** One admitted request. */
export interface EndpointRequest extends QueryInput {
  readonly queries: PromqlQueries;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
}

export interface Endpoint {
  /** Below `/api/v1/`. */
  readonly path: string;
  readonly methods: readonly ('GET' | 'POST')[];
  /** `query`: it needs the query threads. */
  readonly kind: CallClass;
  /** Throws `PromqlError`, and what `PromqlQueries.run` throws. */
  readonly answer: (request: EndpointRequest) => Promise<PromqlAnswer> | PromqlAnswer;
}

const GET = ['GET'] as const;
const GET_POST = ['GET', 'POST'] as const;

/**
 * What a client may take this service for: the dialect it speaks. A `features` object would make
 * Grafana take it for a Mimir whose rules can be written.
 */
const BUILD = {
  version: '3.5.3',
  revision: '',
  branch: '',
  buildUser: '',
  buildDate: '',
  goVersion: '',
};

export const endpoints: readonly Endpoint[] = [
  querying('query', instantRequest),
  querying('query_range', rangeRequest),
  querying('series', seriesRequest),
  querying('labels', (input) => metadataRequest({ kind: 'labels' }, input)),
  { ...querying('label/:label/values', labelValuesRequest), methods: GET },
  querying('format_query', (input) => textRequest('format', input)),
  querying('parse_query', (input) => textRequest('parse', input)),
  { path: 'metadata', methods: GET, kind: 'query', answer: metadata },
  // No exemplars are stored, and rules belong to another API: both are answered as empty, because clients ask.
  { path: 'query_exemplars', methods: GET_POST, kind: 'call', answer: () => answerOf([]) },
  { path: 'rules', methods: GET, kind: 'call', answer: () => answerOf({ groups: [] }) },
  { path: 'alerts', methods: GET, kind: 'call', answer: () => answerOf({ alerts: [] }) },
  { path: 'status/buildinfo', methods: GET, kind: 'call', answer: () => answerOf(BUILD) },
];

/** An endpoint that one query answers. */
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

/** A name that does not follow the escaping is taken as it is. */
function unescapeLabelName(name: string): string {
  const escaped = ESCAPED.exec(name)?.[1];
  if (escaped === undefined) return name;
  const codes = [...escaped.matchAll(ESCAPES)].map(([, code]) => Number.parseInt(code ?? '5f', 16));
  if (!codes.every(isCharacter)) return name;
  return escaped.replaceAll(ESCAPES, (_, code: string | undefined) =>
    String.fromCodePoint(Number.parseInt(code ?? '5f', 16)),
  );
}

/** Half a surrogate pair is no character. */
function isCharacter(code: number): boolean {
  return code <= CODE_POINT_MAX && (code < 0xd800 || code > 0xdfff);
}

export interface MetadataLimits {
  /** Metrics at most; negative = all. */
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
  // Each metric has one entry here, so no number of them per metric leaves any out.
  numberOf(parameters, 'limit_per_metric');
  return { limit, metric: parameters.get('metric') };
}

/** `names`: of the project's metrics. */
function metadataOf(
  names: readonly string[],
  { limit, metric }: MetadataLimits,
): Record<string, readonly Metadata[]> {
  const asked = metric === '' ? names : names.filter((name) => name === metric);
  const kept = limit < 0 ? asked : asked.slice(0, limit);
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
