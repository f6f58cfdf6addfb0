/**
 * The canvas of a history chart: uPlot, in its own chunk. It receives plain data and reports
 * selections and pointer positions. Texts, keys and the table are in `history-chart.tsx`.
 */
import uPlot from 'uplot';
import { roundSteps } from './axis.ts';
import type { HistoryData } from './history-data.ts';

/** Size, texts and callbacks of a plot, fixed while it is open. */
export interface PlotOptions {
  readonly width: number;
  readonly height: number;
  /** Axis labels. */
  readonly formatValue: (value: number) => string;
  readonly formatTime: (unix: number, isDay: boolean) => string;
  /** Called with the range selected by dragging, Unix seconds. If absent, selection is disabled. */
  readonly onSelect?: (startUnix: number, endUnix: number) => void;
  /** Position of the time under the pointer; undefined if absent. */
  readonly onPoint: (at: number | undefined) => void;
  /** Horizontal limits, such as a rule's threshold. */
  readonly limits?: readonly number[];
  /** Called after the first draw and whenever the size or the domain changes. */
  readonly onArea?: (area: PlotArea) => void;
}

/** Area of the values within the element, CSS px, and their range. */
export interface PlotArea {
  readonly leftPx: number;
  readonly topPx: number;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly least: number;
  readonly greatest: number;
}

/**
 * An open canvas. Call `destroy` when its element is removed, because it listens for theme changes
 * and touches.
 */
export interface Plot {
  show(data: HistoryData, limits?: readonly number[]): void;
  resize(width: number): void;
  /** Moves the crosshair to a position of `times`. */
  pointAt(at: number): void;
  destroy(): void;
}

/** Number of series colours in the style sheet. */
const SERIES_COLOURS = 6;
/** Shorter drags count as taps. */
const DRAG_PX_MIN = 8;

/** Draws into `element`. Colours come from its style and are read again when the theme changes. */
export function openPlot(element: HTMLElement, data: HistoryData, options: PlotOptions): Plot {
  const colours = new Colours(element);
  let displayed: Displayed = { data, limits: options.limits ?? [] };
  const plot = new uPlot(
    optionsOf(data, options, colours, () => displayed),
    alignedData(data),
    element,
  );
  const stopTheme = colours.onChange(() => plot.redraw(false));
  const stopTouch = options.onSelect ? selectByTouch(plot, options.onSelect) : undefined;
  return {
    show(next, limits = []) {
      displayed = { data: next, limits };
      plot.setData(alignedData(next));
    },
    resize: (width) => plot.setSize({ width, height: options.height }),
    pointAt(at) {
      const time = displayed.data.times[at];
      const value = displayed.data.columns[0]?.values[at];
      if (time === undefined) return;
      const top =
        typeof value === 'number' ? plot.valToPos(value, 'y') : plot.over.clientHeight / 2;
      plot.setCursor({ left: plot.valToPos(time, 'x'), top }, false);
    },
    destroy() {
      stopTheme();
      stopTouch?.();
      plot.destroy();
    },
  };
}

/** State as of the last `show`. */
interface Displayed {
  readonly data: HistoryData;
  readonly limits: readonly number[];
}

/** Times, then for each column its values and, if present, its minimum and maximum. */
function alignedData({ times, columns }: HistoryData): uPlot.AlignedData {
  const series = columns.flatMap(({ values, least, greatest }) =>
    least && greatest ? [values, least, greatest] : [values],
  );
  return [[...times], ...series.map((values) => [...values])];
}

function optionsOf(
  data: HistoryData,
  options: PlotOptions,
  colours: Colours,
  displayed: () => Displayed,
): uPlot.Options {
  const { formatValue, formatTime, onSelect } = options;
  const unit = data.columns[0]?.unit;
  const axis = {
    stroke: () => colours.of('--text-weak'),
    grid: { stroke: () => colours.of('--line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui, sans-serif',
  };
  return {
    width: options.width,
    height: options.height,
    legend: { show: false },
    cursor: { drag: { x: onSelect !== undefined, y: false, setScale: false }, points: { size: 8 } },
    scales: {
      x: { time: true, range: () => timeRange(displayed().data.times) },
      y: {
        range: (_, least, greatest) =>
          unit === 'boolean'
            ? [-0.1, 1.1]
            : valueRange([least, greatest], displayed().limits, unit),
      },
    },
    axes: [
      { ...axis, size: 28, space: 90, values: (_, marks) => timeTexts(marks, formatTime) },
      {
        ...axis,
        size: 72,
        gap: 6,
        ...marksOf(unit),
        values: (_, marks) => valueTexts(marks, displayed().data, formatValue),
      },
    ],
    series: [{}, ...data.columns.flatMap((column, i) => seriesOf(column, i, colours))],
    bands: bandsOf(data, colours),
    hooks: {
      drawClear: [(plot) => drawGaps(plot, displayed().data, colours)],
      draw: [
        (plot) => drawLimits(plot, displayed().limits, colours),
        (plot) => options.onArea?.(areaOf(plot)),
      ],
      setCursor: [({ cursor }) => options.onPoint(cursor.idx ?? undefined)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < DRAG_PX_MIN) return;
          onSelect?.(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'));
          plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        },
      ],
    },
  };
}

function areaOf({ bbox, scales }: uPlot): PlotArea {
  const { min: least = 0, max: greatest = 1 } = scales.y ?? {};
  return {
    leftPx: bbox.left / devicePixelRatio,
    topPx: bbox.top / devicePixelRatio,
    widthPx: bbox.width / devicePixelRatio,
    heightPx: bbox.height / devicePixelRatio,
    least,
    greatest,
  };
}

function seriesOf(
  { lone, least }: HistoryData['columns'][number],
  i: number,
  colours: Colours,
): uPlot.Series[] {
  const stroke = (): string => colours.series(i);
  // A single value has no line, so it is drawn as a dot. No other dots are drawn.
  const points: uPlot.Series.Points = {
    show: true,
    size: 6,
    fill: stroke,
    filter: () => [...lone],
  };
  const line: uPlot.Series = { stroke, width: 1.75, spanGaps: false, points };
  const edge: uPlot.Series = { width: 0, spanGaps: false, points: { show: false } };
  return least ? [line, edge, edge] : [line];
}

/** Mark positions on a value axis, for units that do not count in tens. */
function marksOf(unit: string | undefined): Pick<uPlot.Axis, 'splits' | 'incrs'> {
  if (unit === 'boolean') return { splits: [0, 1] };
  if (unit?.startsWith('bytes')) {
    return { incrs: (_plot, _axis, least, greatest) => roundSteps(unit, least, greatest) };
  }
  if (unit !== 'seconds') return {};
  return { incrs: [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400] };
}

/** Bands between minimum and maximum, for each column that has them. */
function bandsOf({ columns }: HistoryData, colours: Colours): uPlot.Band[] {
  const bands: uPlot.Band[] = [];
  let at = 1;
  for (const [i, { least }] of columns.entries()) {
    if (least) bands.push({ series: [at + 2, at + 1], fill: () => colours.band(i) });
    at += least ? 3 : 1;
  }
  return bands;
}

/**
 * Value range with a margin. It includes the limits, and starts at zero unless values are negative.
 * For ages, a second of margin is negligible.
 */
function valueRange(
  [least, greatest]: readonly [number | null, number | null],
  limits: readonly number[],
  unit: string | undefined,
): uPlot.Range.MinMax {
  const values = [least, greatest, ...limits].filter((value) => value !== null);
  if (values.length === 0) return [0, 1];
  const low = Math.min(...values);
  const high = Math.max(...values);
  const air = (high - low || Math.abs(high) || 1) * 0.1;
  if (low >= 0 && unit === 'seconds') return [0, high + air];
  return [
    low >= 0 && low - air < (high - low) * 0.5 ? Math.max(0, low - air) : low - air,
    high + air,
  ];
}

/** No labels if there are no values: a scale would suggest zero. */
function valueTexts(
  marks: number[],
  { last }: HistoryData,
  formatValue: PlotOptions['formatValue'],
): string[] {
  return marks.map((mark) => (last === undefined ? '' : formatValue(mark)));
}

/** All steps of the response, including those without a reading. */
function timeRange(times: readonly number[]): uPlot.Range.MinMax {
  const [start] = times;
  const end = times.at(-1);
  return start === undefined || end === undefined ? [null, null] : [start, end];
}

/** The date where it changes, otherwise the time of day. */
function timeTexts(marks: number[], formatTime: PlotOptions['formatTime']): string[] {
  const days = marks.map((mark) => formatTime(mark, true));
  const isWide = new Set(days).size > 1;
  return marks.map((mark, i) => {
    const time = formatTime(mark, false);
    return isWide && days[i] !== days[i - 1] ? `${days[i]} ${time}` : time;
  });
}

/** Hatches each gap, because an empty stretch could be mistaken for zero. */
function drawGaps(plot: uPlot, { gaps, times }: HistoryData, colours: Colours): void {
  const { ctx, bbox } = plot;
  const end = times.at(-1);
  ctx.save();
  for (const { startUnix, endUnix } of gaps) {
    const left = Math.max(bbox.left, plot.valToPos(startUnix, 'x', true));
    const right = plot.valToPos(Math.min(endUnix, end ?? endUnix), 'x', true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, bbox.top, Math.max(0, right - left), bbox.height);
    ctx.clip();
    ctx.strokeStyle = colours.of('--line-strong');
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    const gapPx = 9 * devicePixelRatio;
    for (let x = left - bbox.height; x < right; x += gapPx) {
      ctx.moveTo(x, bbox.top + bbox.height);
      ctx.lineTo(x + bbox.height, bbox.top);
    }
    ctx.stroke();
    ctx.restore();
  }
  ctx.restore();
}

function drawLimits(plot: uPlot, limits: readonly number[], colours: Colours): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colours.of('--critical');
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const limit of limits) {
    const y = plot.valToPos(limit, 'y', true);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.restore();
}

/**
 * uPlot supports selection only by mouse. This adds touch: a horizontal drag selects, a vertical
 * one scrolls.
 */
function selectByTouch(plot: uPlot, onSelect: NonNullable<PlotOptions['onSelect']>): () => void {
  const { over } = plot;
  let startPx: number | undefined;
  const at = (event: PointerEvent): number =>
    Math.min(over.clientWidth, Math.max(0, event.clientX - over.getBoundingClientRect().left));
  const onDown = (event: PointerEvent): void => {
    if (event.pointerType === 'touch') startPx = at(event);
  };
  const onMove = (event: PointerEvent): void => {
    if (startPx === undefined) return;
    const now = at(event);
    const [left, width] = [Math.min(now, startPx), Math.abs(now - startPx)];
    plot.setSelect({ left, width, top: 0, height: over.clientHeight }, false);
    plot.setCursor({ left: now, top: over.clientHeight / 2 });
  };
  const onEnd = (event: PointerEvent): void => {
    if (startPx === undefined) return;
    const [left, right] = [startPx, at(event)].sort((a, b) => a - b);
    startPx = undefined;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    if (event.type === 'pointercancel' || left === undefined || right === undefined) return;
    if (right - left >= DRAG_PX_MIN) onSelect(plot.posToVal(left, 'x'), plot.posToVal(right, 'x'));
  };
  over.addEventListener('pointerdown', onDown);
  over.addEventListener('pointermove', onMove);
  over.addEventListener('pointerup', onEnd);
  over.addEventListener('pointercancel', onEnd);
  return () => {
    over.removeEventListener('pointerdown', onDown);
    over.removeEventListener('pointermove', onMove);
    over.removeEventListener('pointerup', onEnd);
    over.removeEventListener('pointercancel', onEnd);
  };
}

/** Colours of the style sheet, resolved for the current theme in a form that a canvas accepts. */
class Colours {
  readonly #probe: HTMLElement;
  #resolved = new Map<string, string>();

  constructor(parent: HTMLElement) {
    this.#probe = document.createElement('span');
    this.#probe.hidden = true;
    parent.append(this.#probe);
  }

  of(token: string): string {
    const known = this.#resolved.get(token);
    if (known !== undefined) return known;
    this.#probe.style.color = `var(${token})`;
    const colour = getComputedStyle(this.#probe).color;
    this.#resolved.set(token, colour);
    return colour;
  }

  series(i: number): string {
    return this.of(`--series-${(i % SERIES_COLOURS) + 1}`);
  }

  band(i: number): string {
    return this.of(`--band-${(i % SERIES_COLOURS) + 1}`);
  }

  /** Registers a listener for theme changes, by the user or by the system. */
  onChange(call: () => void): () => void {
    const forget = (): void => {
      this.#resolved = new Map();
      call();
    };
    const observer = new MutationObserver(forget);
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    const system = matchMedia('(prefers-color-scheme: dark)');
    system.addEventListener('change', forget);
    return () => {
      observer.disconnect();
      system.removeEventListener('change', forget);
    };
  }
}
