/**
 * The allow-list: every path of the PromQL URL that exists, with its methods and what it answers.
 * Whatever a Prometheus has beside these (writing, administration, configuration, federation) is
 * not here and so does not exist.
 */

import type { CallClass } from '../../platform/gate/call-classes.ts';
import { PromqlError } from '../promql/errors.ts';
import { encodeData } from '../query/promql-json.ts';
import type { PromqlAnswer, PromqlQueries, PromqlRequest } from '../query/promql-request.ts';
import {
  instantQuestion,
  metadataQuestion,
  type PromqlQuestion,
  rangeQuestion,
  seriesQuestion,
  textQuestion,
} from './calls.ts';
import { unescapeLabelName } from './label-name.ts';
import { metadataLimits, metadataOf } from './metadata.ts';
import type { Parameters } from './parameters.ts';

/** One admitted request. */
export interface EndpointRequest {
  readonly project: string;
  readonly parameters: Parameters;
  /** The part of the path that a `:label` stands for; '' where there is none. */
  readonly label: string;
  readonly encoding: PromqlRequest['encoding'];
  readonly nowMs: number;
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
  asking('query', ({ parameters, nowMs }) => instantQuestion(parameters, nowMs)),
  asking('query_range', ({ parameters }) => rangeQuestion(parameters)),
  asking('series', ({ parameters }) => seriesQuestion(parameters)),
  asking('labels', ({ parameters }) => metadataQuestion({ kind: 'labels' }, parameters)),
  { ...asking('label/:label/values', labelValuesQuestion), methods: GET },
  asking('format_query', ({ parameters }) => textQuestion('format', parameters)),
  asking('parse_query', ({ parameters }) => textQuestion('parse', parameters)),
  { path: 'metadata', methods: GET, kind: 'query', answer: metadata },
  // No exemplars are stored, and rules are another API's: told as empty, because clients ask.
  { path: 'query_exemplars', methods: GET_POST, kind: 'call', answer: () => answerOf([]) },
  { path: 'rules', methods: GET, kind: 'call', answer: () => answerOf({ groups: [] }) },
  { path: 'alerts', methods: GET, kind: 'call', answer: () => answerOf({ alerts: [] }) },
  { path: 'status/buildinfo', methods: GET, kind: 'call', answer: () => answerOf(BUILD) },
];

/** An endpoint that one question to the query threads answers. */
function asking(path: string, questionOf: (request: EndpointRequest) => PromqlQuestion): Endpoint {
  return {
    path,
    methods: GET_POST,
    kind: 'query',
    answer: (request) => {
      const { project, encoding, queries, signal } = request;
      return queries.run({ ...questionOf(request), project, encoding }, signal);
    },
  };
}

function labelValuesQuestion({ label: escaped, parameters }: EndpointRequest): PromqlQuestion {
  const label = unescapeLabelName(escaped);
  if (label === '') throw new PromqlError('bad_data', 'invalid label name: ""');
  return metadataQuestion({ kind: 'labelValues', label }, parameters);
}

const NAMES_EVER: PromqlQuestion = {
  call: {
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
  const names = await queries.run({ ...NAMES_EVER, project, encoding: 'identity' }, signal);
  if (names.status !== 200) return names;
  const { data } = JSON.parse(Buffer.from(names.body).toString()) as { data: readonly string[] };
  return answerOf(metadataOf(data, limits));
}

function answerOf(data: unknown): PromqlAnswer {
  return { status: 200, body: encodeData(data), encoding: 'identity' };
}
