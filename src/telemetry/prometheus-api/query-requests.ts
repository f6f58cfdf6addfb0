/**
 * Query requests from HTTP parameters, with the limits of this API (LIMIT-03). The engine knows
 * none of these limits: a rule or a test may query more than a dashboard. Errors have Prometheus's
 * texts where it has one, because clients display and compare them.
 *
 * As in Prometheus, the form body takes precedence over the URL, and the first value of a
 * single-valued parameter counts. Times are seconds with decimals, RFC 3339 or `1m30s`; times far
 * out of range are clamped to the range of a calendar.
 */
import { PromqlError } from '../promql/errors.ts';
import { goQuote } from '../promql/format-go.ts';
import type { QueryOperation, QueryRequest } from '../query/promql/query-request.ts';
import { POINTS_MAX, QUERY_MS_MAX, STEP_MS_MIN } from '../query/threads/limits.ts';

/** The parts of an HTTP request that make up a query. */
export interface QueryInput {
  readonly project: string;
  readonly parameters: Parameters;
  /** The part of the path at `:label`; '' if the path has none. */
  readonly label: string;
  readonly encoding: QueryRequest['encoding'];
  readonly nowMs: number;
}

/** Maximum size of an expression, and of all selectors of a request together, bytes. */
const EXPRESSION_BYTES_MAX = 16 * 1024;

/** Throws `PromqlError` bad_data, like all of these. */
export function instantRequest({ nowMs, parameters, ...input }: QueryInput): QueryRequest {
  const limit = limitOf(parameters);
  const timeMs = timeOr(parameters, 'time', nowMs);
  return {
    ...responseOf(input),
    operation: { kind: 'instant', expression: expressionOf(parameters), timeMs },
    limit,
    ...evaluationOptions(parameters),
  };
}

/**
 * Request of `/query_range`. Throws `PromqlError` bad_data for a missing or invalid parameter, and
 * for more than 10,000 points per series (LIMIT-03).
 */
export function rangeRequest({ parameters, ...input }: QueryInput): QueryRequest {
  const limit = limitOf(parameters);
  const startMs = timeOf(parameters, 'start');
  const endMs = timeOf(parameters, 'end');
  if (endMs < startMs) throw invalid('end', 'end timestamp must not be before start time');
  const { stepMs, ...raised } = stepOf(parameters);
  if ((endMs - startMs) / stepMs >= POINTS_MAX) {
    const message =
      'exceeded maximum resolution of 10,000 points per timeseries. Try decreasing the query resolution (?step=XX)';
    throw new PromqlError('bad_data', message);
  }
  return {
    ...responseOf(input),
    operation: { kind: 'range', expression: expressionOf(parameters), startMs, endMs, stepMs },
    limit,
    ...raised,
    ...evaluationOptions(parameters),
  };
}

/** Request of `series`: at least one selector. */
export function seriesRequest(input: QueryInput): QueryRequest {
  if (input.parameters.all('match[]').length === 0) {
    throw new PromqlError('bad_data', 'no match[] parameter provided');
  }
  return metadataRequest({ kind: 'series' }, input);
}

/** A request about series, without their samples. */
export function metadataRequest(
  about:
    | { readonly kind: 'series' | 'labels' }
    | { readonly kind: 'labelValues'; readonly label: string },
  { parameters, ...input }: QueryInput,
): QueryRequest {
  const limit = limitOf(parameters);
  const startMs = timeOr(parameters, 'start', -TIME_MS_MAX);
  const endMs = timeOr(parameters, 'end', TIME_MS_MAX);
  const matches = parameters.all('match[]');
  checkLength('match[]', matches);
  const operation = { ...about, matches, startMs, endMs } satisfies QueryOperation;
  return { ...responseOf(input), operation, limit };
}

/** Request of `format_query` and `parse_query`. */
export function textRequest(
  kind: 'format' | 'parse',
  { parameters, ...input }: QueryInput,
): QueryRequest {
  const operation = { kind, expression: expressionOf(parameters) };
  return { ...responseOf(input), operation, limit: 0 };
}

function responseOf({ project, encoding }: Pick<QueryInput, 'project' | 'encoding'>) {
  return { project, encoding };
}

function expressionOf(parameters: Parameters): string {
  const expression = parameters.get('query');
  checkLength('query', [expression]);
  return expression;
}

function checkLength(parameter: string, texts: readonly string[]): void {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes <= EXPRESSION_BYTES_MAX) return;
  const message = `an expression of ${bytes} bytes is longer than 16 KiB (${EXPRESSION_BYTES_MAX} bytes)`;
  throw invalid(parameter, message);
}

function timeOf(parameters: Parameters, name: string, refusal = ''): number {
  const text = parameters.get(name);
  const timeMs = parseTimeMs(text);
  if (timeMs !== undefined) return timeMs;
  throw invalid(name, `${refusal}cannot parse ${goQuote(text)} to a valid timestamp`);
}

/** An invalid optional time has another error text than an invalid required one. */
function timeOr(parameters: Parameters, name: string, defaultMs: number): number {
  if (parameters.get(name) === '') return defaultMs;
  return timeOf(parameters, name, `invalid time value for '${name}': `);
}

/**
 * Clients send small steps by default: a step is raised to the shortest allowed one, and a notice
 * is added to the response.
 */
function stepOf(parameters: Parameters): { stepMs: number; notices?: readonly string[] } {
  const text = parameters.get('step');
  const stepMs = parseDurationMs(text);
  if (stepMs === undefined) {
    throw invalid('step', `cannot parse ${goQuote(text)} to a valid duration`);
  }
  if (stepMs <= 0) {
    const message =
      'zero or negative query resolution step widths are not accepted. Try a positive integer';
    throw invalid('step', message);
  }
  if (stepMs >= STEP_MS_MIN) return { stepMs };
  const notice =
    `the step of ${stepMs / 1000} s was raised to 30 s, the sampling interval. ` +
    'In Grafana, set "Scrape interval" of the data source to 30s or more (or "Min step" of the query)';
  return { stepMs: STEP_MS_MIN, notices: [notice] };
}

/** Lookback and timeout; the other parameters of Prometheus have no effect here. */
function evaluationOptions(parameters: Parameters): Pick<QueryRequest, 'lookbackMs' | 'timeoutMs'> {
  const timeoutMs = optionalDuration(parameters, 'timeout', (message) =>
    invalid('timeout', message),
  );
  const lookbackMs = optionalDuration(parameters, 'lookback_delta', (message) => {
    return new PromqlError('bad_data', `error parsing lookback delta duration: ${message}`);
  });
  return {
    ...(timeoutMs !== undefined &&
      timeoutMs < QUERY_MS_MAX && { timeoutMs: atLeastZero(timeoutMs) }),
    // Prometheus uses its default for a length that is not positive.
    ...(lookbackMs !== undefined && lookbackMs > 0 && { lookbackMs }),
  };
}

function atLeastZero(durationMs: number): number {
  return Math.max(0, durationMs);
}

function optionalDuration(
  parameters: Parameters,
  name: string,
  refuse: (message: string) => PromqlError,
): number | undefined {
  const text = parameters.get(name);
  if (text === '') return undefined;
  const durationMs = parseDurationMs(text);
  if (durationMs === undefined) {
    throw refuse(`cannot parse ${goQuote(text)} to a valid duration`);
  }
  return durationMs;
}

const WHOLE_NUMBER = /^[+-]?\d{1,15}$/;

function limitOf(parameters: Parameters): number {
  const text = parameters.get('limit');
  if (text === '') return 0;
  if (!WHOLE_NUMBER.test(text)) {
    throw invalid('limit', `strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`);
  }
  const limit = Number(text);
  if (limit < 0) throw invalid('limit', 'limit must be non-negative');
  return limit;
}

function invalid(parameter: string, message: string): PromqlError {
  return new PromqlError('bad_data', `invalid parameter "${parameter}": ${message}`);
}

/** Earliest and latest time, Unix ms: the range of JavaScript's calendar. */
const TIME_MS_MAX = 8_640_000_000_000_000;

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const RFC_3339 =
  /^(\d{4}-\d\d-\d\d)T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;
const DURATION = /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;
/** Units of the groups of `DURATION`, ms. */
const UNIT_MS: readonly number[] = [
  365 * 86_400_000,
  7 * 86_400_000,
  86_400_000,
  3_600_000,
  60_000,
  1000,
  1,
];
/** Longest duration: Go's, about 292 years, in ms. */
const DURATION_MS_MAX = 2 ** 63 / 1e6;

/** Integer Unix ms within `TIME_MS_MAX` of the epoch; undefined if the text is not a time. */
function parseTimeMs(text: string): number | undefined {
  if (DECIMAL.test(text)) return clampTimeMs(Math.round(Number(text) * 1000));
  const [, date = '', time = '', fraction = '', zone = ''] = RFC_3339.exec(text) ?? [];
  // A day that its month does not have would be read as one of the next month.
  if (date === '' || !isDate(date)) return undefined;
  const timeMs = Date.parse(`${date}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}${zone}`);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

function isDate(text: string): boolean {
  const timeMs = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(timeMs) && new Date(timeMs).toISOString().startsWith(text);
}

function clampTimeMs(timeMs: number): number {
  return Math.max(-TIME_MS_MAX, Math.min(TIME_MS_MAX, timeMs));
}

/** Integer ms, possibly negative; undefined if the text is not a duration or exceeds 292 years. */
function parseDurationMs(text: string): number | undefined {
  const durationMs = DECIMAL.test(text) ? Math.trunc(Number(text) * 1000) : unitsMs(text);
  if (durationMs === undefined || Math.abs(durationMs) > DURATION_MS_MAX) return undefined;
  return durationMs;
}

function unitsMs(text: string): number | undefined {
  const parts = text === '' ? null : DURATION.exec(text);
  if (parts === null) return undefined;
  return UNIT_MS.reduce((sum, unitMs, i) => sum + unitMs * Number(parts[i + 1] ?? 0), 0);
}

/** Parameters of one request, decoded once. Unknown names are ignored, as in Prometheus. */
export class Parameters {
  readonly #values = new Map<string, string[]>();

  /** `forms`: form-encoded texts in order of precedence. Throws `PromqlError` bad_data. */
  constructor(forms: readonly string[]) {
    for (const form of forms) {
      for (const pair of form.split('&')) if (pair !== '') this.#add(pair);
    }
  }

  /** '' if the parameter is absent, which means the same as an empty value. */
  get(name: string): string {
    return this.#values.get(name)?.[0] ?? '';
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  #add(pair: string): void {
    const at = pair.indexOf('=');
    const name = decode(at < 0 ? pair : pair.slice(0, at));
    const value = at < 0 ? '' : decode(pair.slice(at + 1));
    const values = this.#values.get(name);
    if (values === undefined) this.#values.set(name, [value]);
    else values.push(value);
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    const message = 'error parsing form values: a percent escape is invalid or not UTF-8';
    throw new PromqlError('bad_data', message);
  }
}
