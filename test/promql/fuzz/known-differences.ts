/**
 * Where the engine follows a later Prometheus than 3.5.3, as the conformance scripts ask for, and
 * where Prometheus's own answer is left to chance. A difference that one of these explains is no
 * failure; it is counted.
 */
import type { Answer, AnswerSeries } from '../answer.ts';

interface KnownDifference {
  readonly reason: string;
  /** Whether it can explain a difference between answers to the expression. */
  readonly explains: (expression: string, prometheus: Answer, ours: Answer) => boolean;
}

const knownDifferences: readonly KnownDifference[] = [
  {
    reason: 'histogram_fraction within the lowest bucket: NaN in 3.5, later interpolated',
    explains: (expression, prometheus, ours) =>
      /histogram_fraction/.test(expression) && differOnlyWhereNaN(prometheus, ours),
  },
  {
    reason: 'series dropped by a comparison: they do not count as matches in 3.5, later they do',
    explains: (expression, prometheus, ours) =>
      prometheus.kind === 'data' &&
      ours.kind === 'error' &&
      /[<>=!]/.test(expression) &&
      /^(multiple matches for labels|found duplicate series)/.test(ours.message),
  },
  {
    reason: 'series that become equal at different steps: refused in 3.5, later they are merged',
    explains: (expression, prometheus, ours) =>
      prometheus.kind === 'error' &&
      ours.kind === 'data' &&
      /-|label_(replace|join)/.test(expression) &&
      prometheus.message.endsWith('vector cannot contain metrics with the same labelset'),
  },
  {
    reason: 'equal values in topk: Prometheus gives the series of an operation in no order',
    explains: (expression, prometheus, ours) =>
      /^(topk|bottomk)/.test(expression) && valuesByTime(prometheus) === valuesByTime(ours),
  },
  {
    reason: 'values as labels: the last digit of a function is not the same everywhere',
    explains: (expression, prometheus, ours) =>
      /count_values/.test(expression) && countsByTime(prometheus) === countsByTime(ours),
  },
  {
    reason:
      'the last digit of a function is not the same everywhere, and what follows magnifies it',
    explains: (expression, prometheus, ours) =>
      prometheus.kind === ours.kind &&
      ((INEXACT.test(expression) && MAGNIFYING.test(expression)) || PERIODIC.test(expression)),
  },
  {
    reason: "@ in an aggregation's parameter: Prometheus 3.5 holds it at the first step alone",
    explains: (expression) => /(topk|bottomk|quantile)\b[^,]*@[^,]*,/.test(expression),
  },
  {
    reason: 'timestamp() of a selector with both @ and offset: Prometheus 3.5 forgets the offset',
    explains: (expression) => /timestamp\(.*(@.*offset|offset.*@)/.test(expression),
  },
  {
    reason: 'absent and two matchers of one label: Prometheus reorders them when it has selected',
    explains: (expression, prometheus, ours) =>
      TWICE_MATCHED.test(expression) && valuesByTime(prometheus) === valuesByTime(ours),
  },
];

const INEXACT = /\b(a?(sin|cos|tan)h?|exp|ln|log2|log10|atan2|deg|rad|stddev|stdvar|quantile)\b|\^/;
const MAGNIFYING =
  /%| ([=!]=|[<>]=?) |\b(ceil|floor|round|sgn|changes|resets|count_values|tanh?|acosh?)\b/;
/** Functions of a number so great that its last digit is more than a period. */
const PERIODIC = /\b(sin|cos|tan)\(.*(\^|exp|sinh|cosh)/;
const TWICE_MATCHED = /absent.*\b(\w+)(=|!).*\b\1(=|!)/;

/** Whether each value of Prometheus's that is not ours is NaN. */
function differOnlyWhereNaN(prometheus: Answer, ours: Answer): boolean {
  if (prometheus.kind === 'error' || ours.kind === 'error') return false;
  const got = new Map(ours.series.map(({ labels, points }) => [labels.key, points]));
  const isExplained = ({ labels, points }: AnswerSeries) =>
    points.length === got.get(labels.key)?.length &&
    points.every(({ timeMs, value }, index) => {
      const other = got.get(labels.key)?.[index];
      const difference = Math.abs(Number(value) - Number(other?.value));
      return timeMs === other?.timeMs && (Number.isNaN(value) || difference < 1e-9);
    });
  return got.size === prometheus.series.length && prometheus.series.every(isExplained);
}

/** What the answers have in common if only the choice between equal values differs. */
function valuesByTime(answer: Answer): string {
  if (answer.kind === 'error') return answer.message;
  const points = answer.series.flatMap((series) => series.points);
  return points
    .map(({ timeMs, value }) => `${timeMs} ${value}`)
    .sort()
    .join('\n');
}

/** ... if only the digits that the label shows differ: also apart, where they were one. */
function countsByTime(answer: Answer): string {
  if (answer.kind === 'error') return answer.message;
  const sums = new Map<number, number>();
  for (const { timeMs, value } of answer.series.flatMap((series) => series.points)) {
    sums.set(timeMs, (sums.get(timeMs) ?? 0) + Number(value));
  }
  return JSON.stringify([...sums].sort());
}

export function knownReason(expression: string, prometheus: Answer, ours: Answer): string | null {
  const known = knownDifferences.find(({ explains }) => explains(expression, prometheus, ours));
  return known?.reason ?? null;
}
