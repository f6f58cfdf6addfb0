/**
 * An incident's deciding window as a small text chart: samples by value over time, the threshold as a
 * line, and gaps below. Nothing is drawn between two samples, because unobserved times have no value.
 *
 *      96 % |                  *
 *      90 % |------------------------
 *      10 % |  o
 *           +xxxxxxxx~~~~~~~~~~~~~~~~
 */
import { exactQuantity, readingBeside } from '../../../streams/alerting/quantity.ts';

export interface ChartedWindow {
  /** Oldest first. Times are Unix ms. */
  readonly samples: readonly {
    readonly atMs: number;
    readonly value: number;
    readonly breaches: boolean;
  }[];
  readonly gaps: readonly {
    readonly startMs: number;
    readonly endMs: number;
    readonly tolerated: boolean;
  }[];
  readonly threshold: number;
  /** Unit from the metric catalogue. */
  readonly unit: string;
}

const HEIGHT = 8;
const WIDTH_MAX = 60;
/** Minimum duration of a column, ms. */
const COLUMN_MS_MIN = 10_000;

/** Lines without trailing spaces, the legend last; empty if there are no samples. */
export function windowChart(window: ChartedWindow): string[] {
  const { samples, gaps, threshold, unit } = window;
  if (samples.length === 0) return [];
  const times = timesOf(window);
  const columns = Math.min(WIDTH_MAX, Math.ceil((times.endMs - times.startMs) / COLUMN_MS_MIN) + 1);
  const columnOf = (atMs: number): number => {
    const span = times.endMs - times.startMs || 1;
    return Math.round(((atMs - times.startMs) / span) * (columns - 1));
  };
  const values = [...samples.map(({ value }) => value), threshold];
  const rowOf = rowScale(Math.min(...values), Math.max(...values));
  const grid = Array.from({ length: HEIGHT }, () => Array<string>(columns).fill(' '));
  grid[rowOf(threshold)]?.fill('-');
  for (const { atMs, value, breaches } of samples) {
    const row = grid[rowOf(value)];
    if (row) row[columnOf(atMs)] = breaches ? '*' : 'o';
  }
  const axis = Array<string>(columns).fill('-');
  for (const { startMs, endMs, tolerated } of gaps) {
    for (let column = columnOf(startMs) + 1; column < columnOf(endMs); column++) {
      axis[column] = tolerated ? '~' : 'x';
    }
  }
  const labels = new Map([
    [rowOf(Math.max(...values)), readingBeside(Math.max(...values), threshold, unit)],
    [rowOf(Math.min(...values)), readingBeside(Math.min(...values), threshold, unit)],
    [rowOf(threshold), exactQuantity(threshold, unit)],
  ]);
  const width = Math.max(...[...labels.values()].map((label) => label.length));
  const lines = grid.map((cells, row) =>
    `${(labels.get(row) ?? '').padStart(width)} |${cells.join('')}`.trimEnd(),
  );
  return [...lines, `${' '.repeat(width)} +${axis.join('')}`, legend(window)];
}

function timesOf({ samples, gaps }: ChartedWindow): { startMs: number; endMs: number } {
  const startsMs = [...samples.map(({ atMs }) => atMs), ...gaps.map(({ startMs }) => startMs)];
  return { startMs: Math.min(...startsMs), endMs: samples.at(-1)?.atMs ?? 0 };
}

/** Row of a value, 0 at the top; a single value is in the middle. */
function rowScale(min: number, max: number): (value: number) => number {
  if (min === max) return () => Math.floor(HEIGHT / 2);
  return (value) => Math.round(((max - value) / (max - min)) * (HEIGHT - 1));
}

function legend({ samples, gaps }: ChartedWindow): string {
  const parts = [
    '* breaches',
    samples.some(({ breaches }) => !breaches) ? 'o does not' : '',
    '- threshold',
    gaps.some(({ tolerated }) => tolerated) ? '~ gap within the tolerance' : '',
    gaps.some(({ tolerated }) => !tolerated) ? 'x gap beyond it' : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}
