/** Rows of a request that pass a check, and the samples that it rejects. */
import type { SeriesKey } from '../../../streams/telemetry/samples/batch.ts';
import type { IngestRow } from '../../vms/sent-row.ts';
import type { RejectedSample } from './rejections.ts';

/**
 * The rows that one check passes on to the next. Indexes are always those of the request,
 * regardless of earlier rejections.
 */
export interface CheckedRows {
  readonly rows: readonly IngestRow[];
  /** Index in the request of each row; absent: all rows are kept. */
  readonly indexes?: readonly number[];
  readonly rejected: readonly RejectedSample[];
  /** Number of samples kept. */
  readonly samples: number;
}

/** A row with its index in the request. */
export interface PlacedRow {
  readonly row: IngestRow;
  readonly index: number;
}

/** These rows, and all rejections so far in the order of the request. */
export function checkedRows(
  kept: readonly PlacedRow[],
  rejected: readonly RejectedSample[],
): CheckedRows {
  return {
    rows: kept.map(({ row }) => row),
    indexes: kept.map(({ index }) => index),
    rejected: [...rejected].sort((a, b) => a.row - b.row),
    samples: kept.reduce((sum, { row }) => sum + row.values.length, 0),
  };
}

/** The row without these series; its other parts stay. */
export function withoutSeries(row: IngestRow, surplus: ReadonlySet<SeriesKey>): IngestRow {
  if (surplus.size === 0) return row;
  const isKept = (_: unknown, i: number): boolean => !surplus.has(row.series[i] ?? '');
  return {
    ...row,
    series: row.series.filter(isKept),
    values: Array.from(row.values).filter(isKept),
  };
}
