/**
 * Allowed differences of two answers beside their values: the order of a vector where it has one,
 * and warnings and infos.
 */
import type { Answer } from '../answer.ts';
import type { Piece } from './piece.ts';

/** Whether the elements of an instant query's vector have an order, as far as it is defined. */
export function isOrdered({ parts: [first, grouping] }: Piece): boolean {
  if (first === 'topk' || first === 'bottomk') return grouping === '';
  return first === 'sort(' || first === 'sort_desc(';
}

/**
 * Sentences on the order. Equal values have no order among them, so it is the values that are
 * compared.
 */
export function orderDifferences(a: Answer, b: Answer): string[] {
  const [expected, got] = [valuesInOrder(a), valuesInOrder(b)];
  return expected === got ? [] : [`the order: expected ${expected}, got ${got}`];
}

function valuesInOrder(answer: Answer): string {
  if (answer.kind === 'error' || answer.type !== 'vector') return '';
  const values = answer.series.flatMap(({ points }) => points.map(({ value }) => Number(value)));
  return values.map((value) => value.toPrecision(6)).join(' ');
}

/** Prometheus's API lists ten of a kind and then how many more. */
const TOLD_MAX = 10;
/** Newer than 3.5. */
const SINCE_3_5 = /sort is ineffective/;
/** Over a range, Prometheus knows a histogram's metric at the first step alone. */
const CORRECTED_OF = /(fixed for monotonicity .* for metric name) ".*"/;
/** It lists a text once, at the last place where it was met; we list every place. */
const PLACE = / \(\d+:\d+\)$/;
/** The last digits of a function are not the same everywhere. */
const LAST_DIGITS = /(\.\d{10})\d+/g;

/** Sentences on annotations beside the values. */
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
