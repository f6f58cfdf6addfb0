/**
 * The series that readers see of a VM, as far as they are the same for every VM: stored ones by
 * their key, and those that follow from what a row says besides (its time, vCPUs, state) or from
 * others. One rule for a series wherever it is read: what a source has sent is as it was sent.
 */
import {
  type ColumnLayout,
  ROW_COLUMNS,
} from '../../../../sqlite/telemetry/history/columns/chunk-columns.ts';
import { WeakValues } from '../../../../sqlite/telemetry/history/weak-values.ts';
import type { SeriesKey } from '../../../../streams/telemetry/samples/batch.ts';
import { parseLabels, splitSeriesKey } from '../../../../streams/telemetry/samples/series-key.ts';
import { type LabelPair, METRIC_NAME } from '../../promql/labels.ts';

export type ReadableKind = 'stored' | 'observed' | 'vcpus' | 'running' | 'utilization' | 'memory';

export interface ReadableKey {
  readonly kind: ReadableKind;
  /** Labels of the series without those of its VM, `__name__` included. */
  readonly pairs: readonly LabelPair[];
  /** Columns it is made of; what the source itself sends of it first. */
  readonly columns: readonly string[];
  /** Those of `columns` that are there, and what was computed of them: in use when it is. */
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

/** Those that are not simply stored. */
const computedKeys: ReadonlyMap<SeriesKey, ReadableKey> = new Map([
  ['svc_vm_last_observation_timestamp_seconds', observed],
  ...COMPUTED.map(([kind, columns]) => {
    const name = columns[0] as string;
    return [name, keyOf(kind, name, columns)] as const;
  }),
]);

const rowColumns: ReadonlySet<string> = new Set(Object.values(ROW_COLUMNS));

/** Keys by their text, each the same as long as anybody has it: label sets are grouped by identity. */
export class ReadableKeys {
  readonly #stored = new WeakValues<SeriesKey, ReadableKey>();

  /** What can be read of rows with these columns. */
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
      known = keyOf('stored', key, [key]);
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

/** Name of what was computed; no column has such a name. */
export function computedName(kind: ReadableKind): string {
  return `\ncomputed ${kind}`;
}

/** Can rows with these columns have it at all? */
function isIn({ kind, columns }: ReadableKey, keys: ReadonlySet<string>): boolean {
  const [sent = '', ...from] = columns.filter((column) => column !== ROW_COLUMNS.boot);
  if (keys.has(sent)) return true;
  return kind !== 'observed' && from.every((column) => keys.has(column));
}
