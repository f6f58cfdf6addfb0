/**
 * The series that readers see of a VM: stored ones by their key, and those derived from a row's
 * time, vCPUs and state or from other series. One rule applies wherever a series is read: a series
 * sent by a source is returned as sent, without impossible readings.
 */
import {
  BOOT_ORIGINS,
  type ColumnLayout,
  ROW_COLUMNS,
} from '../../../../sqlite/telemetry/history/columns/chunk-columns.ts';
import {
  type ColumnRun,
  mergeRuns,
  runFrom,
  runOf,
} from '../../../../sqlite/telemetry/history/columns/column-run.ts';
import type { Segment, TakeBytes } from '../../../../sqlite/telemetry/history/columns/segment.ts';
import { WeakValues } from '../../../../sqlite/telemetry/history/weak-values.ts';
import { GAP_TOLERANCE_MS } from '../../../../streams/telemetry/entry.ts';
import { metricCatalogue } from '../../../../streams/telemetry/metrics/catalogue.ts';
import { derive, type InputRow, newDerived } from '../../../../streams/telemetry/metrics/derive.ts';
import { isPossible, seriesBound } from '../../../../streams/telemetry/metrics/possible.ts';
import {
  parseLabels,
  type SeriesKey,
  splitSeriesKey,
  VM_STATES,
} from '../../../../streams/telemetry/samples/batch.ts';
import { bootOf } from '../../../../streams/telemetry/samples/boot.ts';
import { type LabelPair, METRIC_NAME } from '../../promql/values.ts';

/**
 * How the values of a readable series are made: as stored, from a row's own fields, or computed
 * from other series.
 */
export type ReadableKind = 'stored' | 'observed' | 'vcpus' | 'running' | 'utilization' | 'memory';

/** One series that a reader can select, with the columns that it needs. */
export interface ReadableKey {
  readonly kind: ReadableKind;
  /** Labels of the series without those of its VM; includes `__name__`. */
  readonly pairs: readonly LabelPair[];
  /** Source columns; the column that the source itself sends for it is first. */
  readonly columns: readonly string[];
  /** Columns that exist, and computed values in the cache: in use whenever the series is. */
  readonly uses: readonly string[];
}

/** Columns of the derivations, in the order in which `readable-run.ts` takes them. */
const COMPUTED: readonly (readonly [kind: ReadableKind, columns: readonly string[]])[] = [
  ['vcpus', ['svc_vm_vcpus', ROW_COLUMNS.vcpus]],
  ['running', ['svc_vm_running', ROW_COLUMNS.state]],
  [
    'utilization',
    ['svc_vm_cpu_utilization_pct', 'svc_vm_cpu_seconds_total', ROW_COLUMNS.vcpus, ROW_COLUMNS.boot],
  ],
  ['memory', ['svc_vm_memory_used_bytes', 'svc_vm_memory_total_bytes', 'svc_vm_memory_free_bytes']],
];

const observed = keyOf('observed', 'svc_vm_last_observation_timestamp_seconds', [
  ROW_COLUMNS.observed,
]);

/** Keys of series that are not simply stored. */
const computedKeys: ReadonlyMap<SeriesKey, ReadableKey> = new Map([
  ['svc_vm_last_observation_timestamp_seconds', observed],
  ...COMPUTED.map(([kind, columns]) => {
    const name = columns[0] as string;
    return [name, keyOf(kind, name, columns)] as const;
  }),
]);

const rowColumns: ReadonlySet<string> = new Set(Object.values(ROW_COLUMNS));

/**
 * Keys by their text; the same object as long as anything refers to it: label sets are grouped by
 * identity.
 */
export class ReadableKeys {
  /** Keys of series that are not simply stored, whether or not rows have their columns. */
  readonly computed: readonly ReadableKey[] = [...computedKeys.values()];
  readonly #stored = new WeakValues<SeriesKey, ReadableKey>();

  /** Keys that can be read from rows with these columns. */
  of({ keys }: ColumnLayout): ReadableKey[] {
    const found: ReadableKey[] = [];
    for (const key of keys) {
      if (!rowColumns.has(key) && !computedKeys.has(key)) found.push(this.#storedKey(key));
    }
    for (const key of computedKeys.values()) if (isIn(key, keys)) found.push(key);
    return found;
  }

  #storedKey(key: SeriesKey): ReadableKey {
    let known = this.#stored.get(key);
    if (known === undefined) {
      const of = seriesBound(key)?.of;
      known = keyOf('stored', key, of === undefined ? [key] : [key, of]);
      this.#stored.set(key, known);
    }
    return known;
  }
}

function keyOf(kind: ReadableKind, key: SeriesKey, columns: readonly string[]): ReadableKey {
  const { name, labels } = splitSeriesKey(key);
  const pairs: LabelPair[] = [[METRIC_NAME, name], ...Object.entries(parseLabels(labels))];
  return { kind, pairs, columns, uses: [...columns, computedName(kind)] };
}

/** Cache name of a computed series; no column has such a name. */
function computedName(kind: ReadableKind): string {
  return `\ncomputed ${kind}`;
}

/** True if rows with these columns can have the series at all. */
function isIn({ kind, columns }: ReadableKey, keys: ReadonlySet<string>): boolean {
  const [sent = '', ...from] = columns.filter((column) => column !== ROW_COLUMNS.boot);
  if (keys.has(sent)) return true;
  return kind !== 'observed' && from.every((column) => keys.has(column));
}

const RUNNING = VM_STATES.indexOf('RUNNING');

/** A segment and the one before it: a utilization looks back to the previous observation. */
export interface Place {
  readonly segment: Segment;
  readonly before: Segment | undefined;
}

/**
 * Dependencies of making a run: memory is requested before it is used, so that a budget can reject
 * it.
 */
export interface RunDeps {
  readonly take: TakeBytes;
}

/** undefined = no sample. Throws like `Segment.load`. */
export function readableRun(key: ReadableKey, place: Place, deps: RunDeps): ColumnRun | undefined {
  const { segment } = place;
  const [sent = '', ...from] = key.columns;
  if (key.kind === 'utilization') return utilizationRun(key, place, deps);
  segment.load(key.columns, deps.take);
  const reported = possibleRun(sent, segment, deps);
  const inputs = from.map((column) => segment.run(column));
  if (key.kind === 'stored' || inputs.includes(undefined)) return reported;
  if (key.kind === 'observed') return reported;
  if (key.kind === 'vcpus' && reported === undefined) return inputs[0];
  return segment.computed(computedName(key.kind), 0, () => {
    const [first, second] = inputs as [ColumnRun, ColumnRun];
    const derived =
      key.kind === 'running' ? running(first) : key.kind === 'memory' ? less(first, second) : first;
    const runs = [reported, derived].filter((run) => run !== undefined);
    const merged = mergeRuns(runs);
    if (merged) deps.take(merged.values.byteLength * 2);
    return merged;
  });
}

function running({ timesMs, values }: ColumnRun): ColumnRun {
  const flags = values.map((state) => (state === RUNNING ? 1 : 0));
  return { timesMs, values: flags, stale: null };
}

/**
 * The stored readings of a loaded column without the impossible ones. A copy is made, and cached,
 * only if there are any.
 */
function possibleRun(key: SeriesKey, segment: Segment, deps: RunDeps): ColumnRun | undefined {
  const run = segment.run(key);
  const bound = seriesBound(key);
  if (run === undefined || bound === undefined) return run;
  const others = bound.of === undefined ? undefined : segment.run(bound.of);
  const at = new Cursor(others);
  const { timesMs, values } = run;
  const isKept = values.map((value, i) => {
    return isPossible(value, bound, at.valueAt(timesMs[i] as number)) ? 1 : 0;
  });
  if (!isKept.includes(0)) return run;
  return segment.computed(`\npossible ${key}`, 0, () => {
    const kept = runOf(
      timesMs,
      values.map((value, i) => (isKept[i] === 1 ? value : Number.NaN)),
    );
    if (kept) deps.take(kept.values.byteLength * 2);
    return kept;
  });
}

/** Total minus free where both were observed; an impossible difference gives no reading. */
function less(total: ColumnRun, free: ColumnRun): ColumnRun | undefined {
  const values = new Float64Array(total.values.length);
  const freeAt = new Cursor(free);
  const bound = seriesBound('svc_vm_memory_used_bytes');
  if (bound === undefined) throw new Error('The catalogue has no memory_used_bytes');
  for (let i = 0; i < values.length; i++) {
    const used = (total.values[i] as number) - freeAt.valueAt(total.timesMs[i] as number);
    values[i] = isPossible(used, bound, total.values[i] as number) ? used : Number.NaN;
  }
  return runOf(total.timesMs, values);
}

function utilizationRun(
  key: ReadableKey,
  { segment, before }: Place,
  deps: RunDeps,
): ColumnRun | undefined {
  const [gauge = '', counter = ''] = key.columns;
  const fromMs = segment.startMs - GAP_TOLERANCE_MS;
  const earlier = before !== undefined && before.endMs >= fromMs ? before : undefined;
  const hasCounter = segment.layouts(() => []).some(({ keys }) => keys.has(counter));
  if (!hasCounter) {
    segment.load([gauge], deps.take);
    return possibleRun(gauge, segment, deps);
  }
  return segment.computed(computedName(key.kind), earlier?.version ?? 0, () => {
    segment.load(key.columns, deps.take);
    earlier?.load(key.columns, deps.take);
    const inputs = key.columns.map((column) => {
      const tail = earlier?.run(column);
      const runs = [tail && runFrom(tail, fromMs), segment.run(column)];
      return mergeRuns(runs.filter((run) => run !== undefined));
    });
    const run = utilization(inputs, segment.startMs);
    if (run) deps.take(run.values.byteLength * 2);
    return run;
  });
}

/** One row, overwritten again and again. */
interface Row extends InputRow {
  readonly row: {
    observedMs: number;
    boot: string;
    vcpus: number;
    readonly state: number;
    readonly values: [gauge: number, counter: number];
  };
}

function newRow(input: InputRow['input']): Row {
  const none = Number.NaN;
  return { row: { observedMs: 0, boot: '', vcpus: none, state: 0, values: [none, none] }, input };
}

/** `inputs`: gauge, counter, vCPUs and boot. Values before `fromMs` only lead up to the first. */
function utilization(
  inputs: readonly (ColumnRun | undefined)[],
  fromMs: number,
): ColumnRun | undefined {
  const derivation = metricCatalogue.get('cpu_utilization_pct')?.derivation;
  if (derivation === undefined) throw new Error('The catalogue has no cpu_utilization_pct');
  const [gauge, counter, vcpus, boot] = inputs;
  const timesMs = timesOf(gauge, counter);
  const values = new Float64Array(timesMs.length).fill(Number.NaN);
  const cursors = inputs.map((run) => new Cursor(run));
  const [gaugeAt, counterAt, vcpusAt, bootAt] = cursors as [Cursor, Cursor, Cursor, Cursor];
  const input = { labels: '', slots: [0, 1], keys: [] };
  let [before, after] = [newRow(input), newRow(input)];
  let earlier: Row | undefined;
  const out = newDerived();
  for (let i = 0; i < timesMs.length; i++) {
    const timeMs = timesMs[i] as number;
    const { row } = after;
    row.observedMs = timeMs;
    row.values[0] = gaugeAt.valueAt(timeMs);
    row.values[1] = counterAt.valueAt(timeMs);
    row.vcpus = vcpus ? vcpusAt.valueAt(timeMs) : Number.NaN;
    row.boot = boot ? bootText(bootAt.valueAt(timeMs), earlier?.row.boot ?? '') : '';
    const value = derive(derivation, earlier, after, out);
    if (timeMs >= fromMs) values[i] = value;
    earlier = after;
    [before, after] = [after, before];
  }
  return runOf(timesMs, values);
}

/** Boot for the comparison in a derivation: the same text for the same number, '' for none. */
function bootText(boot: number, before: string): string {
  if (Number.isNaN(boot)) return '';
  if (Number(before) === boot) return before;
  const origin = boot % BOOT_ORIGINS;
  return origin === 0 ? String(boot) : bootOf(String(boot), String(origin));
}

/** Times at which either of the two was observed. */
function timesOf(a: ColumnRun | undefined, b: ColumnRun | undefined): Float64Array {
  const merged = mergeRuns([a, b].filter((run) => run !== undefined));
  if (a === undefined || b === undefined) return merged?.timesMs ?? new Float64Array(0);
  return mergeTimes(a, b);
}

function mergeTimes(a: ColumnRun, b: ColumnRun): Float64Array {
  return Float64Array.from(new Set([...a.timesMs, ...b.timesMs])).sort();
}

/** Values by time, for increasing times. */
class Cursor {
  readonly #run: ColumnRun | undefined;
  #at = 0;

  constructor(run: ColumnRun | undefined) {
    this.#run = run;
  }

  /** NaN if nothing was observed at exactly this time. */
  valueAt(timeMs: number): number {
    if (this.#run === undefined) return Number.NaN;
    const { timesMs, values } = this.#run;
    while ((timesMs[this.#at] as number) < timeMs) this.#at++;
    return timesMs[this.#at] === timeMs ? (values[this.#at] as number) : Number.NaN;
  }
}
