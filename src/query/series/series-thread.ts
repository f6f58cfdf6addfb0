/**
 * Everything that one thread keeps to read series: the columns of history and, project by project,
 * what is made of them.
 */
import { ColumnView } from '../../../sqlite/history/columns/column-view.ts';
import type { HistoryShare } from '../../../sqlite/history/history-view.ts';
import type { RecordReader } from '../../../sqlite/record-reader.ts';
import { PLANS_BYTES_MAX, PROJECT_PLANS_BYTES_MAX } from '../limits.ts';
import { ProjectCache } from '../project-cache.ts';
import { HistorySeriesSource } from './history-source.ts';
import type { PlannedSelector } from './planned-selector.ts';
import { ProjectSeries } from './project-series.ts';
import { ReadableKeys } from './readable-key.ts';

/**
 * Decoded columns that a thread keeps, bytes. A week of one series of 200 VMs is 32 MB where the
 * VMs are polled together, else 64 MB: room for what some dashboards show, twice in a process.
 */
const CACHE_BYTES_MAX = 256 * 1024 * 1024;

export interface SeriesThreadOptions {
  readonly share: HistoryShare;
  readonly records: RecordReader;
  readonly cacheBytesMax?: number;
}

export class SeriesThread {
  readonly #view: ColumnView;
  readonly #records: RecordReader;
  readonly #keys = new ReadableKeys();
  readonly #projects = new Map<string, ProjectSeries>();
  readonly #plans = new ProjectCache<PlannedSelector>({
    bytesMax: PLANS_BYTES_MAX,
    projectBytesMax: PROJECT_PLANS_BYTES_MAX,
  });
  #evictions = 0;

  constructor({ share, records, cacheBytesMax = CACHE_BYTES_MAX }: SeriesThreadOptions) {
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
    let series = this.#projects.get(project);
    if (series === undefined) {
      series = new ProjectSeries(project, {
        ...{ view: this.#view, records: this.#records, keys: this.#keys, plans: this.#plans },
      });
      this.#projects.set(project, series);
    }
    series.useRecords(recordsRevision);
    return new HistorySeriesSource({ view: this.#view, project: series, retainedFromMs });
  }

  close(): void {
    this.#view.close();
  }
}
