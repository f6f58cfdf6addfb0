/**
 * What a selector found in each VM, kept as long as nothing of it has changed: the same query comes
 * again every half minute, and finds the same stored days each time.
 */
import type { Segment } from '../../../../sqlite/telemetry/history/columns/segment.ts';
import type { StoredSeries } from '../../promql/series-source.ts';
import type { LabelledVm } from './project-series.ts';
import type { ReadableKey } from './readable-key.ts';

/** What a find was made of. */
export interface FindBasis {
  readonly segments: readonly Segment[];
  /** Nothing older exists, Unix ms; only where something would. */
  readonly cutMs: number | undefined;
}

interface Find extends FindBasis {
  readonly versions: readonly number[];
  readonly keys: readonly ReadableKey[];
  readonly series: readonly StoredSeries[];
  /** Of columns that nobody else bounds: rows of the head, as they were then. */
  readonly columnBytes: number;
}

/** Of the objects: measured on a heap. */
const FIND_BYTES = 400;
const SERIES_BYTES = 250;

export class VmFinds {
  readonly #finds = new Map<LabelledVm, Find>();
  #bytes = 0;

  /** Memory that it holds on to, about, bytes; but for what the cache of columns counts. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Forgets everything: what was found holds on to columns that the cache lets go. */
  clear(): void {
    this.#finds.clear();
    this.#bytes = 0;
  }

  /** Forgets what was found in a VM that is labelled anew. */
  drop(vm: LabelledVm): void {
    const known = this.#finds.get(vm);
    if (known === undefined) return;
    this.#finds.delete(vm);
    this.#bytes -= bytesOf(known);
  }

  /** The series found on the same basis; their columns count as used. */
  find(vm: LabelledVm, basis: FindBasis): readonly StoredSeries[] | undefined {
    const known = this.#finds.get(vm);
    if (known === undefined || !isSame(known, basis)) return undefined;
    for (const segment of known.segments) {
      for (const key of known.keys) segment.touch(key.uses);
    }
    return known.series;
  }

  keep(
    vm: LabelledVm,
    basis: FindBasis,
    found: Pick<Find, 'keys' | 'series' | 'columnBytes'>,
  ): void {
    const versions = basis.segments.map(({ version }) => version);
    const before = this.#finds.get(vm);
    if (before !== undefined) this.#bytes -= bytesOf(before);
    this.#finds.set(vm, { ...basis, ...found, versions });
    this.#bytes += bytesOf(found);
  }
}

function bytesOf({ series, columnBytes }: Pick<Find, 'series' | 'columnBytes'>): number {
  return FIND_BYTES + SERIES_BYTES * series.length + columnBytes;
}

function isSame(known: Find, basis: FindBasis): boolean {
  return (
    known.cutMs === basis.cutMs &&
    known.segments.length === basis.segments.length &&
    known.segments.every((segment, i) => {
      return segment === basis.segments[i] && segment.version === known.versions[i];
    })
  );
}
