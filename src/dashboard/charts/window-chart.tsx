/**
 * The deciding samples of an incident or an instance. Each sample is a mark that is focusable and
 * has a text: a square if it breaches, a circle if it is good. Thresholds, the sustained span, gaps
 * and the recovery share one axis of observation time.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { format } from '../data/preferences.ts';
import { texts } from '../messages/en.ts';
import {
  formatClock,
  formatDuration,
  formatReading,
  formatReadingBeside,
  formatThreshold,
} from '../messages/format.ts';
import { position, roundMarks, type Scale, timeMarks } from './axis.ts';
import { useWidth } from './use-width.ts';
import {
  type Condition,
  nearestStep,
  type WindowData,
  type WindowInput,
  type WindowMark,
  type WindowSpan,
  windowData,
} from './window-data.ts';

/** The samples with the service's decisions, and the slider below the chart. */
export interface WindowChartProps extends WindowInput {
  /** Accessible name of the chart: the metric and the VM. */
  readonly label: string;
  /** If true, the chart is dashed: it was recomputed rather than recorded. */
  readonly isRecomputed?: boolean;
  /** Position of the slider, Unix ms. */
  readonly atMs?: number | undefined;
  /** Called when a sample is focused, so that the slider can follow. */
  readonly onReach?: (ms: number) => void;
  /** True if some samples are left out. */
  readonly isThinned?: boolean;
}

/** Left edge of the plot, px; the slider below starts there too. */
export const PLOT_LEFT = 64;
/** Right margin, px. */
export const PLOT_RIGHT = 12;
const TOP = 12;
const BOTTOM = 48;
const HEIGHT = 260;
/** Narrower charts name the lines in the legend only, because labels would hide samples. */
const LABELS_WIDTH_MIN = 480;
/** Width reserved for a label next to its line. */
const LABEL_WIDTH = 180;
const LABEL_PX = 20;

/** The chart as SVG, with a sentence about the focused sample. */
export function WindowChart(props: WindowChartProps): VNode {
  const { label, condition, isThinned } = props;
  const figure = useRef<HTMLElement>(null);
  const width = useWidth(figure);
  const data = windowData(props);
  const active = useSignal<number | undefined>(undefined);
  const current = Math.min(active.value ?? startOf(props, data), data.marks.length - 1);
  const read = data.marks[current];
  return (
    <figure
      ref={figure}
      class={props.isRecomputed ? 'window-chart recomputed' : 'window-chart'}
      aria-label={label}
    >
      {width.value > 0 && (
        <Plot {...props} data={data} width={width.value} current={current} active={active} />
      )}
      <figcaption>
        {read && <output>{sampleText(read, condition)}</output>}
        {isThinned && <span class="weak"> {texts.chart.thinned}</span>}
      </figcaption>
      <Legend data={data} condition={condition} />
    </figure>
  );
}

/** The sample that is first in the tab order: at the slider's position, or else the newest. */
function startOf({ atMs }: WindowChartProps, { marks }: WindowData): number {
  if (atMs === undefined) return marks.length - 1;
  return nearestStep(
    marks.map(({ ms }) => ms),
    atMs,
  );
}

interface PlotProps extends WindowChartProps {
  readonly data: WindowData;
  readonly width: number;
  readonly current: number;
  readonly active: { value: number | undefined };
}

function Plot(props: PlotProps): VNode {
  const { data, width, condition, current, active, onReach, atMs } = props;
  const patternId = useId();
  const group = useRef<SVGGElement>(null);
  const time = timeScale(data, width);
  const value: Scale = {
    from: data.least,
    to: data.greatest,
    fromPx: HEIGHT - BOTTOM,
    toPx: TOP,
  };
  const reach = (to: number): void => {
    const next = Math.min(data.marks.length - 1, Math.max(0, to));
    active.value = next;
    group.current?.querySelectorAll<SVGGElement>('[data-sample]')[next]?.focus();
  };
  const steps: Readonly<Record<string, () => void>> = {
    ArrowRight: () => reach(current + 1),
    ArrowLeft: () => reach(current - 1),
    Home: () => reach(0),
    End: () => reach(data.marks.length - 1),
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    step();
  };
  return (
    // biome-ignore lint/a11y/noSvgWithoutTitle: the figure names it; a title would be a tooltip
    <svg width={width} height={HEIGHT}>
      <Patterns id={patternId} />
      {data.spans.map((span) => (
        <Span key={`${span.kind} ${span.startMs}`} span={span} time={time} patternId={patternId} />
      ))}
      <Axes data={data} unit={condition.unit} time={time} value={value} />
      <Thresholds {...props} time={time} value={value} />
      {data.lines.map((line) => (
        <polyline
          key={line[0]?.ms}
          class="window-line"
          points={line
            .map((mark) => `${position(time, mark.ms)},${position(value, mark.value)}`)
            .join(' ')}
        />
      ))}
      <At atMs={atMs} time={time} />
      <g ref={group}>
        {data.marks.map((mark, i) => (
          <Mark
            key={mark.ms}
            mark={mark}
            x={position(time, mark.ms)}
            y={position(value, mark.value)}
            condition={condition}
            isCurrent={i === current}
            onKey={onKey}
            onReach={() => {
              active.value = i;
              onReach?.(mark.ms);
            }}
          />
        ))}
      </g>
    </svg>
  );
}

function At({ atMs, time }: { atMs: number | undefined; time: Scale }): VNode | null {
  if (atMs === undefined || atMs < time.from || atMs > time.to) return null;
  const x = position(time, atMs);
  return <line class="window-at" x1={x} x2={x} y1={TOP} y2={HEIGHT - BOTTOM} />;
}

/** The time axis, shared with the slider. */
export function timeScale(data: { startMs: number; endMs: number }, width: number): Scale {
  return { from: data.startMs, to: data.endMs, fromPx: PLOT_LEFT, toPx: width - PLOT_RIGHT };
}

interface MarkProps {
  readonly mark: WindowMark;
  readonly x: number;
  readonly y: number;
  readonly condition: Condition;
  readonly isCurrent: boolean;
  readonly onKey: (event: KeyboardEvent) => void;
  readonly onReach: () => void;
}

function Mark({ mark, x, y, condition, isCurrent, onKey, onReach }: MarkProps): VNode {
  const text = sampleText(mark, condition);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: SVG has no element for text that is read out
    <g
      class={mark.breaches ? 'sample breach' : 'sample good'}
      data-sample=""
      aria-label={text}
      tabindex={isCurrent ? 0 : -1}
      onKeyDown={onKey}
      onFocus={onReach}
      onClick={onReach}
    >
      <title>{text}</title>
      {mark.breaches ? (
        <rect x={x - 4} y={y - 4} width="8" height="8" />
      ) : (
        <circle cx={x} cy={y} r="4" />
      )}
      {/* Touch target and focus ring around the mark. */}
      <circle class="reach" cx={x} cy={y} r="9" />
    </g>
  );
}

function sampleText(
  { ms, value, breaches }: WindowMark,
  { threshold, unit }: Pick<Condition, 'threshold' | 'unit'>,
): string {
  const verdict = breaches ? texts.chart.breaching : texts.chart.good;
  const time = formatClock(ms, format.value, true);
  const reading = formatReadingBeside(value, threshold, unit, format.value);
  return texts.chart.sample(time, reading, verdict);
}

function Axes(props: { data: WindowData; unit: string; time: Scale; value: Scale }): VNode {
  const { data, unit, time, value } = props;
  const spanMs = data.endMs - data.startMs;
  const timeCount = Math.max(2, Math.floor((time.toPx - time.fromPx) / 90));
  return (
    <g class="axes">
      {roundMarks(data.least, data.greatest, 5, unit).map((mark) => (
        <g key={mark}>
          <line
            x1={time.fromPx}
            x2={time.toPx}
            y1={position(value, mark)}
            y2={position(value, mark)}
          />
          <text x={PLOT_LEFT - 8} y={position(value, mark) + 4} text-anchor="end">
            {formatReading(mark, unit, format.value)}
          </text>
        </g>
      ))}
      {timeMarks(data.startMs, data.endMs, timeCount).map((mark) => (
        <text key={mark} x={position(time, mark)} y={HEIGHT - 8} text-anchor="middle">
          {formatClock(mark, format.value, spanMs < 600_000)}
        </text>
      ))}
    </g>
  );
}

function hasOwnRecovery({ condition }: WindowChartProps): boolean {
  const { threshold, recoveryThreshold } = condition;
  return recoveryThreshold !== undefined && recoveryThreshold !== threshold;
}

function Thresholds(props: PlotProps & { time: Scale; value: Scale }): VNode {
  const { data, condition, width, time, value } = props;
  const { threshold, recoveryThreshold, unit } = condition;
  const right = width - PLOT_RIGHT;
  const lines = [threshold, recoveryThreshold ?? threshold].map((at) => position(value, at));
  // At the end where fewer samples are in the way.
  const inTheWay = data.marks
    .filter((mark) => lines.some((y) => Math.abs(y - position(value, mark.value)) < LABEL_PX))
    .map(({ ms }) => position(time, ms));
  const isRight =
    inTheWay.filter((x) => x > right - LABEL_WIDTH).length <=
    inTheWay.filter((x) => x < PLOT_LEFT + LABEL_WIDTH).length;
  const line = (at: number, kind: string, name: string, below: boolean): VNode => {
    const y = position(value, at);
    return (
      <g class={kind}>
        <line x1={PLOT_LEFT} x2={right} y1={y} y2={y} />
        {width >= LABELS_WIDTH_MIN && (
          <text
            x={isRight ? right - 4 : PLOT_LEFT + 4}
            y={below ? y + 14 : y - 5}
            text-anchor={isRight ? 'end' : 'start'}
          >
            {`${name} ${formatThreshold(at, unit, format.value)}`}
          </text>
        )}
      </g>
    );
  };
  const hasRecovery = hasOwnRecovery(props) && recoveryThreshold !== undefined;
  const isAbove = hasRecovery && recoveryThreshold > threshold;
  return (
    <>
      {line(threshold, 'threshold', texts.chart.threshold, isAbove)}
      {hasRecovery &&
        line(recoveryThreshold, 'recovery-threshold', texts.chart.recoveryThreshold, !isAbove)}
    </>
  );
}

const spanNames: Readonly<Record<WindowSpan['kind'], string>> = {
  sustained: texts.chart.sustained,
  recovery: texts.chart.recovery,
  tolerated: texts.chart.tolerated,
  gap: texts.chart.interrupting,
};

function Span(props: { span: WindowSpan; time: Scale; patternId: string }): VNode {
  const { span, time, patternId } = props;
  const x = position(time, span.startMs);
  const width = Math.max(1, position(time, span.endMs) - x);
  const name = spanNames[span.kind];
  const seconds = (span.endMs - span.startMs) / 1_000;
  const from = formatClock(span.startMs, format.value, true);
  const title = `${name}: ${formatDuration(seconds)}, ${from}`;
  if (span.kind === 'gap' || span.kind === 'tolerated') {
    return (
      <g class={`span ${span.kind}`} aria-label={title}>
        <title>{title}</title>
        <rect
          x={x}
          y={TOP}
          width={width}
          height={HEIGHT - BOTTOM - TOP}
          fill={`url(#${patternId}-${span.kind})`}
        />
      </g>
    );
  }
  // A bracket below the plot: decisions are drawn on the axis, not over the samples.
  const y = HEIGHT - BOTTOM + 10;
  return (
    <g class={`span ${span.kind}`} aria-label={title}>
      <title>{title}</title>
      <path d={`M${x} ${y - 5}v10M${x + width} ${y - 5}v10M${x} ${y}h${width}`} />
      {width > 60 && (
        <text x={x + width / 2} y={y + 14} text-anchor="middle">
          {name}
        </text>
      )}
    </g>
  );
}

function Patterns({ id }: { readonly id: string }): VNode {
  return (
    <defs>
      <pattern
        id={`${id}-gap`}
        width="8"
        height="8"
        patternUnits="userSpaceOnUse"
        patternTransform="rotate(45)"
      >
        <line class="hatch" x1="0" y1="0" x2="0" y2="8" stroke-width="2" />
      </pattern>
      <pattern id={`${id}-tolerated`} width="8" height="8" patternUnits="userSpaceOnUse">
        <circle class="hatch-dot" cx="2" cy="2" r="1" />
      </pattern>
    </defs>
  );
}

function Legend({ data, condition }: { data: WindowData; condition: Condition }): VNode {
  const has = (kind: WindowSpan['kind']): boolean => data.spans.some((span) => span.kind === kind);
  const { threshold, recoveryThreshold, unit } = condition;
  const named = (name: string, at: number): string =>
    `${name} ${formatThreshold(at, unit, format.value)}`;
  const entries = [
    data.marks.some(({ breaches }) => breaches) && ['breach', texts.chart.breaching],
    data.marks.some(({ breaches }) => !breaches) && ['good', texts.chart.good],
    ['threshold', named(texts.chart.threshold, threshold)],
    recoveryThreshold !== undefined &&
      recoveryThreshold !== threshold && [
        'recovery-threshold',
        named(texts.chart.recoveryThreshold, recoveryThreshold),
      ],
    has('tolerated') && ['tolerated', texts.chart.tolerated],
    has('gap') && ['gap', texts.chart.interrupting],
  ].filter((entry) => entry !== false);
  return (
    <ul class="legend">
      {entries.map(([kind, name]) => (
        <li key={kind}>
          <span class={`key ${kind}`} aria-hidden="true" />
          {name}
        </li>
      ))}
    </ul>
  );
}
