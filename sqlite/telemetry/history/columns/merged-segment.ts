/**
 * Stored days and the head as one, where rows in the head are older than stored ones: late rows
 * that no flush has taken yet. Kept until either changes; the next flush ends it.
 */
import type { ColumnLayout, PickColumns } from './chunk-columns.ts';
import { type ColumnRun, mergeRuns } from './column-run.ts';
import type { Segment, TakeBytes } from './segment.ts';

export class MergedSegment implements Segment {
  /** In the order in which they prevail. */
  readonly #parts: readonly Segment[];
  readonly #versions: readonly number[];
  readonly #runs = new Map<string, ColumnRun | undefined>();
  readonly #computed = new Map<string, { inputs: number; run: ColumnRun | undefined }>();
  readonly version: number;
  readonly startMs: number;
  readonly endMs: number;

  /** @param version differs from that of every other of the VM */
  constructor(parts: readonly Segment[], version: number) {
    this.#parts = parts;
    this.#versions = parts.map((part) => part.version);
    this.version = version;
    this.startMs = Math.min(...parts.map((part) => part.startMs));
    this.endMs = Math.max(...parts.map((part) => part.endMs));
  }

  /** Is it still made of these, as they are? */
  isOf(parts: readonly Segment[]): boolean {
    return (
      parts.length === this.#parts.length &&
      parts.every((part, i) => part === this.#parts[i] && part.version === this.#versions[i])
    );
  }

  /** It is whole from the beginning. */
  reach(): void {}

  layouts(pick: PickColumns): readonly ColumnLayout[] {
    return this.#parts.flatMap((part) => part.layouts(pick));
  }

  load(columns: readonly string[], take: TakeBytes): void {
    const missing = columns.filter((column) => !this.#runs.has(column));
    if (missing.length === 0) return;
    for (const part of this.#parts) part.load(missing, take);
    for (const column of missing) {
      const runs = this.#parts.flatMap((part) => part.run(column) ?? []);
      const merged = mergeRuns(runs);
      if (merged !== undefined) take(merged.timesMs.byteLength + merged.values.byteLength);
      this.#runs.set(column, merged);
    }
  }

  touch(columns: readonly string[]): void {
    for (const part of this.#parts) part.touch(columns);
  }

  run(column: string): ColumnRun | undefined {
    return this.#runs.get(column);
  }

  computed(name: string, inputs: number, make: () => ColumnRun | undefined): ColumnRun | undefined {
    const known = this.#computed.get(name);
    if (known?.inputs === inputs) return known.run;
    const run = make();
    this.#computed.set(name, { inputs, run });
    return run;
  }
}
