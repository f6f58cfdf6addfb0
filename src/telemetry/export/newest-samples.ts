/**
 * The newest sample of each series of a VM, as far as it is fresh. A series that fell silent is
 * left out, and with its last one the VM: a scraper must be able to tell that nothing was observed.
 */
import { GAP_TOLERANCE_MS } from '../../../streams/telemetry/entry.ts';
import { readableSeries } from '../../../streams/telemetry/metrics/readable-series.ts';
import type { VmColumns } from '../../../streams/telemetry/samples/columns.ts';
import type { ExportedSample } from './exposition.ts';

/** Samples older than this are stale (three sampling intervals), ms. */
const FRESH_MS = GAP_TOLERANCE_MS;
/** How far back rows are wanted, ms: a utilization needs the row before. */
export const ROWS_MS = FRESH_MS + GAP_TOLERANCE_MS;

/** One sample for each series that has one observed in the last 90 s before `nowMs`. */
export function newestSamples(columns: VmColumns, nowMs: number): ExportedSample[] {
  const { timesMs } = columns;
  const samples: ExportedSample[] = [];
  for (const [key, column] of readableSeries(columns)) {
    let place = column.length - 1;
    while (place >= 0 && Number.isNaN(column[place])) place--;
    const timeMs = timesMs[place];
    const value = column[place];
    if (timeMs === undefined || value === undefined || nowMs - timeMs > FRESH_MS) continue;
    samples.push({ key, timeMs, value });
  }
  return samples;
}
