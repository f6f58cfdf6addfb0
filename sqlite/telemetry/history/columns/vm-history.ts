/**
 * One VM's history as columns: its stored days and its part of the head, as segments that follow
 * each other.
 */

import { GAP_TOLERANCE_MS } from '../../../../streams/telemetry/entry.ts';
import type { HeadPlace } from '../head/shared-head.ts';
import type { PickColumns } from './chunk-columns.ts';
import type { ChunkPlace } from './chunk-directory.ts';
import { DayColumns, type DayDeps } from './day-columns.ts';
import { type HeadDeps, HeadSegment, MergedSegment } from './head-segment.ts';
import type { Segment } from './segment.ts';

export class VmHistory {
  readonly project: string;
  readonly vm: string;
  /** Rising. */
  readonly #days: DayColumns[] = [];
  #head: HeadSegment | undefined;
  #merged: MergedSegment | undefined;
  #mergedCount = 0;

  constructor(project: string, vm: string) {
    this.project = project;
    this.vm = vm;
  }

  /** Number of the VM in the file, once it has one there. */
  id: number | undefined;

  /** UTC days with stored rows, rising. */
  days(): readonly number[] {
    return this.#days.map(({ day }) => day);
  }

  /** Time of the newest row, Unix ms; -Infinity without any. */
  get endMs(): number {
    const stored = this.#days.at(-1)?.endMs ?? Number.NEGATIVE_INFINITY;
    return Math.max(stored, this.#head?.endMs ?? Number.NEGATIVE_INFINITY);
  }

  /** Has it no rows, neither stored nor in the head? */
  get isGone(): boolean {
    return this.#head === undefined && this.#days.length === 0;
  }

  setPlace(place: HeadPlace, deps: HeadDeps): void {
    this.#head = new HeadSegment(place, deps);
  }

  /** The VM has left the head. */
  leaveHead(): void {
    this.#head = undefined;
    this.#merged = undefined;
  }

  setDay(day: number, chunks: readonly ChunkPlace[], deps: DayDeps): void {
    const place = this.#days.findIndex((one) => one.day >= day);
    const known = this.#days[place];
    if (chunks.length === 0) {
      if (known?.day === day) this.#drop(place, 1);
    } else if (known?.day === day) known.replace(chunks);
    else {
      const added = new DayColumns(day, deps);
      added.replace(chunks);
      this.#days.splice(place < 0 ? this.#days.length : place, 0, added);
    }
  }

  dropDaysBefore(day: number): void {
    const first = this.#days.findIndex((one) => one.day >= day);
    const gone = first < 0 ? this.#days.length : first;
    this.#drop(0, gone);
  }

  /** Brings the head's part up to date. Always before the stored part (`history-view.ts`). */
  refreshHead(pick: PickColumns): void {
    this.#head?.refresh(pick);
  }

  /**
   * Segments with rows in [fromMs, toMs], and the one before them; oldest first. Their columns
   * reach back to the observation before `fromMs`, and need not reach further.
   */
  segments(fromMs: number, toMs: number): readonly Segment[] {
    const all = this.#all();
    let first = all.findIndex((segment) => segment.endMs >= fromMs);
    if (first < 0) return [];
    let end = all.length;
    while (end > first && (all[end - 1] as Segment).startMs > toMs) end--;
    if (end === first) return [];
    if (first > 0) first--;
    const found = all.slice(first, end);
    for (const segment of found) segment.reach(fromMs - GAP_TOLERANCE_MS);
    return found;
  }

  #all(): readonly Segment[] {
    const head = this.#head;
    if (head === undefined || head.isEmpty) return this.#days;
    const first = this.#days.findIndex((day) => day.endMs >= head.startMs);
    if (first < 0) return [...this.#days, head];
    const parts = [...this.#days.slice(first), head];
    for (const part of parts) part.reach(Number.NEGATIVE_INFINITY);
    if (this.#merged?.isOf(parts) !== true) {
      this.#merged = new MergedSegment(parts, ++this.#mergedCount);
    }
    return [...this.#days.slice(0, first), this.#merged];
  }

  #drop(from: number, count: number): void {
    for (const day of this.#days.splice(from, count)) day.end();
    if (count > 0) this.#merged = undefined;
  }
}
