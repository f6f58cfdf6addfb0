/**
 * The thread that writes shards: 500 VMs are 1 MB of text, too much for the thread that receives
 * samples. It reads history itself. A series without a fresh sample is left out, and so is a VM
 * without any such series: a scraper must see that nothing was observed.
 */
import { gzipSync } from 'node:zlib';
import { HistoryError } from '../../../sqlite/telemetry/history/history-error.ts';
import { HistoryView } from '../../../sqlite/telemetry/history/store/history-view.ts';
import { serveThread } from '../../../sqlite/telemetry/history/threads/supervised-thread.ts';
import { GAP_TOLERANCE_MS } from '../../../streams/telemetry/entry.ts';
import { readableSeries } from '../../../streams/telemetry/metrics/readable-series.ts';
import type { VmColumns } from '../../../streams/telemetry/samples/columns.ts';
import type { QueryThreadData } from '../query/threads/query-threads.ts';
import {
  type ExportedSample,
  type ExportedVm,
  Exposition,
  type ExpositionFormat,
} from './exposition.ts';

/** Request to the thread: a shard's live VMs, in a format. */
export interface ShardRequest {
  readonly vms: readonly ExportedVm[];
  /** Unix ms. */
  readonly nowMs: number;
  readonly format: ExpositionFormat;
  readonly gzip: boolean;
}

// As for history reads: a client is waiting, but ingest and alerting take precedence.
const NICENESS = 3;
/** Scrapes repeat, and such text compresses to a tenth even at the cheapest level. */
const GZIP_LEVEL = 1;
/**
 * Maximum length of a shard, characters: 500 VMs with 300 series each. A partial shard would look
 * as if VMs had disappeared, so a larger one is rejected as a whole.
 */
const SHARD_CHARACTERS_MAX = 32 * 1024 * 1024;

export const thread = serveThread(NICENESS, ({ history }: QueryThreadData) => {
  const view = new HistoryView(history);
  return {
    methods: {
      shard: (request: ShardRequest, isCancelled) => {
        const body = shardBody(view, request, isCancelled);
        return { result: body, transfer: body === null ? [] : [body.buffer] };
      },
    },
    close: () => view.close(),
  };
});

/** null: the shard is too large. */
function shardBody(
  view: HistoryView,
  { vms, nowMs, format, gzip }: ShardRequest,
  isCancelled: () => boolean,
): Uint8Array<ArrayBuffer> | null {
  const exposition = new Exposition(format);
  for (const vm of vms) {
    if (isCancelled()) throw new HistoryError('CLOSED', 'The scraper disconnected');
    const rows = view.recent({ project: vm.project, vm: vm.vm, fromMs: nowMs - ROWS_MS });
    exposition.add(vm, newestSamples(rows, nowMs));
    if (exposition.length > SHARD_CHARACTERS_MAX) return null;
  }
  const text = exposition.text();
  // A separate copy: small buffers are slices of a pool, which must not be transferred.
  return new Uint8Array(gzip ? gzipSync(text, { level: GZIP_LEVEL }) : Buffer.from(text));
}

/** Samples older than this are stale (three sampling intervals), ms. */
const FRESH_MS = GAP_TOLERANCE_MS;
/** Age of the oldest row to read, ms: a utilization needs the row before. */
const ROWS_MS = FRESH_MS + GAP_TOLERANCE_MS;

/** One sample for each series with an observation in the last 90 s before `nowMs`. */
function newestSamples(columns: VmColumns, nowMs: number): ExportedSample[] {
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
