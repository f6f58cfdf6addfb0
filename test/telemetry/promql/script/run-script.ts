/**
 * Runs a script against the engine. Every instant evaluation runs in three more ways that must
 * agree, as in Prometheus's own runner: with `@` on all selectors at other times, and both of these
 * as the middle step of a range query.
 */
import { Budget } from '../../../../src/telemetry/promql/budget.ts';
import {
  type QueryResult,
  queryInstant,
  queryRange,
} from '../../../../src/telemetry/promql/engine/engine.ts';
import { PromqlError } from '../../../../src/telemetry/promql/errors.ts';
import { Labels } from '../../../../src/telemetry/promql/values.ts';
import { MemorySource } from '../memory-source.ts';
import { atVariant } from './at-variant.ts';
import {
  compareAnnotations,
  compareError,
  compareResult,
  compareVector,
  sortFaults,
} from './compare.ts';
import { parseScript } from './parse-script.ts';
import type { Eval, Load } from './script.ts';

export interface EvalOutcome {
  /** Line of the `eval`, from 1. */
  readonly line: number;
  readonly expression: string;
  /** Differences, one sentence each; empty = passed. */
  readonly differences: readonly string[];
  /** Reason why it was not run; null = it was. */
  readonly notApplicable: string | null;
}

/** Reason why an eval is not run, or null. */
export type Exemption = (evaluation: Eval) => string | null;

const MINUTE_MS = 60_000;
/**
 * Bounds that stop a runaway engine. Prometheus's 10,000 counts samples held at once; ours counts
 * all samples that windows read.
 */
const LIMITS = { bytesMax: 256 * 2 ** 20, samplesMax: 10_000_000 };

/** Throws `ScriptError` if the text is not a script. */
export function runScript(text: string, exemption: Exemption = () => null): EvalOutcome[] {
  const source = new MemorySource(7);
  const outcomes: EvalOutcome[] = [];
  for (const command of parseScript(text)) {
    if (command.kind === 'clear') source.clear();
    else if (command.kind === 'load') load(source, command);
    else outcomes.push(runEval(source, command, exemption(command)));
  }
  return outcomes;
}

function load(source: MemorySource, { series, stepMs }: Load): void {
  // Only the last line counts for a series that is written twice.
  for (const { labels, values } of new Map(series.map((one) => [one.labels.key, one])).values()) {
    const samples = values.flatMap((value, index) =>
      value === null ? [] : [{ timeMs: index * stepMs, value }],
    );
    source.add(labels, samples);
  }
}

function runEval(
  source: MemorySource,
  evaluation: Eval,
  notApplicable: string | null,
): EvalOutcome {
  const { line, expression } = evaluation;
  if (notApplicable !== null) return { line, expression, differences: [], notApplicable };
  const differences =
    evaluation.mode === 'range' ? runRange(source, evaluation) : runInstant(source, evaluation);
  return { line, expression, differences, notApplicable };
}

function runRange(source: MemorySource, evaluation: Eval): string[] {
  const answer = attempt(() =>
    queryRange({ expression: evaluation.expression, ...evaluation.times }, deps(source)),
  );
  return check(answer, evaluation);
}

function runInstant(source: MemorySource, evaluation: Eval): string[] {
  const { expression, times } = evaluation;
  const timeMs = times.startMs;
  const differences = runInstantAt(source, evaluation, expression, timeMs);
  const variant = atVariant(expression, timeMs);
  if (variant === null || differences.length > 0) return differences;
  const others = timeMs === 0 ? [-1000, 1000] : [-10 * timeMs, 0, timeMs / 5, timeMs, 10 * timeMs];
  return others.flatMap((otherMs) => {
    // Annotations name positions in the expression, which have moved.
    const unannotated = { ...evaluation, warnings: 'unchecked', infos: 'unchecked' } as const;
    const found = runInstantAt(source, unannotated, variant, Math.trunc(otherMs));
    return found.map((difference) => `as "${variant}" at ${otherMs} ms: ${difference}`);
  });
}

function runInstantAt(
  source: MemorySource,
  evaluation: Eval,
  expression: string,
  timeMs: number,
): string[] {
  const answer = attempt(() => queryInstant({ expression, timeMs }, deps(source)));
  const differences = check(answer, evaluation);
  const { result, ordered, fail } = evaluation;
  const isComparable = result.kind === 'series' || result.kind === 'scalar';
  if (differences.length > 0 || !isComparable || ordered || fail !== null) return differences;
  const found = checkMiddleStep(source, evaluation, expression, timeMs);
  return found.map((difference) => `as the middle step of a range: ${difference}`);
}

function checkMiddleStep(
  source: MemorySource,
  { result }: Eval,
  expression: string,
  timeMs: number,
): string[] {
  const startMs = timeMs - MINUTE_MS;
  const query = { expression, startMs, endMs: timeMs + MINUTE_MS, stepMs: MINUTE_MS };
  const answer = attempt(() => queryRange(query, deps(source)));
  if (answer instanceof PromqlError) return [`it failed: ${answer.message}`];
  if (answer.data.type !== 'matrix') return [`expected a matrix, got a ${answer.data.type}`];
  const { series } = answer.data;
  const samples = series.flatMap(({ labels, timesMs, values }) => {
    const value = values[timesMs.indexOf(timeMs)];
    return value === undefined ? [] : [{ labels, value }];
  });
  const expected =
    result.kind === 'scalar'
      ? [{ labels: Labels.empty, values: [result.value] }]
      : result.kind === 'series'
        ? result.series
        : [];
  return [...sortFaults(series), ...compareVector(samples, expected, false)];
}

function check(answer: QueryResult | PromqlError, evaluation: Eval): string[] {
  if (answer instanceof PromqlError) {
    if (evaluation.fail === null) return [`it failed: ${answer.message}`];
    return compareError(answer.message, evaluation.fail);
  }
  if (evaluation.fail !== null) return ['expected it to fail, but it succeeded'];
  return [...compareResult(answer.data, evaluation), ...compareAnnotations(answer, evaluation)];
}

/** Only a refusal of the engine is an answer. Any other error is our fault and is rethrown. */
function attempt(query: () => QueryResult): QueryResult | PromqlError {
  try {
    return query();
  } catch (error) {
    if (error instanceof PromqlError) return error;
    throw error;
  }
}

function deps(source: MemorySource) {
  return { source, budget: new Budget(LIMITS) };
}
