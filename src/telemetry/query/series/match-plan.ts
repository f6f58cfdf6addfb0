/**
 * A selector's matchers made ready for a project: which of a VM's series it matches is worked out
 * once for all VMs whose rows have the same columns, and labels of the VM once a VM.
 */
import {
  type ColumnLayout,
  ROW_COLUMNS,
} from '../../../../sqlite/telemetry/history/columns/chunk-columns.ts';
import type { LabelPair } from '../../promql/labels.ts';
import type { Matcher } from '../../promql/matcher.ts';
import type { ReadableKey, ReadableKeys } from './readable-key.ts';

/** Labels that every series of a VM has, and none of its own can take the place of. */
export const VM_LABELS: ReadonlySet<string> = new Set(['project', 'vm', 'vm_name', 'datacenter']);

export class MatchPlan {
  readonly #keys: ReadableKeys;
  readonly #ofVm: readonly Matcher[];
  readonly #ofSeries: readonly Matcher[];
  readonly #matched = new WeakMap<ColumnLayout, readonly ReadableKey[]>();
  readonly #columns = new WeakMap<ColumnLayout, readonly string[]>();

  constructor(matchers: readonly Matcher[], keys: ReadableKeys) {
    this.#keys = keys;
    this.#ofVm = matchers.filter(({ label }) => VM_LABELS.has(label));
    this.#ofSeries = matchers.filter(({ label }) => !VM_LABELS.has(label));
  }

  matchesVm(labels: readonly LabelPair[]): boolean {
    return matchesAll(this.#ofVm, labels);
  }

  /** The series that match, of rows with these columns. */
  keysIn(layout: ColumnLayout): readonly ReadableKey[] {
    let matched = this.#matched.get(layout);
    if (matched === undefined) {
      matched = this.#keys.of(layout).filter(({ pairs }) => matchesAll(this.#ofSeries, pairs));
      this.#matched.set(layout, matched);
    }
    return matched;
  }

  /** The columns that those are made of, as far as the rows have them. */
  columnsIn = (layout: ColumnLayout): readonly string[] => {
    let columns = this.#columns.get(layout);
    if (columns === undefined) {
      const wanted = new Set(this.keysIn(layout).flatMap((key) => key.columns));
      columns = [...wanted].filter(
        (column) => layout.keys.has(column) || column === ROW_COLUMNS.boot,
      );
      this.#columns.set(layout, columns);
    }
    return columns;
  };
}

function matchesAll(matchers: readonly Matcher[], labels: readonly LabelPair[]): boolean {
  return matchers.every(({ label, matches }) => {
    return matches(labels.find(([name]) => name === label)?.[1] ?? '');
  });
}
