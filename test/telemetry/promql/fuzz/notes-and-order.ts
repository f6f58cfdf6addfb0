/**
 * Allowed differences of two answers besides their values: the order of a vector if it has one, and
 * warnings and infos.
 */
import type { Answer } from '../answer.ts';
import type { Piece } from './piece.ts';

/** True if the elements of an instant query's vector have a defined order. */
export function isOrdered({ parts: [first, grouping] }: Piece): boolean {
  if (first === 'topk' || first === 'bottomk') return grouping === '';
  return first === 'sort(' || first === 'sort_desc(';
}

/** Differences in order, as sentences. Equal values have no order, so values are compared. */
export function orderDifferences(a: Answer, b: Answer): string[] {
  const [expected, got] = [valuesInOrder(a), valuesInOrder(b)];
  return expected === got ? [] : [`the order: expected ${expected}, got ${got}`];
}

function valuesInOrder(answer: Answer): string {
  if (answer.kind === 'error' || answer.type !== 'vector') return '';
  const values = answer.series.flatMap(({ points }) => points.map(({ value }) => Number(value)));
  return values.map((value) => value.toPrecision(6)).join(' ');
}

/** Prometheus's API lists ten of a kind, and then the number of the others. */
const TOLD_MAX = 10;
/** Newer than 3.5. */
const SINCE_3_5 = /sort is ineffective/;
/** Over a range, Prometheus knows a histogram's metric only at the first step. */
const CORRECTED_OF = /(fixed for monotonicity .* for metric name) ".*"/;
/** Prometheus lists a text once, at its last position; we list every position. */
const PLACE = / \(\d+:\d+\)$/;
/** The last digits of a function differ between platforms. */
const LAST_DIGITS = /(\.\d{10})\d+/g;

/** Differences in annotations, as sentences. */
export function annotationDifferences(a: Answer, b: Answer): string[] {
  if (a.kind === 'error' || b.kind === 'error') return [];
  return (['warnings', 'infos'] as const).flatMap((kind) => {
    if (a[kind].length > TOLD_MAX) return [];
    const [expected, got] = [comparable(a[kind]), comparable(b[kind])];
    if (expected.join('\n') === got.join('\n')) return [];
    return [`${kind}: expected ${JSON.stringify(a[kind])}, got ${JSON.stringify(b[kind])}`];
  });
}

function comparable(texts: readonly string[]): string[] {
  const reported = texts
    .filter((text) => !SINCE_3_5.test(text))
    .map((text) => text.replace(PLACE, '').replace(CORRECTED_OF, '$1').replace(LAST_DIGITS, '$1'));
  return [...new Set(reported)].sort();
}
