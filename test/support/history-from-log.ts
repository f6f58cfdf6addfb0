/**
 * A history store and the log from which it is rebuilt, given as a list of batches: batch i has
 * sequence i + 1. `expected` is the oracle: the rows of a VM according to the log itself.
 */
import type { VmRows } from '../../sqlite/telemetry/history/rows.ts';
import {
  type History,
  type HistoryOptions,
  openHistory,
} from '../../sqlite/telemetry/history/store/store.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { BatchBuilder, type SampleBatch } from '../../streams/telemetry/samples/batch.ts';
import { inlineWorker } from './inline-worker.ts';
import { copyMigratedHistory } from './migrated-databases.ts';

export const START = Date.UTC(2026, 0, 5, 12);
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const PARTITION = 7;
export const everything = { project: 'demo', fromMs: 0, toMs: 8e15 };

type Options = Partial<HistoryOptions> & { readonly folder: string };

/** A store without background work and threads. The test closes it. */
export function openStore(options: Options): History {
  copyMigratedHistory(options.folder);
  const clock = new VirtualClock(START);
  const usual = { clock, logIdentity: 'log-1', background: false, startWorker: inlineWorker };
  return openHistory({ ...usual, ...options });
}

/** Appends the log from a sequence on, as a restart does. */
export function replay(history: History, log: readonly SampleBatch[], from = 1): void {
  for (let sequence = from; sequence <= log.length; sequence++) {
    const batch = log[sequence - 1];
    if (batch !== undefined) history.append(batch, { partition: PARTITION, sequence });
  }
}

/** Rows as plain objects by time, absent values left out. */
export function plain(rows: VmRows): unknown[] {
  return Array.from(rows.timesMs, (timeMs, i) => ({
    timeMs,
    vcpus: rows.vcpus[i],
    state: rows.state[i],
    boot: rows.strings[rows.boot[i] ?? -1],
    reason: rows.strings[rows.stateReason[i] ?? -1],
    values: Object.fromEntries(
      [...rows.series]
        .map(([key, column]) => [key, column[i]] as const)
        .filter(([, value]) => !Number.isNaN(value))
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  }));
}

/** Rows of one VM according to the log: the oracle. No row of these logs is repeated. */
export function expected(log: readonly SampleBatch[], vm: string): unknown[] {
  const rows = log.flatMap((batch) =>
    Array.from({ length: batch.count }, (_, i) => ({ batch, i })).filter(
      ({ i }) => batch.vms[batch.vm[i] ?? -1]?.vm === vm,
    ),
  );
  const objects = rows.map(({ batch, i }) => ({
    timeMs: batch.observedMs[i] ?? Number.NaN,
    vcpus: batch.vcpus[i],
    state: batch.state[i],
    boot: batch.strings[batch.boot[i] ?? -1],
    reason: batch.strings[batch.stateReason[i] ?? -1],
    values: Object.fromEntries(
      (batch.layouts[batch.layout[i] ?? -1]?.series ?? [])
        .map((key, column) => [key, batch.values[(batch.valueOffset[i] ?? 0) + column]] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  }));
  return objects.sort((a, b) => a.timeMs - b.timeMs);
}

export interface SmallRow {
  readonly at: number;
  readonly values: Readonly<Record<string, number>>;
  readonly vm?: string;
}

/** A batch of literal rows; times are ms after the start. */
export function batchOf(...rows: SmallRow[]): SampleBatch {
  const builder = new BatchBuilder();
  for (const { at, values, vm = 'a' } of rows) {
    builder.add({
      project: 'demo',
      vm,
      observedMs: START + at,
      sequence: at,
      boot: 'b',
      vcpus: 2,
      state: 1,
      stateReason: '',
      series: Object.keys(values),
      values: Object.values(values),
    });
  }
  return builder.build(START + Math.max(...rows.map((row) => row.at)));
}
