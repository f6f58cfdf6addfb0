/**
 * Memory of columns and label sets. Everything is asked of the budget before it is
 * made, so that a query which would need gigabytes is refused and never begun. What an object costs
 * besides its elements is counted too: at one step it is nearly all. The figures are what V8 takes
 * (measured), and a quarter more.
 */
import type { Budget } from './budget.ts';
import { PromqlError } from './errors.ts';
import type { Labels } from './labels.ts';
import type { Column } from './values.ts';

export type ColumnArray = Float64Array | Uint8Array;

const VALUE_BYTES = Float64Array.BYTES_PER_ELEMENT;
/** Of an array besides its elements, with its share of the column that it belongs to. */
const ARRAY_BYTES = 250;
/** A label set without its texts, and the key and the nameless set that it makes for itself. */
const LABELS_BYTES = 400;
const LABEL_PAIR_BYTES = 32;
/** Its text is in the label, in the set's key and in the nameless set's key. */
const LABEL_CHAR_BYTES = 4;
/**
 * Of a series that a selection hands out: the series, its label set, its runs besides their
 * samples. A source that keeps them from query to query has them all the same.
 */
export const STORED_SERIES_BYTES = 1500;

/**
 * Longest value that an expression may make for a label, UTF-16 code units: as long as one that it
 * can quote.
 */
export const LABEL_VALUE_MAX = 16 * 1024;

export function takeValues(count: number, budget: Budget): Float64Array {
  budget.takeBytes(count * VALUE_BYTES + ARRAY_BYTES);
  return new Float64Array(count);
}

export function takePresence(count: number, budget: Budget): Uint8Array {
  budget.takeBytes(count + ARRAY_BYTES);
  return new Uint8Array(count);
}

/** An empty column of `count` steps, its memory asked for. */
export function takeColumn(count: number, budget: Budget): Column {
  budget.takeBytes(columnBytes(count));
  return { values: new Float64Array(count), present: new Uint8Array(count) };
}

/** What `takeColumn` asks for. */
export function columnBytes(count: number): number {
  return count * (VALUE_BYTES + 1) + 2 * ARRAY_BYTES;
}

/** What was asked for to make the array. */
export function arrayBytes(array: ColumnArray): number {
  return array.byteLength + ARRAY_BYTES;
}

export function giveBack(budget: Budget, ...arrays: readonly ColumnArray[]): void {
  for (const array of arrays) budget.giveBackBytes(arrayBytes(array));
}

/**
 * Asks for the memory of a label set that an operator has made, for as long as the query lasts:
 * label sets go from column to column, so that none of them knows when it is the last.
 */
export function takeLabels(labels: Labels, budget: Budget): Labels {
  budget.takeBytes(labelsBytes(labels));
  return labels;
}

function labelsBytes({ pairs }: Labels): number {
  let chars = 0;
  for (const [name, value] of pairs) chars += name.length + value.length;
  return LABELS_BYTES + pairs.length * LABEL_PAIR_BYTES + chars * LABEL_CHAR_BYTES;
}

/** The pieces as one label value. Throws `PromqlError` execution before it makes one too long. */
export function joinLabelValue(pieces: Iterable<string>): string {
  const kept: string[] = [];
  let length = 0;
  for (const piece of pieces) {
    length += piece.length;
    if (length > LABEL_VALUE_MAX) throw tooLong();
    kept.push(piece);
  }
  return kept.join('');
}

function tooLong(): PromqlError {
  const message = `the expression would make a label value of more than ${LABEL_VALUE_MAX} characters`;
  return new PromqlError('execution', message);
}
