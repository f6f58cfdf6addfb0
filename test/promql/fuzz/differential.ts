/**
 * Asks a real Prometheus and our engine the same of the same data, and makes an expression that
 * they disagree on as small as it gets.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Budget } from '../../../src/promql/budget.ts';
import { queryInstant, queryRange } from '../../../src/promql/engine.ts';
import { type Prometheus, startPrometheus } from '../../support/prometheus.ts';
import { type Answer, answerOf, answerOfApi, differencesOf } from '../answer.ts';
import { MemorySource } from '../memory-source.ts';
import { knownReason } from './known-differences.ts';
import { type Piece, smallerPieces, textOf } from './piece.ts';
import { dataOf, dataSetOf, type FuzzQuery, type FuzzTimes, queryOf } from './query.ts';

/** Sums are added up in another order here than there. */
const TOLERANCE = { relative: 1e-9, absolute: 1e-9 };
const LIMITS = { bytesMax: 2 ** 30, samplesMax: 1e9 };
/** Tries to make a failing expression smaller, at most. */
const SHRINKS_MAX = 2_000;

export interface Disagreement {
  readonly seed: number;
  readonly expression: string;
  readonly times: FuzzTimes;
  readonly differences: readonly string[];
  readonly prometheus: Answer;
  readonly ours: Answer;
}

export interface FuzzReport {
  /** Expressions, each asked for as an instant and as a range query. */
  readonly expressions: number;
  /** Answers that agreed, of those with at least one sample, empty ones, and errors. */
  readonly withSamples: number;
  readonly empty: number;
  readonly errors: number;
  readonly known: ReadonlyMap<string, number>;
  readonly disagreements: readonly Disagreement[];
}

export interface FuzzOptions {
  /** Path of Prometheus. */
  readonly program: string;
  /** First seed and number of seeds. */
  readonly from: number;
  readonly seeds: number;
  /** Whether to stop before the last seed. */
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
        const compared = await compare(world, query, query.piece, times);
        if (compared.reason !== null)
          known.set(compared.reason, (known.get(compared.reason) ?? 0) + 1);
        else if (compared.differences.length > 0) {
          const found = await shrink(world, query, times);
          disagreements.push(found);
          options.onDisagreement(found);
        } else counts[kindOf(compared.ours)]++;
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

/** A set of data in both engines. */
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
  /** Why a difference is none, or null. */
  readonly reason: string | null;
}

async function compare(
  world: World,
  { seed }: FuzzQuery,
  piece: Piece,
  times: FuzzTimes,
): Promise<Compared> {
  const expression = textOf(piece);
  const prometheus = answerOfApi(await askPrometheus(world.prometheus, expression, times));
  let ours: Answer;
  try {
    ours = answerOf(() => askOurs(world.source, expression, times));
  } catch (error) {
    throw new Error(`Seed ${seed}, ${expression}: our engine broke`, { cause: error });
  }
  const differences = [
    ...differencesOf(prometheus, ours, TOLERANCE),
    ...annotationDifferences(prometheus, ours),
  ];
  const reason = differences.length === 0 ? null : knownReason(expression, prometheus, ours);
  return { prometheus, ours, differences, reason };
}

function askPrometheus(prometheus: Prometheus, query: string, times: FuzzTimes): Promise<unknown> {
  if (times.kind === 'instant') {
    return prometheus.post('query', { query, time: String(times.timeMs / 1000) });
  }
  return prometheus.post('query_range', {
    query,
    start: String(times.startMs / 1000),
    end: String(times.endMs / 1000),
    step: String(times.stepMs / 1000),
  });
}

function askOurs(source: MemorySource, expression: string, times: FuzzTimes) {
  const deps = { source, budget: new Budget(LIMITS) };
  if (times.kind === 'instant') return queryInstant({ expression, timeMs: times.timeMs }, deps);
  const { startMs, endMs, stepMs } = times;
  return queryRange({ expression, startMs, endMs, stepMs }, deps);
}

/** Prometheus's API tells ten of a kind and then how many more. */
const TOLD_MAX = 10;
/** Newer than 3.5. */
const SINCE_3_5 = /sort is ineffective/;

function annotationDifferences(a: Answer, b: Answer): string[] {
  if (a.kind === 'error' || b.kind === 'error') return [];
  const told = (texts: readonly string[]) => texts.filter((text) => !SINCE_3_5.test(text)).sort();
  return (['warnings', 'infos'] as const).flatMap((kind) => {
    const [expected, got] = [told(a[kind]), told(b[kind])];
    if (expected.length > TOLD_MAX || expected.join('\n') === got.join('\n')) return [];
    return [`${kind}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`];
  });
}

/** Takes the first smaller expression that fails as well, until there is none. */
async function shrink(world: World, query: FuzzQuery, times: FuzzTimes): Promise<Disagreement> {
  let { piece } = query;
  let tries = 0;
  for (let found = true; found && tries < SHRINKS_MAX; ) {
    found = false;
    for (const smaller of smallerPieces(piece)) {
      if (tries++ > SHRINKS_MAX) break;
      const { differences, reason } = await compare(world, query, smaller, times);
      if (differences.length === 0 || reason !== null) continue;
      piece = smaller;
      found = true;
      break;
    }
  }
  const { prometheus, ours, differences } = await compare(world, query, piece, times);
  return { seed: query.seed, expression: textOf(piece), times, differences, prometheus, ours };
}
