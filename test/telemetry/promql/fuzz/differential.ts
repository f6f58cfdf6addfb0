/**
 * Evaluates the same expressions on the same data with a real Prometheus and our engine, and
 * shrinks an expression on which they disagree.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Budget } from '../../../../src/telemetry/promql/budget.ts';
import { queryInstant, queryRange } from '../../../../src/telemetry/promql/engine/engine.ts';
import { type Prometheus, startPrometheus } from '../../../support/prometheus.ts';
import { type Answer, answerOf, answerOfApi, differencesOf } from '../answer.ts';
import { MemorySource } from '../memory-source.ts';
import { knownReason } from './known-differences.ts';
import { annotationDifferences, isOrdered, orderDifferences } from './notes-and-order.ts';
import { descendants, type Piece, smallerPieces, textOf } from './piece.ts';
import { dataOf, dataSetOf, type FuzzQuery, type FuzzTimes, queryOf } from './query.ts';

/**
 * Sums are added in a different order, and the spread of large numbers that are close together is
 * exact to only half their digits.
 */
const TOLERANCE = { relative: 1e-7, absolute: 1e-9 };
const LIMITS = { bytesMax: 2 ** 30, samplesMax: 1e9 };
/** Maximum number of attempts to shrink a failing expression. */
const SHRINKS_MAX = 2_000;

export interface Disagreement {
  readonly seed: number;
  readonly expression: string;
  readonly times: FuzzTimes;
  /** Lookback, ms; null = the default. */
  readonly lookbackMs: number | null;
  readonly differences: readonly string[];
  readonly prometheus: Answer;
  readonly ours: Answer;
}

export interface FuzzReport {
  /** Expressions, each evaluated as an instant and as a range query. */
  readonly expressions: number;
  /** Equal answers: those with at least one sample, empty ones, and errors. */
  readonly withSamples: number;
  readonly empty: number;
  readonly errors: number;
  readonly known: ReadonlyMap<string, number>;
  readonly disagreements: readonly Disagreement[];
}

export interface FuzzOptions {
  /** Path of the Prometheus program. */
  readonly program: string;
  /** First seed and number of seeds. */
  readonly from: number;
  readonly seeds: number;
  /** True to stop before the last seed. */
  readonly isOver: () => boolean;
  readonly onDisagreement: (found: Disagreement) => void;
}

export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const counts = { expressions: 0, withSamples: 0, empty: 0, errors: 0 };
  const known = new Map<string, number>();
  const disagreements: Disagreement[] = [];
  let world: World | undefined;
  try {
    for (let seed = options.from; seed < options.from + options.seeds; seed++) {
      if (options.isOver()) break;
      if (world?.dataSet !== dataSetOf(seed)) {
        await world?.close();
        world = await openWorld(options.program, dataSetOf(seed));
      }
      const query = queryOf(seed);
      counts.expressions++;
      for (const times of query.times) {
        const { ours, differences } = await compare(world, query, query.piece, times);
        if (differences.length === 0) {
          counts[kindOf(ours)]++;
          continue;
        }
        const found = await shrink(world, query, times);
        if ('reason' in found) {
          known.set(found.reason, (known.get(found.reason) ?? 0) + 1);
        } else {
          disagreements.push(found);
          options.onDisagreement(found);
        }
      }
    }
  } finally {
    await world?.close();
  }
  return { ...counts, known, disagreements };
}

function kindOf(answer: Answer): 'withSamples' | 'empty' | 'errors' {
  if (answer.kind === 'error') return 'errors';
  return answer.series.length > 0 ? 'withSamples' : 'empty';
}

/** One set of data in both engines. */
interface World {
  readonly dataSet: number;
  readonly prometheus: Prometheus;
  readonly source: MemorySource;
  close(): Promise<void>;
}

async function openWorld(program: string, dataSet: number): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-fuzz-'));
  const prometheus = await startPrometheus({ program, folder });
  const close = async () => {
    await prometheus.kill();
    rmSync(folder, { recursive: true });
  };
  try {
    const series = dataOf(dataSet);
    await prometheus.write(
      series.map(({ labels, samples }) => ({ labels: labels.pairs, samples })),
    );
    const source = new MemorySource(11);
    for (const { labels, samples } of series) source.add(labels, samples);
    return { dataSet, prometheus, source, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Compared {
  readonly prometheus: Answer;
  readonly ours: Answer;
  readonly differences: readonly string[];
  /** Reason why a difference does not count, or null. */
  readonly reason: string | null;
}

async function compare(
  world: World,
  query: FuzzQuery,
  piece: Piece,
  times: FuzzTimes,
): Promise<Compared> {
  const expression = textOf(piece);
  const prometheus = await answerOfPrometheus(world, query, expression, times);
  const ours = answerOfOurs(world, query, expression, times);
  const values = differencesOf(prometheus, ours, TOLERANCE);
  const differences = [
    ...values,
    ...annotationDifferences(prometheus, ours),
    ...(isOrdered(piece) ? orderDifferences(prometheus, ours) : []),
  ];
  if (values.length === 0) return { prometheus, ours, differences, reason: null };
  const reason = await knownReason({
    expression,
    piece,
    times,
    prometheus,
    ours,
    tolerance: TOLERANCE,
    askOurs: (text) => answerOfOurs(world, query, text, times),
    askPrometheus: (text, at) => answerOfPrometheus(world, query, text, at),
  });
  return { prometheus, ours, differences, reason };
}

async function answerOfPrometheus(
  { prometheus }: World,
  query: FuzzQuery,
  expression: string,
  times: FuzzTimes,
): Promise<Answer> {
  return answerOfApi(await askPrometheus(prometheus, query, expression, times));
}

function answerOfOurs(
  { source }: World,
  query: FuzzQuery,
  expression: string,
  times: FuzzTimes,
): Answer {
  try {
    return answerOf(() => askOurs(source, query, expression, times));
  } catch (error) {
    throw new Error(`Seed ${query.seed}, ${expression}: our engine broke`, { cause: error });
  }
}

function askPrometheus(
  prometheus: Prometheus,
  { lookbackMs }: FuzzQuery,
  query: string,
  times: FuzzTimes,
): Promise<unknown> {
  const common = {
    query,
    ...(lookbackMs === null ? {} : { lookback_delta: String(lookbackMs / 1000) }),
  };
  if (times.kind === 'instant') {
    return prometheus.post('query', { ...common, time: String(times.timeMs / 1000) });
  }
  return prometheus.post('query_range', {
    ...common,
    start: String(times.startMs / 1000),
    end: String(times.endMs / 1000),
    step: String(times.stepMs / 1000),
  });
}

function askOurs(
  source: MemorySource,
  { lookbackMs }: FuzzQuery,
  expression: string,
  times: FuzzTimes,
) {
  const deps = { source, budget: new Budget(LIMITS) };
  const common = { expression, ...(lookbackMs === null ? {} : { lookbackMs }) };
  if (times.kind === 'instant') return queryInstant({ ...common, timeMs: times.timeMs }, deps);
  const { startMs, endMs, stepMs } = times;
  return queryRange({ ...common, startMs, endMs, stepMs }, deps);
}

/**
 * Takes the first smaller expression that fails as well, until there is none. The result may itself
 * be a known difference or have an operand that is, because Prometheus's result for that is no
 * better.
 */
async function shrink(
  world: World,
  query: FuzzQuery,
  times: FuzzTimes,
): Promise<Disagreement | { readonly reason: string }> {
  let { piece } = query;
  let compared = await compare(world, query, piece, times);
  if (compared.differences.length === 0) return { reason: CONTRADICTION };
  let tries = 0;
  for (let found = true; found && compared.reason === null && tries < SHRINKS_MAX; ) {
    found = false;
    for (const smaller of smallerPieces(piece)) {
      if (tries++ > SHRINKS_MAX) break;
      const next = await compare(world, query, smaller, times);
      if (next.differences.length === 0 || next.reason !== null) continue;
      [piece, compared, found] = [smaller, next, true];
      break;
    }
  }
  const reason =
    compared.reason ??
    (await reasonOfOperand(world, query, piece, times)) ??
    (await contradiction(world, query, piece, times));
  if (reason !== null) return { reason };
  const { prometheus, ours, differences } = compared;
  const { seed, lookbackMs } = query;
  const expression = textOf(piece);
  return { seed, expression, times, lookbackMs, differences, prometheus, ours };
}

async function reasonOfOperand(
  world: World,
  query: FuzzQuery,
  piece: Piece,
  times: FuzzTimes,
): Promise<string | null> {
  for (const operand of descendants(piece)) {
    const { reason } = await compare(world, query, operand, times);
    if (reason !== null) return reason;
  }
  return null;
}

/** Number of repetitions with Prometheus, which iterates over hash maps in random order. */
const ASKED_AGAIN = 10;
const CONTRADICTION = 'Prometheus does not give the same answer twice';

async function contradiction(
  world: World,
  query: FuzzQuery,
  piece: Piece,
  times: FuzzTimes,
): Promise<string | null> {
  const ask = () => answerOfPrometheus(world, query, textOf(piece), times);
  const first = await ask();
  for (let i = 0; i < ASKED_AGAIN; i++) {
    const differences = differencesOf(first, await ask(), TOLERANCE);
    if (differences.length > 0) return CONTRADICTION;
  }
  return null;
}
