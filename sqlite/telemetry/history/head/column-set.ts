/**
 * The series that have a column in a VM's slab, in order. Sets are shared between VMs and grow by
 * one series at a time along recorded steps, so that similar VMs share one set, and one mapping for
 * each layout.
 */
import type { Layout, SeriesKey } from '../../../../streams/telemetry/samples/batch.ts';
import { WeakValues } from '../weak-values.ts';

export class ColumnSet {
  readonly keys: readonly SeriesKey[];
  readonly #index: ReadonlyMap<SeriesKey, number>;
  readonly #next = new WeakValues<SeriesKey, ColumnSet>();
  readonly #mappings = new WeakMap<Layout, Uint32Array | 'incomplete'>();

  constructor(keys: readonly SeriesKey[] = []) {
    this.keys = keys;
    this.#index = new Map(keys.map((key, i) => [key, i]));
  }

  /** Column of each series of the layout; undefined when a series has no column here. */
  mapping(layout: Layout): Uint32Array | undefined {
    let mapping = this.#mappings.get(layout);
    if (mapping === undefined) {
      const columns = layout.series.map((key) => this.#index.get(key) ?? -1);
      mapping = columns.includes(-1) ? 'incomplete' : Uint32Array.from(columns);
      this.#mappings.set(layout, mapping);
    }
    return mapping === 'incomplete' ? undefined : mapping;
  }

  /** The set extended by a column for each missing series of the layout. */
  with(layout: Layout): ColumnSet {
    let set: ColumnSet = this;
    for (const key of layout.series) {
      if (!set.#index.has(key)) set = set.#extended(key);
    }
    return set;
  }

  #extended(key: SeriesKey): ColumnSet {
    const known = this.#next.get(key);
    if (known !== undefined) return known;
    const extended = new ColumnSet([...this.keys, key]);
    this.#next.set(key, extended);
    return extended;
  }
}
