/**
 * Places where the engine follows a later Prometheus than 3.5.3, as the conformance scripts
 * require, and where Prometheus's own answer is wrong or random. A difference that one of these
 * explains is not a failure; it is counted. Each states the properties that the answers must share:
 * a word in the expression alone explains no difference.
 */
import {
  type Answer,
  type AnswerSeries,
  differencesOf,
  isClose,
  type Tolerance,
} from '../answer.ts';
import { differInLastDigits, pointsOf } from './last-digits.ts';
import type { Piece } from './piece.ts';
import type { FuzzTimes } from './query.ts';

/** Differing values, and functions to query further. */
export interface Difference {
  readonly expression: string;
  readonly piece: Piece;
  readonly times: FuzzTimes;
  readonly prometheus: Answer;
  readonly ours: Answer;
  readonly tolerance: Tolerance;
  /** Our answer for the same times. */
  readonly askOurs: (expression: string) => Answer;
  readonly askPrometheus: (expression: string, times: FuzzTimes) => Promise<Answer>;
}

interface KnownDifference {
  readonly reason: string;
  /** `bare` = the expression without texts and matchers. */
  readonly explains: (bare: string, difference: Difference) => boolean | Promise<boolean>;
}

const knownDifferences: readonly KnownDifference[] = [
  {
    reason: 'histogram_fraction within the lowest bucket: NaN in 3.5, later interpolated',
    explains: (bare, { prometheus, ours }) =>
      /histogram_fraction/.test(bare) && differOnlyWhereNaN(prometheus, ours),
  },
  {
    reason: 'series dropped by a comparison: they do not count as matches in 3.5, later they do',
    explains: (bare, { prometheus, ours }) =>
      prometheus.kind === 'data' &&
      ours.kind === 'error' &&
      /==|!=|[<>]/.test(bare) &&
      /^(multiple matches for labels|found duplicate series)/.test(ours.message),
  },
  {
    reason: 'series that become equal at different steps: refused in 3.5, later they are merged',
    explains: (bare, { prometheus, ours, times }) =>
      prometheus.kind === 'error' &&
      ours.kind === 'data' &&
      (times.kind === 'range' || /:\w*\]/.test(bare)) &&
      /-|label_(replace|join)/.test(bare) &&
      prometheus.message.endsWith('vector cannot contain metrics with the same labelset'),
  },
  {
    reason: 'equal values in topk: Prometheus gives the series of an operation in no order',
    explains: (bare, { prometheus, ours }) =>
      /^(topk|bottomk)/.test(bare) && valuesByTime(prometheus) === valuesByTime(ours),
  },
  {
    reason: 'values as labels: the last digit of a function is not the same everywhere',
    explains: (bare, { prometheus, ours }) =>
      /count_values/.test(bare) && countTheSame(prometheus, ours),
  },
  {
    reason:
      'the last digit of a function is not the same everywhere, and what follows magnifies it',
    explains: (_bare, { piece, prometheus, ours, tolerance, askOurs }) =>
      differInLastDigits(piece, { prometheus, ours }, tolerance, askOurs),
  },
  {
    reason: "@ in an aggregation's parameter: Prometheus 3.5 holds it at the first step alone",
    explains: (bare, difference) =>
      /(topk|bottomk|quantile)\b[^,]*@[^,]*,/.test(bare) && isRightStepByStep(difference),
  },
  {
    reason: 'timestamp() of a selector with both @ and offset: Prometheus 3.5 forgets the offset',
    explains: (_bare, { expression, prometheus, ours, tolerance, askOurs }) => {
      const forgetful = expression.replace(TIMESTAMP, (call) =>
        call.includes('@') ? call.replace(/ offset -?\w+/, '') : call,
      );
      // It has read the data at the offset, and may find nothing at the time that it reads.
      const isIn = () => isWithin(prometheus, [ours, askOurs(forgetful)], tolerance);
      return forgetful !== expression && isIn();
    },
  },
  {
    reason: 'absent and two matchers of one label: Prometheus reorders them when it has selected',
    explains: (_bare, { expression, prometheus, ours }) =>
      TWICE_MATCHED.test(expression) && valuesByTime(prometheus) === valuesByTime(ours),
  },
];

const TEXTS = /"(\\.|[^"\\])*"|'(\\.|[^'\\])*'|`[^`]*`/g;
/** An expression that only calls timestamp on one selector. */
const TIMESTAMP = /^timestamp\((?:"[^"]*"|\(\)|[^()"])*\)$/;
const TWICE_MATCHED = /absent(_over_time)?\([^{}]*\{[^}]*\b(\w+)(=|!)[^}]*\b\2(=|!)/;

/** The first known difference that explains this one, or null. */
export async function knownReason(difference: Difference): Promise<string | null> {
  const bare = difference.expression.replaceAll(TEXTS, '""').replaceAll(/\{[^{}]*\}/g, '');
  for (const { reason, explains } of knownDifferences) {
    if (await explains(bare, difference)) return reason;
  }
  return null;
}

/** True if each value of Prometheus that differs from ours is NaN. */
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

/** True if each value is one of the others', for the same series and time. */
function isWithin(answer: Answer, others: readonly Answer[], tolerance: Tolerance): boolean {
  const all = others.map(pointsOf);
  return [...pointsOf(answer)].every(([place, value]) =>
    all.some((points) => {
      const other = points.get(place);
      return other !== undefined && isClose(value, other, tolerance);
    }),
  );
}

/** Common part of answers that differ only in the choice between equal values. */
function valuesByTime(answer: Answer): string {
  if (answer.kind === 'error') return answer.message;
  const points = answer.series.flatMap((series) => series.points);
  return points
    .map(({ timeMs, value }) => `${timeMs} ${value}`)
    .sort()
    .join('\n');
}

/** Tolerance of a number in a label, for digits that differ between platforms. */
const LABEL_TOLERANCE = { relative: 1e-12, absolute: 0 };
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/;

/** True if the counts are equal except for the last digits in labels. */
function countTheSame(prometheus: Answer, ours: Answer): boolean {
  if (![prometheus, ours].every(isOfCounts)) return false;
  const [left, right] = [countedOf(prometheus), countedOf(ours)];
  return (
    left.length === right.length &&
    left.every(({ place, numbers }, i) => {
      const other = right[i];
      const isOne = (number: number, at: number) =>
        isClose(number, other?.numbers[at] ?? Number.NaN, LABEL_TOLERANCE);
      return place === other?.place && numbers.every(isOne);
    })
  );
}

function isOfCounts(answer: Answer): boolean {
  if (answer.kind === 'error') return false;
  const values = answer.series.flatMap(({ points }) => points.map(({ value }) => value));
  return values.every((value) => Number.isInteger(value) && +value > 0 && +value <= 1000);
}

interface Counted {
  /** Time and labels, without the digits of numbers. */
  readonly place: string;
  readonly numbers: readonly number[];
}

/**
 * One element per counted value, in order: one engine may count separately what the other counts as
 * one.
 */
function countedOf(answer: Answer): Counted[] {
  if (answer.kind === 'error') return [];
  const counted = answer.series.flatMap(({ labels, points }) => {
    const numbers = labels.pairs.flatMap(([, value]) => (NUMBER.test(value) ? [+value] : []));
    const rest = labels.pairs.map(([name, value]) => (NUMBER.test(value) ? name : [name, value]));
    return points.flatMap(({ timeMs, value }) => {
      const place = JSON.stringify([timeMs, rest]);
      return Array.from({ length: Number(value) }, () => ({ place, numbers }));
    });
  });
  const difference = (a: readonly number[], b: readonly number[]) =>
    a.map((number, i) => number - (b[i] ?? 0)).find((each) => each !== 0) ?? 0;
  return counted.sort((a, b) =>
    a.place === b.place ? difference(a.numbers, b.numbers) : a.place < b.place ? -1 : 1,
  );
}

/** True if Prometheus agrees with us when it evaluates each step alone. */
async function isRightStepByStep(difference: Difference): Promise<boolean> {
  const { expression, times, ours, tolerance, askPrometheus } = difference;
  if (times.kind === 'instant' || ours.kind === 'error') return false;
  const { startMs, endMs, stepMs } = times;
  const fixed = expression
    .replaceAll('@ start()', `@ ${startMs / 1000}`)
    .replaceAll('@ end()', `@ ${endMs / 1000}`);
  for (let timeMs = startMs; timeMs <= endMs; timeMs += stepMs) {
    const alone = await askPrometheus(fixed, { kind: 'instant', timeMs });
    if (differencesOf(alone, stepOf(ours, timeMs), tolerance).length > 0) return false;
  }
  return true;
}

/** The step's part of a range answer, as an instant answer. Series of a scalar have no labels. */
function stepOf(answer: Answer & { readonly kind: 'data' }, timeMs: number): Answer {
  const series = answer.series
    .map(({ labels, points }) => ({
      labels,
      points: points.filter((point) => point.timeMs === timeMs),
    }))
    .filter(({ points }) => points.length > 0);
  return { ...answer, type: 'vector', series };
}
