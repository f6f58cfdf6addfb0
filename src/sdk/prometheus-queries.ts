/**
 * Queries of the PromQL URL. An error is a result, not an exception, because "could not be read"
 * must reach the code that draws or decides. A step without a sample has no point; nothing here
 * fills one in, least of all with a zero.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Random } from '../../streams/platform/random.ts';
import { type RetrySettings, retryAfterMs, waitMsOf } from './retry.ts';

export interface PrometheusQueries {
  /** The value at one time, default now. */
  instant(query: string, at?: { readonly timeUnix?: number }): Promise<QueryOutcome<Sample>>;
  /** Values at `startUnix`, and every `stepSeconds` (at least 30) after it up to `endUnix`. */
  range(query: string, bounds: RangeBounds): Promise<QueryOutcome<RangeSeries>>;
}

/** Both ends are included; at most 10,000 steps. */
export interface RangeBounds {
  readonly startUnix: number;
  readonly endUnix: number;
  readonly stepSeconds: number;
}

export type QueryOutcome<T> =
  | {
      readonly ok: true;
      /** Empty if nothing was observed, which is not zero. */
      readonly series: readonly T[];
      readonly warnings: readonly string[];
    }
  | QueryFailure;

export interface QueryFailure {
  readonly ok: false;
  /** Prometheus's word (`bad_data`, `timeout`, `execution`…), or `no_answer`. */
  readonly errorType: string;
  readonly error: string;
  /** HTTP status; 0 if there was no response. */
  readonly status: number;
  /** The wait that the service requested; absent if it did not. */
  readonly retryAfterSeconds?: number;
}

export interface Point {
  /** Unix seconds, possibly with a fraction. */
  readonly timeUnix: number;
  /** May be NaN or infinite, as computed by PromQL. */
  readonly value: number;
}

export interface Sample extends Point {
  /** {} for a scalar. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface RangeSeries {
  readonly labels: Readonly<Record<string, string>>;
  /** Sorted by time; a step without a sample is missing. */
  readonly points: readonly Point[];
}

export interface PrometheusOptions {
  readonly baseUrl: string;
  /** Id, or `projects/<id>`. */
  readonly project: string;
  readonly token: () => Promise<string | undefined>;
  readonly timeoutMs: number;
  readonly retries: RetrySettings;
  readonly clock: Clock;
  readonly random: Random;
}

/** Made by `createClient(...).prometheus(project)`. */
export function createPrometheusQueries(options: PrometheusOptions): PrometheusQueries {
  const project = encodeURIComponent(options.project.replace(/^projects\//, ''));
  const base = `${options.baseUrl}/v1/monitoring/projects/${project}/promql/api/v1`;
  return {
    async instant(query, { timeUnix } = {}) {
      const time = timeUnix === undefined ? {} : { time: String(timeUnix) };
      return readAnswer(await ask(options, `${base}/query`, { query, ...time }), readInstant);
    },
    async range(query, { startUnix, endUnix, stepSeconds }) {
      const bounds = { start: `${startUnix}`, end: `${endUnix}`, step: `${stepSeconds}` };
      return readAnswer(await ask(options, `${base}/query_range`, { query, ...bounds }), readRange);
    },
  };
}

/**
 * A series on every step of its range, with `undefined` if nothing was observed. For drawings and
 * tables that need a slot for each step.
 */
export function onSteps(
  { points }: Pick<RangeSeries, 'points'>,
  { startUnix, endUnix, stepSeconds }: RangeBounds,
): (number | undefined)[] {
  const valueAt = new Map(points.map(({ timeUnix, value }) => [timeUnix, value]));
  const steps = Math.floor((endUnix - startUnix) / stepSeconds) + 1;
  return Array.from({ length: Math.max(0, steps) }, (_, i) =>
    valueAt.get(startUnix + i * stepSeconds),
  );
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}

/** Sent as a form, so that an expression of 16 KiB fits. Reads are retried. */
async function ask(
  options: PrometheusOptions,
  url: string,
  form: Readonly<Record<string, string>>,
): Promise<Answer> {
  const { token, timeoutMs, retries, clock, random } = options;
  const signal = AbortSignal.timeout(timeoutMs);
  for (let tries = 1; ; tries++) {
    const bearer = await token();
    const answer = await post(url, form, bearer, signal);
    const isBusy = answer.status === 429 || answer.status === 503;
    const waitMs = isBusy ? waitMsOf(answer.retryAfter, tries, { ...retries, random }) : undefined;
    if (waitMs === undefined) return answer;
    await pause(clock, waitMs, signal);
    if (signal.aborted) return answer;
  }
}

/** Responses have at most 4 MiB. A much larger response is not from this service. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

async function post(
  url: string,
  form: Readonly<Record<string, string>>,
  bearer: string | undefined,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      body: new URLSearchParams(form),
      signal,
      headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
      // Following it would send the credential to another host.
      redirect: 'manual',
    });
    const { status, headers } = response;
    return { status, retryAfter: headers.get('retry-after'), text: await boundedText(response) };
  } catch (error) {
    return { status: 0, retryAfter: null, text: describe(error) };
  }
}

async function boundedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES_MAX)
      throw new Error('the response is too large to come from this service');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function describe(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'the time is over';
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof Error && 'code' in cause) return String(cause.code);
  return cause instanceof Error ? cause.message : String(cause);
}

function readAnswer<T>(answer: Answer, read: (data: Data) => T[] | undefined): QueryOutcome<T> {
  const { status, retryAfter, text } = answer;
  if (status === 0) return { ok: false, errorType: 'no_answer', error: text, status };
  const body = parseJson(text);
  const retryAfterSeconds = (retryAfterMs(retryAfter ?? '') ?? Number.NaN) / 1000;
  const wait = Number.isNaN(retryAfterSeconds) ? {} : { retryAfterSeconds };
  if (body?.status === 'error') {
    const { errorType = 'internal', error = '' } = body;
    return { ok: false, errorType, error, status, ...wait };
  }
  const series = status === 200 && body?.data ? read(body.data) : undefined;
  if (series) return { ok: true, series, warnings: body?.warnings ?? [] };
  const error =
    'The response did not come from a PromQL URL. Check that baseUrl is the origin of the service';
  return { ok: false, errorType: 'bad_answer', error, status, ...wait };
}

/** The part of Prometheus's envelope that is used. */
interface Envelope {
  readonly status?: string;
  readonly errorType?: string;
  readonly error?: string;
  readonly warnings?: readonly string[];
  readonly data?: Data;
}

type Pair = readonly [number, string];

interface Data {
  readonly resultType: string;
  readonly result: unknown;
}

function readInstant({ resultType, result }: Data): Sample[] | undefined {
  if (resultType === 'scalar') return [{ labels: {}, ...pointOf(result as Pair) }];
  if (resultType !== 'vector') return undefined;
  type Element = { readonly metric: Readonly<Record<string, string>>; readonly value: Pair };
  return (result as Element[]).map(({ metric, value }) => ({ labels: metric, ...pointOf(value) }));
}

function readRange({ resultType, result }: Data): RangeSeries[] | undefined {
  if (resultType !== 'matrix') return undefined;
  type Element = { readonly metric: Readonly<Record<string, string>>; readonly values: Pair[] };
  return (result as Element[]).map(({ metric, values }) => ({
    labels: metric,
    points: values.map(pointOf),
  }));
}

function pointOf([timeUnix, text]: Pair): Point {
  if (text === '+Inf') return { timeUnix, value: Number.POSITIVE_INFINITY };
  return { timeUnix, value: text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text) };
}

function parseJson(text: string): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Envelope) : undefined;
  } catch {
    // A gateway in between responded. Its page is not a response of the service.
    return undefined;
  }
}
