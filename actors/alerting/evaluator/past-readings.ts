/**
 * The past of a rule marker: the readings that its new rules take into account. The log has the
 * newest of them. A longer window begins in history, which keeps them for days.
 *
 *     [ window begins | history, VM by VM ......... | log, entry by entry ..... | marker ]
 *                                                   ^ first batch of the partition, and the most
 *                                                     by which a VM's clock may be ahead
 *
 * The log adds only readings that were observed after the VM's newest one from history, so that
 * none counts twice. History does not know when a reading arrived: one that was too late for the
 * rules in force then counts here.
 */
import { pastFromMs } from '../../../streams/alerting/evaluation/catch-up.ts';
import type { PlacedMarker } from '../../../streams/alerting/evaluation/pipeline.ts';
import type { TimeSlices } from '../../../streams/platform/operators.ts';
import type { Stream } from '../../../streams/platform/stream.ts';
import { type EvaluationRule, FUTURE_MS, type LogEntry } from '../../../streams/telemetry/entry.ts';
import { metricCatalogue } from '../../../streams/telemetry/metrics/catalogue.ts';
import { seriesNamesOf } from '../../../streams/telemetry/metrics/query.ts';
import type { VmRef } from '../../../streams/telemetry/samples/batch.ts';
import type { VmColumns } from '../../../streams/telemetry/samples/columns.ts';
import { rowBatches } from '../../../streams/telemetry/samples/row-batches.ts';
import { rowsAfter } from '../../../streams/telemetry/samples/rows-after.ts';
import { firstBatchOf, pastEntries } from '../../telemetry/sample-log.ts';

/** The part of history that catch-up reads. */
export interface PastHistory {
  /**
   * Rows of a VM within retention, both times inclusive, with the series of these names. Rejects if
   * they are damaged; those that are not readable yet are missing.
   */
  read(request: {
    readonly project: string;
    readonly vm: string;
    readonly fromMs: number;
    readonly toMs: number;
    readonly names: readonly string[];
    readonly mayLackRows: true;
  }): Promise<VmColumns>;
}

export interface PastReadingsDeps {
  readonly stream: Stream;
  /** VMs of a project, including retired ones. */
  readonly vms: (project: string) => Iterable<string>;
  /** Absent: the log is all there is. */
  readonly history?: Partial<PastHistory>;
  /**
   * Called when VMs could not be read; they keep the readings of the log. Absent: that ends the
   * run.
   */
  readonly onFault?: (what: string, error: unknown) => void;
}

/**
 * Batches with the readings before the marker within the windows of its rules, in the order of each
 * VM's observations in history, and of the log after it. A batch is valid until the next one is
 * requested. If history reaches back less far, the rules get fewer readings. Rejects with
 * `StreamUnavailable`.
 */
export async function* pastReadings(
  deps: PastReadingsDeps,
  marker: PlacedMarker,
  slices: TimeSlices,
): AsyncGenerator<LogEntry> {
  const { stream, history } = deps;
  const { partition, storedMs, entry } = marker;
  const fromMs = pastFromMs(entry, storedMs);
  const newest = new NewestReadings();
  // Repeated if the log was truncated during the read: history has the lost entries.
  for (let known = 0; history?.read; ) {
    const first = (await firstBatchOf(stream, partition)) ?? marker;
    if (first.storedMs <= fromMs || first.sequence === known) break;
    known = first.sequence;
    const range = { fromMs, toMs: Math.min(first.storedMs + FUTURE_MS, storedMs) };
    yield* storedReadings(deps, marker, { range, newest }, slices);
  }
  const filter = { partition, kind: 'batch' } as const;
  for await (const before of pastEntries(stream, { timeMs: fromMs }, filter)) {
    if (before.sequence >= marker.sequence) return;
    if (before.unreadable) throw before.unreadable;
    if (before.entry.kind !== 'batch') continue;
    const batch = rowsAfter(before.entry.batch, (vm) => newest.of(vm));
    if (batch) yield { kind: 'batch', batch };
    await slices.yieldIfDue();
  }
}

/** Time of each VM's newest reading from history, Unix ms. */
class NewestReadings {
  readonly #byProject = new Map<string, Map<string, number>>();

  of({ project, vm }: VmRef): number {
    return this.#byProject.get(project)?.get(vm) ?? Number.NEGATIVE_INFINITY;
  }

  set({ project, vm }: VmRef, timeMs: number): void {
    const vms = this.#byProject.get(project) ?? new Map<string, number>();
    this.#byProject.set(project, vms.set(vm, timeMs));
  }
}

interface StoredPart {
  /** Both inclusive, Unix ms. */
  readonly range: { readonly fromMs: number; readonly toMs: number };
  readonly newest: NewestReadings;
}

/** Rows of all VMs of the marker's rules, one VM in memory at a time. */
async function* storedReadings(
  { vms, history, onFault }: PastReadingsDeps,
  { entry }: PlacedMarker,
  { range, newest }: StoredPart,
  slices: TimeSlices,
): AsyncGenerator<LogEntry> {
  if (!history?.read) return;
  const unread: { readonly vm: string; readonly error: unknown }[] = [];
  // Rules of another version of this program may name metrics that have no instances here.
  const known = entry.upserts.filter(({ metricId }) => metricCatalogue.has(metricId));
  for (const [project, rules] of Map.groupBy(known, (rule) => rule.project)) {
    const names = [...new Set(rules.flatMap(({ metricId }) => seriesNamesOf(metricId)))];
    for (const vm of watchedOf(vms(project), rules)) {
      await slices.yieldIfDue();
      const fromMs = Math.max(range.fromMs, newest.of({ project, vm }) + 1);
      const read = history.read({ project, vm, ...range, fromMs, names, mayLackRows: true });
      const columns = await read.catch((error: unknown) => {
        if (!onFault) throw error;
        unread.push({ vm: `${vm} in ${project}`, error });
      });
      const last = columns?.timesMs.at(-1);
      if (!columns || last === undefined) continue;
      newest.set({ project, vm }, last);
      for (const batch of rowBatches(columns, { project, vm })) {
        // History has no sequence of the source. This one never shows that a clock was set back.
        batch.sequence[0] = Number.MAX_SAFE_INTEGER;
        yield { kind: 'batch', batch };
        await slices.yieldIfDue();
      }
    }
  }
  const [one] = unread;
  if (one) onFault?.(`a new rule over the past of ${unread.length} VMs, as ${one.vm},`, one.error);
}

/** The VMs that any of the rules watches. */
function watchedOf(all: Iterable<string>, rules: readonly EvaluationRule[]): string[] {
  if (rules.some(({ vms }) => vms === undefined)) return [...all];
  const named = new Set(rules.flatMap(({ vms = [] }) => vms));
  return [...all].filter((vm) => named.has(vm));
}
