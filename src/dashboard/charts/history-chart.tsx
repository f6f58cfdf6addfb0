/**
 * The history of one metric: a canvas, a cursor for the arrow keys, and an equivalent table.
 * Averages are labelled and show their extremes. Gaps are hatched and explained in words.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type Column, Table } from '../components/table.tsx';
import { nowMs } from '../data/clock.ts';
import { format } from '../data/preferences.ts';
import { texts } from '../messages/en.ts';
import {
  formatClock,
  formatDay,
  formatDuration,
  formatReading,
  formatTime,
} from '../messages/format.ts';
import { gapReason } from './gap-reasons.ts';
import { gapAt, type HistoryData, newestAt, SAMPLING_SECONDS } from './history-data.ts';
import { LimitLine, type MovableLimit } from './limit-line.tsx';
import type { Plot, PlotArea } from './plot.ts';
import { useWidth } from './use-width.ts';

/**
 * Data and options of the chart. Without `onSelect` no range can be selected; without `movable` no
 * limit can be moved.
 */
export interface HistoryChartProps {
  /** Display name of the metric: `CPU`. */
  readonly label: string;
  readonly unit: string;
  readonly data: HistoryData;
  /** Called with the selected range, Unix seconds. */
  readonly onSelect?: (startUnix: number, endUnix: number) => void;
  /** Resets a selected range; absent if there is none. */
  readonly onReset?: (() => void) | undefined;
  /** Thresholds drawn as horizontal lines. */
  readonly limits?: readonly number[];
  /** The one limit that can be moved, by pointer or arrow keys. */
  readonly movable?: MovableLimit;
  readonly height?: number;
}

/** Chart, table and keyboard cursor. Loads nothing: `data` comes from `history-data.ts`. */
export function HistoryChart(props: HistoryChartProps): VNode {
  const { label, unit, data, onReset, movable } = props;
  const isTable = useSignal(false);
  const area = useSignal<PlotArea | undefined>(undefined);
  const at = useSignal<number | undefined>(undefined);
  const { stepSeconds, columns } = data;
  const step = formatDuration(stepSeconds);
  const note = columns.some(({ least }) => least !== undefined)
    ? texts.chart.averageWithExtremes(step)
    : texts.chart.averageOf(step);
  return (
    <figure class="history-chart">
      <figcaption>
        <strong>{label}</strong>
        <span class="weak note">
          {stepSeconds > SAMPLING_SECONDS ? note : texts.chart.every(step)}
        </span>
        <span class="chart-actions">
          {onReset && (
            <button type="button" class="quiet" onClick={onReset}>
              {texts.chart.resetRange}
            </button>
          )}
          <button
            type="button"
            class="quiet"
            aria-pressed={isTable.value}
            onClick={() => {
              isTable.value = !isTable.value;
            }}
          >
            {isTable.value ? texts.chart.showChart : texts.chart.showTable}
          </button>
        </span>
      </figcaption>
      {isTable.value ? (
        <HistoryTable data={data} unit={unit} label={label} />
      ) : (
        <div class="plot-box">
          <Canvas {...props} at={at} area={area} />
          {movable && area.value && <LimitLine {...movable} unit={unit} area={area.value} />}
        </div>
      )}
      <output class="reading">
        {at.value === undefined ? lastText(data, unit) : readingText(data, at.value, unit)}
      </output>
      {columns.length > 1 && (
        <ul class="legend">
          {columns.map(({ name }, i) => (
            <li key={name}>
              <span class={`key series-${(i % 6) + 1}`} aria-hidden="true" />
              {name}
            </li>
          ))}
        </ul>
      )}
      <Gaps data={data} />
    </figure>
  );
}

interface CanvasProps extends HistoryChartProps {
  readonly at: { value: number | undefined };
  readonly area: { value: PlotArea | undefined };
}

function Canvas(props: CanvasProps): VNode {
  const { label, unit, data, at, onReset } = props;
  const box = useRef<HTMLDivElement>(null);
  const pointAt = usePlot(box, props);
  const count = data.times.length;
  const current = Math.min(at.value ?? count - 1, count - 1);
  const keys: Readonly<Record<string, number>> = {
    ArrowRight: current + 1,
    ArrowLeft: current - 1,
    PageDown: current + 10,
    PageUp: current - 10,
    Home: 0,
    End: count - 1,
  };
  return (
    <div
      class="canvas"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-roledescription={texts.chart.history}
      aria-description={texts.chart.keys}
      aria-valuemin={1}
      aria-valuemax={Math.max(1, count)}
      aria-valuenow={Math.max(1, current + 1)}
      aria-valuetext={readingText(data, current, unit)}
      onKeyDown={(event) => {
        if (event.key === 'Escape') return onReset?.();
        const to = keys[event.key];
        if (to === undefined) return;
        event.preventDefault();
        at.value = Math.min(count - 1, Math.max(0, to));
        pointAt(at.value);
      }}
    >
      <div ref={box} aria-hidden="true" />
      {data.columns.length === 0 && <p class="nothing">{texts.chart.nothing}</p>}
    </div>
  );
}

/** The canvas in its element. It is loaded on first use and rebuilt when its series change. */
function usePlot(
  box: { readonly current: HTMLDivElement | null },
  props: CanvasProps,
): (at: number) => void {
  const { data, height = 200, limits } = props;
  const plot = useRef<Plot | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const width = useWidth(box);
  const hasWidth = width.value > 0;
  const shape = useMemo(
    () => JSON.stringify(data.columns.map(({ name, least }) => [name, !!least])),
    [data],
  );
  useEffect(() => {
    const element = box.current;
    if (element === null || !hasWidth || shape === '') return undefined;
    let isGone = false;
    const open = async (): Promise<void> => {
      const { openPlot } = await import('./plot.ts');
      if (isGone) return;
      const { unit } = latest.current;
      plot.current = openPlot(element, latest.current.data, {
        width: width.peek(),
        height,
        ...(latest.current.limits && { limits: latest.current.limits }),
        formatValue: (value) => formatReading(value, unit, format.value),
        formatTime: (unix, isDay) =>
          isDay ? formatDay(unix * 1_000, format.value) : formatClock(unix * 1_000, format.value),
        ...(latest.current.onSelect && {
          onSelect: (start, end) => latest.current.onSelect?.(start, end),
        }),
        onArea: (next) => {
          if (!isSame(latest.current.area.value, next)) latest.current.area.value = next;
        },
        onPoint: (at) => {
          latest.current.at.value = at;
        },
      });
    };
    open().catch((error: unknown) => window.reportError(error));
    return () => {
      isGone = true;
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [box, hasWidth, height, shape, width]);
  // Callers pass a new array each time.
  const limitsKey = JSON.stringify(limits);
  useEffect(() => plot.current?.show(data, limits), [data, limitsKey]);
  useEffect(() => {
    if (hasWidth) plot.current?.resize(width.value);
  }, [hasWidth, width.value]);
  return (at) => plot.current?.pointAt(at);
}

function isSame(known: PlotArea | undefined, next: PlotArea): boolean {
  return JSON.stringify(known) === JSON.stringify(next);
}

/** The readings at a position in words: `12:03:10 CET: 93.2 %, lowest 80 %, highest 99 %`. */
export function readingText(data: HistoryData, at: number, unit: string): string {
  const time = data.times[at];
  if (time === undefined) return texts.chart.nothing;
  const values = data.columns.map(({ name, values, least, greatest }) => {
    const value = values[at];
    if (typeof value !== 'number') {
      const reason = gapAt(data.gaps, time)?.reason;
      const why = reason === undefined ? '' : ` (${gapReason(reason)})`;
      return `${name} ${texts.noReading}${why}`.trim();
    }
    const reading = (of: number): string => formatReading(of, unit, format.value);
    const [low, high] = [least?.[at], greatest?.[at]];
    const reach =
      typeof low === 'number' && typeof high === 'number'
        ? ` (${reading(low)} – ${reading(high)})`
        : '';
    return `${name} ${reading(value)}${reach}`.trim();
  });
  const clock = formatTime(time * 1_000, nowMs.peek(), format.value);
  return `${clock}: ${values.length > 0 ? values.join('; ') : texts.noReading}`;
}

/**
 * The newest reading in words. If the range ends with a gap, gives its reason and the time of the
 * last reading. A reading that is merely not due yet is not a gap.
 */
function lastText(data: HistoryData, unit: string): string {
  const end = data.times.length - 1;
  const { last, gaps, times } = data;
  const newest = newestAt(data.columns);
  const endUnix = times[end];
  if (endUnix === undefined || last === undefined || newest === end) {
    return readingText(data, end, unit);
  }
  if (gapAt(gaps, endUnix) === undefined) return readingText(data, newest, unit);
  const time = formatTime(last.timeUnix * 1_000, nowMs.peek(), format.value);
  const value = formatReading(last.value, unit, format.value);
  return texts.chart.lastReading(readingText(data, end, unit), value, time);
}

interface HistoryRow {
  readonly time: number;
  readonly at: number;
}

function HistoryTable(props: { data: HistoryData; unit: string; label: string }): VNode {
  const { data, unit, label } = props;
  const reading = (value: number | null | undefined): string =>
    typeof value === 'number' ? formatReading(value, unit, format.value) : texts.noReading;
  const columns: Column<HistoryRow>[] = [
    {
      key: 'time',
      title: texts.chart.time,
      cell: ({ time }) => formatTime(time * 1_000, nowMs.peek(), format.value),
    },
    ...data.columns.flatMap(({ name, values, least, greatest }, i): Column<HistoryRow>[] => [
      {
        key: `${i}`,
        title: name === '' ? texts.chart.value : name,
        align: 'right',
        cell: ({ at }) => reading(values[at]),
      },
      ...(least && greatest
        ? [
            {
              key: `${i} least`,
              title: texts.chart.lowest,
              align: 'right' as const,
              cell: ({ at }: HistoryRow) => reading(least[at]),
            },
            {
              key: `${i} greatest`,
              title: texts.chart.highest,
              align: 'right' as const,
              cell: ({ at }: HistoryRow) => reading(greatest[at]),
            },
          ]
        : []),
    ]),
  ];
  // Newest first, as in all lists.
  const rows = data.times.map((time, at) => ({ time, at })).reverse();
  return (
    <Table label={label} columns={columns} rows={rows} keyOf={({ at }) => String(at)} isPlain />
  );
}

/** Gaps in words, because a screen reader cannot read a canvas. */
function Gaps({ data }: { readonly data: HistoryData }): VNode | null {
  if (data.gaps.length === 0) return null;
  const time = (unix: number): string => formatTime(unix * 1_000, nowMs.peek(), format.value);
  return (
    <ul class="gaps">
      {data.gaps.slice(-GAPS_SHOWN_MAX).map(({ startUnix, endUnix, reason }) => (
        <li key={`${startUnix} ${reason}`}>
          <span class="key gap" aria-hidden="true" />
          {texts.chart.gap(time(startUnix), time(endUnix), gapReason(reason))}
        </li>
      ))}
      {data.gaps.length > GAPS_SHOWN_MAX && (
        <li class="weak">{texts.chart.moreGaps(data.gaps.length - GAPS_SHOWN_MAX)}</li>
      )}
    </ul>
  );
}

const GAPS_SHOWN_MAX = 3;
