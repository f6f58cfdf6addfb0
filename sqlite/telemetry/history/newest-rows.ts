/**
 * The newest rows of each VM, also of those that are silent since before the head: what chunks hold
 * of them is unpacked once and remembered, a few rows a VM. That stays right, because rows that
 * come later come through the head, which keeps its newest.
 */
import { GAP_TOLERANCE_MS, RETENTION_MS } from '../../../streams/telemetry/entry.ts';
import type { LatestRow } from '../../../streams/telemetry/samples/columns.ts';
import { mergeRows, sliceRows, type VmRows } from './rows.ts';

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
  readonly #stored = new Map<string, VmRows | undefined>();

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
      if (this.#stored.size >= REMEMBERED_MAX) {
        const [oldest = ''] = this.#stored.keys();
        this.#stored.delete(oldest);
      }
      this.#stored.set(key, rows && newest(rows));
    }
    return this.#stored.get(key);
  }
}

/**
 * The newest row with those before it; undefined without any. What a row need not tell, its state
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
