/**
 * From parameters to what is asked of the query threads, with the limits of this gateway
 * (LIMIT-01 to LIMIT-08). The engine knows none of them: a rule or a test may ask it for what no dashboard may.
 * Texts of refusals are Prometheus's where it has one, because clients show and compare them.
 */
import { PromqlError } from '../promql/errors.ts';
import { goQuote } from '../promql/format-go.ts';
import { POINTS_MAX, QUERY_MS_MAX, STEP_MS_MIN } from '../query/limits.ts';
import type { PromqlCall, PromqlRequest } from '../query/promql-request.ts';
import type { Parameters } from './parameters.ts';
import { parseDurationMs, parseTimeMs, TIME_MS_MAX } from './times.ts';

/** A request but for whose it is and how its answer is packed. */
export type PromqlQuestion = Omit<PromqlRequest, 'project' | 'encoding'>;

/** Of an expression, and of all selectors of a request together. */
const EXPRESSION_BYTES_MAX = 16 * 1024;

/** Throws `PromqlError` bad_data, as all of these do. */
export function instantQuestion(parameters: Parameters, nowMs: number): PromqlQuestion {
  const limit = limitOf(parameters);
  const timeMs = timeOr(parameters, 'time', nowMs);
  return {
    call: { kind: 'instant', expression: expressionOf(parameters), timeMs },
    limit,
    ...evaluationOptions(parameters),
  };
}

export function rangeQuestion(parameters: Parameters): PromqlQuestion {
  const limit = limitOf(parameters);
  const startMs = timeOf(parameters, 'start');
  const endMs = timeOf(parameters, 'end');
  if (endMs < startMs) throw invalid('end', 'end timestamp must not be before start time');
  const stepMs = stepOf(parameters);
  if ((endMs - startMs) / stepMs >= POINTS_MAX) {
    const message =
      'exceeded maximum resolution of 10,000 points per timeseries. Try decreasing the query resolution (?step=XX)';
    throw new PromqlError('bad_data', message);
  }
  return {
    call: { kind: 'range', expression: expressionOf(parameters), startMs, endMs, stepMs },
    limit,
    ...evaluationOptions(parameters),
  };
}

/** Of `series`: at least one selector. */
export function seriesQuestion(parameters: Parameters): PromqlQuestion {
  if (parameters.all('match[]').length === 0) {
    throw new PromqlError('bad_data', 'no match[] parameter provided');
  }
  return metadataQuestion({ kind: 'series' }, parameters);
}

/** Of what is told about series, without their samples. */
export function metadataQuestion(
  about:
    | { readonly kind: 'series' | 'labels' }
    | { readonly kind: 'labelValues'; readonly label: string },
  parameters: Parameters,
): PromqlQuestion {
  const limit = limitOf(parameters);
  const startMs = timeOr(parameters, 'start', -TIME_MS_MAX);
  const endMs = timeOr(parameters, 'end', TIME_MS_MAX);
  const matches = parameters.all('match[]');
  checkLength('match[]', matches);
  return { call: { ...about, matches, startMs, endMs } satisfies PromqlCall, limit };
}

/** Of `format_query` and `parse_query`. */
export function textQuestion(kind: 'format' | 'parse', parameters: Parameters): PromqlQuestion {
  return { call: { kind, expression: expressionOf(parameters) }, limit: 0 };
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

/** A time that may be missing is refused in other words than one that must be there. */
function timeOr(parameters: Parameters, name: string, defaultMs: number): number {
  if (parameters.get(name) === '') return defaultMs;
  return timeOf(parameters, name, `invalid time value for '${name}': `);
}

function stepOf(parameters: Parameters): number {
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
  if (stepMs < STEP_MS_MIN) {
    const message =
      `a step of ${stepMs / 1000} s is under the minimum of 30 s, at which samples are taken. ` +
      'In Grafana, set "Scrape interval" of the data source to 30s or more ' +
      '(or "Min step" of the query)';
    throw invalid('step', message);
  }
  return stepMs;
}

/** Lookback and timeout; the others of Prometheus's parameters change nothing here. */
function evaluationOptions(
  parameters: Parameters,
): Pick<PromqlRequest, 'lookbackMs' | 'timeoutMs'> {
  const timeoutMs = optionalDuration(parameters, 'timeout', (message) =>
    invalid('timeout', message),
  );
  const lookbackMs = optionalDuration(parameters, 'lookback_delta', (message) => {
    return new PromqlError('bad_data', `error parsing lookback delta duration: ${message}`);
  });
  return {
    ...(timeoutMs !== undefined &&
      timeoutMs < QUERY_MS_MAX && { timeoutMs: atLeastZero(timeoutMs) }),
    // Prometheus takes its default for what is no length.
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
