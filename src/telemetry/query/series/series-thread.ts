/**
 * Everything that one thread keeps to read series: the columns of history and, for each project,
 * what is made of them. All of it is bounded; the projects that were queried longest ago go first.
 */

import type { RecordReader } from '../../../../sqlite/platform/control/record-reader.ts';
import { ColumnView } from '../../../../sqlite/telemetry/history/columns/column-view.ts';
import type { HistoryShare } from '../../../../sqlite/telemetry/history/store/history-view.ts';
import { CACHE_BYTES_MAX, PLANS_BYTES_MAX, PROJECT_PLANS_BYTES_MAX } from '../threads/limits.ts';
import { HistorySeriesSource } from './history-source.ts';
import { ProjectCache } from './project-cache.ts';
import { type PlannedSelector, ProjectSeries } from './project-series.ts';
import { ReadableKeys } from './readable-series.ts';

/** Label sets that a thread keeps for all projects, some 250 bytes each: a fifth of its heap. */
const LABEL_SETS_MAX = 400_000;

export interface SeriesThreadOptions {
  readonly share: HistoryShare;
  readonly records: RecordReader;
  readonly cacheBytesMax?: number;
  /** Default 400,000. */
  readonly labelSetsMax?: number;
}

export class SeriesThread {
  readonly #view: ColumnView;
  readonly #records: RecordReader;
  readonly #keys = new ReadableKeys();
  readonly #labelSetsMax: number;
  /** Asked for longest ago first. */
  readonly #projects = new Map<string, ProjectSeries>();
  readonly #plans = new ProjectCache<PlannedSelector>({
    bytesMax: PLANS_BYTES_MAX,
    projectBytesMax: PROJECT_PLANS_BYTES_MAX,
  });
  #evictions = 0;

  constructor(options: SeriesThreadOptions) {
    const { share, records, cacheBytesMax = CACHE_BYTES_MAX } = options;
    this.#labelSetsMax = options.labelSetsMax ?? LABEL_SETS_MAX;
    this.#view = new ColumnView({ share, cacheBytesMax });
    this.#records = records;
  }

  /**
   * The series of one project, for one query.
   * @param recordsRevision changes whenever a record of one of the project's VMs does
   * @param retainedFromMs samples before it do not exist, Unix ms
   */
  open(project: string, recordsRevision: number, retainedFromMs: number): HistorySeriesSource {
    const { cache } = this.#view;
    cache.tick();
    if (cache.evictions !== this.#evictions) {
      this.#evictions = cache.evictions;
      for (const { finds } of this.#plans.values()) finds.clear();
      this.#plans.recount();
    }
    this.#letGo(project);
    const series =
      this.#projects.get(project) ??
      new ProjectSeries(project, {
        ...{ view: this.#view, records: this.#records, keys: this.#keys, plans: this.#plans },
      });
    this.#projects.delete(project);
    this.#projects.set(project, series);
    series.useRecords(recordsRevision);
    return new HistorySeriesSource({ view: this.#view, project: series, retainedFromMs });
  }

  /** Between two queries: whole projects until there is room, the one that is asked for last. */
  #letGo(asked: string): void {
    let count = 0;
    for (const { labelSets } of this.#projects.values()) count += labelSets;
    const others = [...this.#projects.keys()].filter((project) => project !== asked);
    for (const project of [...others, asked]) {
      if (count <= this.#labelSetsMax) return;
      count -= this.#projects.get(project)?.labelSets ?? 0;
      this.#projects.delete(project);
      // What they found names VMs that are no longer known.
      this.#plans.forget(project);
    }
  }

  close(): void {
    this.#view.close();
  }
}
