/**
 * Statistics of a column, for coarse reads without its values: stored with long columns, computed
 * from short ones.
 */
import type { ByteReader } from '../../../../streams/telemetry/samples/byte-reader.ts';
import type { ByteWriter } from '../../../../streams/telemetry/samples/byte-writer.ts';

/** Over the present values; absent ones do not count. */
export interface ColumnStatistics {
  readonly count: number;
  readonly min: number;
  readonly max: number;
  /** Added from first to last, in doubles. */
  readonly sum: number;
  readonly first: number;
  readonly last: number;
  /** Number of values lower than the one before: the resets, if it is a counter. */
  readonly resets: number;
}

/** Statistics of a column with at least one value; NaN = absent. */
export function statisticsOf(column: Float64Array): ColumnStatistics {
  let [count, sum, resets] = [0, 0, 0];
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let [first, last] = [Number.NaN, Number.NaN];
  for (const value of column) {
    if (Number.isNaN(value)) continue;
    if (count === 0) first = value;
    else if (value < last) resets++;
    if (value < min) min = value;
    if (value > max) max = value;
    sum += value;
    last = value;
    count++;
  }
  return { count, min, max, sum, first, last, resets };
}

/** Appends the statistics of one column; `readStatistics` is its inverse. */
export function writeStatistics(writer: ByteWriter, statistics: ColumnStatistics): void {
  writer.varint(statistics.count);
  writer.varint(statistics.resets);
  for (const name of ['min', 'max', 'sum', 'first', 'last'] as const) {
    writer.number(statistics[name]);
  }
}

/** Reads the statistics of one column. Throws the reader's errors on invalid bytes. */
export function readStatistics(reader: ByteReader): ColumnStatistics {
  const count = reader.varint();
  const resets = reader.varint();
  const [min, max, sum] = [reader.number(), reader.number(), reader.number()];
  return { count, resets, min, max, sum, first: reader.number(), last: reader.number() };
}
