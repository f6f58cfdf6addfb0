/**
 * The newest rows of each VM, also of VMs that fell silent before the head began. A few rows a VM
 * are unpacked from chunks once and remembered. That stays right, because later rows come through
 * the head, which keeps its newest.
 */

import type { Statement } from 'better-sqlite3';
import { BoundedCache } from '../../../../streams/platform/bounded-cache.ts';
import { GAP_TOLERANCE_MS, RETENTION_MS } from '../../../../streams/telemetry/entry.ts';
import { DamagedBytes } from '../../../../streams/telemetry/samples/byte-reader.ts';
import type { LatestRow } from '../../../../streams/telemetry/samples/columns.ts';
import type { SqliteDatabase } from '../../../platform/database.ts';
import { Chunk } from '../chunk/chunk-codec.ts';
import { HistoryError } from '../history-error.ts';
import { DAY_MS } from '../history-file.ts';
import { firstAtOrAfter, mergeRows, sliceRows, type VmRows } from '../rows.ts';

/** Newest rows that are looked at: rates need two of each source. */
export const LATEST_ROWS = 4;
/** VMs remembered: 3 KB each. The largest project has 50,000 VMs, few of them silent. */
const REMEMBERED_MAX = 20_000;

export interface NewestRowsSources {
  /** Newest rows in the head; undefined = the VM has none there. */
  readonly head: (project: string, vm: string) => VmRows | undefined;
  /** Rows of the VM's newest chunk of the last `days` days before `atMs`. */
  readonly stored: (vm: {
    readonly project: string;
    readonly vm: string;
    readonly atMs: number;
    readonly days: number;
  }) => VmRows | undefined;
}

export class NewestRows {
  readonly #sources: NewestRowsSources;
  /** Oldest first; undefined = no chunk within retention. */
  readonly #stored = new BoundedCache<string, VmRows | undefined>(REMEMBERED_MAX);

  constructor(sources: NewestRowsSources) {
    this.#sources = sources;
  }

  /** Newest row within retention; undefined = none. Throws `HistoryError` DAMAGED. */
  of(project: string, vm: string, nowMs: number): LatestRow | undefined {
    const head = this.#sources.head(project, vm);
    const headMs = head?.timesMs.at(-1);
    // Rows that came late may be all the head has of a VM that was silent before a restart; and
    // after one that followed a flush it has too few for rates.
    const isEnough =
      headMs !== undefined &&
      nowMs - headMs <= GAP_TOLERANCE_MS &&
      (head?.timesMs.length ?? 0) >= LATEST_ROWS;
    const stored = isEnough ? undefined : this.#remembered(project, vm, nowMs);
    const rows = newest(mergeRows([stored, head].filter((each) => each !== undefined)));
    const latest = latestOf(rows);
    return latest && latest.observedMs >= nowMs - RETENTION_MS ? latest : undefined;
  }

  #remembered(project: string, vm: string, atMs: number): VmRows | undefined {
    const key = `${project}\n${vm}`;
    if (!this.#stored.has(key)) {
      const days = Math.ceil(RETENTION_MS / 86_400_000);
      const rows = this.#sources.stored({ project, vm, atMs, days });
      this.#stored.set(key, rows && newest(rows));
    }
    return this.#stored.get(key);
  }
}

/**
 * The newest row with those before it; undefined without any. What a row may omit, its state
 * and vCPUs (a source inside the guest knows neither), is of the newest one lately that does.
 */
function latestOf(columns: VmRows): LatestRow | undefined {
  const { timesMs, state, vcpus } = columns;
  const observedMs = timesMs.at(-1);
  if (observedMs === undefined) return undefined;
  const lately = (timeMs: number | undefined): boolean =>
    timeMs !== undefined && observedMs - timeMs <= GAP_TOLERANCE_MS;
  const stated = state.findLastIndex((code, i) => code !== 0 && lately(timesMs[i]));
  const sized = vcpus.findLastIndex((count, i) => !Number.isNaN(count) && lately(timesMs[i]));
  return { observedMs, state: state[stated] ?? 0, vcpus: vcpus[sized] ?? Number.NaN, columns };
}

function newest(rows: VmRows): VmRows {
  const count = rows.timesMs.length;
  return sliceRows(rows, Math.max(0, count - LATEST_ROWS), count);
}

/** Both Unix ms and inclusive. */
export interface NewestTimeRequest {
  readonly project: string;
  readonly vm: string;
  readonly atMs: number;
  readonly notBeforeMs: number;
}

export class NewestTimes {
  readonly #vmId: Statement<[string, string], { id: number }>;
  readonly #ended: Statement<[number, number, number], { endMs: number | null }>;
  readonly #spanning: Statement<[number, number, number, number], { id: number; data: Buffer }>;

  constructor(database: SqliteDatabase) {
    this.#vmId = database.prepare('SELECT id FROM vms WHERE project = ? AND vm = ?');
    this.#ended = database.prepare(
      'SELECT max(end_ms) AS endMs FROM chunks WHERE day = ? AND vm = ? AND end_ms <= ?',
    );
    this.#spanning = database.prepare(
      'SELECT id, data FROM chunks WHERE day = ? AND vm = ? AND start_ms <= ? AND end_ms > ?',
    );
  }

  /** Unix ms; undefined = not observed in that time. Throws `HistoryError` DAMAGED. */
  find({ project, vm, atMs, notBeforeMs }: NewestTimeRequest): number | undefined {
    const id = this.#vmId.get(project, vm)?.id;
    if (id === undefined) return undefined;
    const firstDay = Math.floor(notBeforeMs / DAY_MS);
    for (let day = Math.floor(atMs / DAY_MS); day >= firstDay; day--) {
      let newestMs = this.#ended.get(day, id, atMs)?.endMs ?? Number.NEGATIVE_INFINITY;
      for (const row of this.#spanning.iterate(day, id, atMs, atMs)) {
        newestMs = Math.max(newestMs, newestIn(row, atMs));
      }
      if (newestMs >= notBeforeMs) return newestMs;
    }
    return undefined;
  }
}

function newestIn(row: { readonly id: number; readonly data: Buffer }, atMs: number): number {
  try {
    const timesMs = new Chunk(row.data).timesMs();
    return timesMs[firstAtOrAfter(timesMs, atMs, false) - 1] ?? Number.NEGATIVE_INFINITY;
  } catch (cause) {
    if (!(cause instanceof DamagedBytes)) throw cause;
    throw new HistoryError('DAMAGED', `Chunk ${row.id}: ${cause.message}`, { cause });
  }
}
