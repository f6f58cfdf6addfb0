/**
 * Queries of the PromQL URL. An error is an answer, not an exception, because "could not be read"
 * must reach whoever draws or decides; and a step without a sample has no point: nothing here fills
 * one in, least of all with a zero.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Random } from '../../streams/platform/random.ts';
import { type RetrySettings, retryAfterMs, waitMsOf } from './retry.ts';

export interface PrometheusQueries {
  /** The value at one time, default now. */
  instant(query: string, at?: { readonly timeUnix?: number }): Promise<QueryOutcome<Sample>>;
  /** Values at `startUnix`, and each `stepSeconds` (at least 30) after it to `endUnix`. */
  range(query: string, bounds: RangeBounds): Promise<QueryOutcome<RangeSeries>>;
}

/** Both ends count; at most 10,000 steps. */
export interface RangeBounds {
  readonly startUnix: number;
  readonly endUnix: number;
  readonly stepSeconds: number;
}

export type QueryOutcome<T> =
  | {
      readonly ok: true;
      /** Empty: nothing was observed. That is not zero. */
      readonly series: readonly T[];
      readonly warnings: readonly string[];
    }
  | QueryFailure;

export interface QueryFailure {
  readonly ok: false;
  /** Prometheus's word (`bad_data`, `timeout`, `execution`…), or `no_answer`. */
  readonly errorType: string;
  readonly error: string;
  /** HTTP status; 0 = no answer came. */
  readonly status: number;
  /** The service asked for this wait; absent = it did not. */
  readonly retryAfterSeconds?: number;
}

export interface Point {
  /** Unix seconds, may have a fraction. */
  readonly timeUnix: number;
  /** May be NaN or infinite, as PromQL works it out. */
  readonly value: number;
}

export interface Sample extends Point {
  /** {} for a scalar. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface RangeSeries {
  readonly labels: Readonly<Record<string, string>>;
  /** In time order; a step without a sample is not here. */
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
 * A series on every step of its range: `undefined` where nothing was observed. For drawings and
 * tables that need a place for each step.
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

/** In a form, so that an expression of 16 KiB fits. Reads are asked for again. */
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

/** Answers are at most 4 MiB; anything much larger is not of this service. */
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
      // Followed, it would carry the credential on to another host.
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
    if (bytes > ANSWER_BYTES_MAX) throw new Error('the answer is too large to be one of ours');
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
  const error = 'The answer is not one of the PromQL URL: is baseUrl the origin of the service?';
  return { ok: false, errorType: 'bad_answer', error, status, ...wait };
}

/** Prometheus's envelope, as far as it is used. */
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
    // A gateway in between answered: its page is no answer of ours.
    return undefined;
  }
}
