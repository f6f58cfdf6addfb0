/**
 * A source of series in memory, for tests of the engine: a selection finds exactly the added
 * series. It is split into runs of a chosen length, so that most windows cross the end of a run.
 */
import type { Budget } from '../../../src/telemetry/promql/budget.ts';
import type {
  Selection,
  SeriesSource,
  StoredSeries,
} from '../../../src/telemetry/promql/series-source.ts';
import {
  type Labels,
  type SampleRun,
  STORED_SERIES_BYTES,
} from '../../../src/telemetry/promql/values.ts';

/** `'stale'`: the series ended here (a stale marker). */
export interface MemorySample {
  /** Unix ms. */
  readonly timeMs: number;
  readonly value: number | 'stale';
}

interface MemorySeries {
  readonly labels: Labels;
  readonly samples: Map<number, number | 'stale'>;
  runs: readonly SampleRun[] | null;
}

export class MemorySource implements SeriesSource {
  readonly #runSamplesMax: number;
  readonly #series = new Map<string, MemorySeries>();

  /** `runSamplesMax`: maximum number of samples in a run. */
  constructor(runSamplesMax = 120) {
    this.#runSamplesMax = runSamplesMax;
  }

  /**
   * Adds samples in any order to those of the series. A second sample at a time replaces the first.
   */
  add(labels: Labels, samples: Iterable<MemorySample>): void {
    let series = this.#series.get(labels.key);
    if (series === undefined) {
      series = { labels, samples: new Map(), runs: null };
      this.#series.set(labels.key, series);
    }
    for (const { timeMs, value } of samples) series.samples.set(timeMs, value);
    series.runs = null;
  }

  clear(): void {
    this.#series.clear();
  }

  /** All series, in the order in which they were first added. */
  get labels(): readonly Labels[] {
    return [...this.#series.values()].map(({ labels }) => labels);
  }

  /** Whole runs that overlap the range; the arrays extend beyond it. */
  select({ matchers, afterMs, throughMs }: Selection, budget: Budget): readonly StoredSeries[] {
    const found: StoredSeries[] = [];
    for (const series of this.#series.values()) {
      if (!matchers.every(({ label, matches }) => matches(series.labels.get(label)))) continue;
      series.runs ??= runsOf(series.samples, this.#runSamplesMax);
      const runs = series.runs.filter(
        ({ timesMs }) => Number(timesMs[0]) <= throughMs && Number(timesMs.at(-1)) > afterMs,
      );
      if (runs.length === 0) continue;
      budget.takeBytes(STORED_SERIES_BYTES);
      found.push({ labels: series.labels, runs });
    }
    budget.check();
    return found;
  }
}

function runsOf(samples: ReadonlyMap<number, number | 'stale'>, samplesMax: number): SampleRun[] {
  const inOrder = [...samples].sort(([a], [b]) => a - b);
  const runs: SampleRun[] = [];
  for (let from = 0; from < inOrder.length; from += samplesMax) {
    const part = inOrder.slice(from, from + samplesMax);
    const isStale = part.map(([, value]) => value === 'stale');
    runs.push({
      timesMs: Float64Array.from(part, ([timeMs]) => timeMs),
      values: Float64Array.from(part, ([, value]) => (value === 'stale' ? Number.NaN : value)),
      stale: isStale.includes(true) ? Uint8Array.from(isStale, Number) : null,
    });
  }
  return runs;
}
