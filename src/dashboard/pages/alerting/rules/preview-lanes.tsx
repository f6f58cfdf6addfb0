/**
 * One lane per series of a preview: when it would have been sustaining and firing, and where data
 * was missing, by shape and in words. A lane is a button that selects the traced series.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useId, useMemo, useRef } from 'preact/hooks';
import { position, timeMarks } from '../../../charts/axis.ts';
import { useWidth } from '../../../charts/use-width.ts';
import { nowMs } from '../../../data/clock.ts';
import { format } from '../../../data/preferences.ts';
import {
  formatClock,
  formatCount,
  formatDay,
  formatDuration,
  formatTime,
} from '../../../messages/format.ts';
import {
  eventfulFirst,
  firstKnownMs,
  type LaneKind,
  type LaneShape,
  laneCounts,
  laneShapes,
  type Preview,
  type PreviewedInstance,
  seriesKey,
  seriesName,
  type TracedSeries,
  type Window,
} from './preview-data.ts';
import { texts } from './preview-texts.ts';

export interface PreviewLanesProps {
  readonly of: Preview;
  /** Range of the axis. */
  readonly window: Window;
  readonly traced: TracedSeries | undefined;
  readonly onTrace: (series: TracedSeries) => void;
}

/** Initial number of lanes, and lanes added each time: a page with 200 lanes would be slow. */
const LANES_AT_FIRST = 10;
const LANES_MORE = 20;

export function PreviewLanes(props: PreviewLanesProps): VNode {
  const { of: preview, window, traced, onTrace } = props;
  const { instances, instancesOmitted } = preview;
  const track = useRef<HTMLDivElement>(null);
  const width = useWidth(track);
  const count = useSignal(LANES_AT_FIRST);
  const patternId = useId();
  const ordered = useMemo(() => eventfulFirst(instances), [instances]);
  const displayed = ordered.slice(0, count.value);
  const rest = instances.length - displayed.length;
  if (instances.length === 0) return <p class="weak">{texts.noLanes}</p>;
  return (
    <div class="lanes">
      <ul>
        {displayed.map((instance) => (
          <li key={seriesKey(instance)}>
            <button
              type="button"
              class="lane"
              aria-pressed={traced !== undefined && seriesKey(traced) === seriesKey(instance)}
              onClick={() => onTrace(instance)}
            >
              <span class="lane-name">{seriesName(instance)}</span>
              <Track instance={instance} window={window} width={width.value} hatch={patternId} />
              <span class="lane-words">{laneWords(instance, window)}</span>
            </button>
          </li>
        ))}
      </ul>
      <div class="lane lane-axis" aria-hidden="true">
        <div ref={track} class="lane-track">
          <Axis window={window} width={width.value} hatch={patternId} />
        </div>
      </div>
      {rest > 0 && (
        <button
          type="button"
          class="quiet"
          onClick={() => {
            count.value += LANES_MORE;
          }}
        >
          {texts.more(rest)}
        </button>
      )}
      {instancesOmitted !== '0' && (
        <p class="weak">{texts.omitted(formatCount(Number(instancesOmitted), format.value))}</p>
      )}
      <Legend />
    </div>
  );
}

/** `fired 2 times; 1 gap, 15 min`. */
function laneWords(instance: PreviewedInstance, { startMs }: Window): string {
  const { firings, runs, gaps, gapSeconds, isAtLeast, state } = laneCounts(instance);
  const firstMs = firstKnownMs(instance);
  const fired = state === 'FIRING' ? texts.laneFiring(firings) : texts.laneFired(firings);
  const words = [
    firings > 0 ? fired : texts.laneQuiet,
    ...(runs > 0 ? [texts.laneRuns(runs)] : []),
    ...(state === 'SUSTAINING' ? [texts.laneSustaining] : []),
    ...(gaps > 0 ? [texts.laneGaps(gaps, formatDuration(gapSeconds))] : []),
    ...(!isAtLeast && firstMs !== undefined && firstMs > startMs + NEW_MS
      ? [texts.laneSince(formatTime(firstMs, nowMs.peek(), format.value))]
      : []),
    ...(isAtLeast ? [texts.laneAtLeast] : []),
  ];
  return words.join('; ');
}

/** Margin, ms: VMs are not polled at the same moment. */
const NEW_MS = 90_000;

interface TrackProps {
  readonly window: Window;
  readonly width: number;
  /** Id of the pattern for missing data. */
  readonly hatch: string;
}

const HEIGHT = 24;
const BASE = 19;
/**
 * Top and bottom of each kind, px: firing segments have the full height, sustaining ones half of
 * it.
 */
const heights: Readonly<Record<LaneKind, readonly [number, number]>> = {
  known: [BASE, BASE + 1.5],
  unlisted: [BASE, BASE + 1.5],
  sustaining: [12, BASE],
  firing: [4, BASE],
  missing: [1, 23],
};
const KINDS = ['known', 'unlisted', 'sustaining', 'firing', 'missing'] as const;

function Track(props: TrackProps & { readonly instance: PreviewedInstance }): VNode {
  const { instance, window, width, hatch } = props;
  const shapes = useMemo(
    () => (width > 0 ? laneShapes(instance, window, width) : []),
    [instance, window.startMs, window.endMs, width],
  );
  return (
    <svg class="lane-track" width={width} height={HEIGHT} aria-hidden="true">
      {KINDS.map((kind) => {
        const d = pathOf(shapes, kind);
        const fill = kind === 'missing' ? { fill: `url(#${hatch})` } : {};
        return d !== '' && <path key={kind} class={`lane-${kind}`} d={d} {...fill} />;
      })}
    </svg>
  );
}

function pathOf(shapes: readonly LaneShape[], kind: LaneKind): string {
  const [top, bottom] = heights[kind];
  return shapes
    .filter((shape) => shape.kind === kind)
    .map(({ fromPx, toPx }) => `M${fromPx} ${top}H${toPx}V${bottom}H${fromPx}Z`)
    .join('');
}

function Axis({ window, width, hatch }: TrackProps): VNode | null {
  if (width === 0) return null;
  const { startMs, endMs } = window;
  const scale = { from: startMs, to: endMs, fromPx: 0, toPx: width };
  const isLong = endMs - startMs > 2 * 86_400_000;
  const marks = timeMarks(startMs, endMs, Math.max(2, Math.floor(width / 90)));
  return (
    <svg width={width} height={20}>
      <title>{texts.lanes}</title>
      <defs>
        <pattern
          id={hatch}
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <line class="hatch" x1="0" y1="0" x2="0" y2="6" stroke-width="2" />
        </pattern>
      </defs>
      {marks
        .map((ms) => ({ ms, x: position(scale, ms) }))
        .filter(({ x }) => x > 20 && x < width - 20)
        .map(({ ms, x }) => (
          <text key={ms} x={x} y={14} text-anchor="middle">
            {isLong ? formatDay(ms, format.value) : formatClock(ms, format.value)}
          </text>
        ))}
    </svg>
  );
}

function Legend(): VNode {
  return (
    <ul class="legend">
      {(['firing', 'sustaining', 'missing'] as const).map((kind) => (
        <li key={kind}>
          <span class={`key lane-key-${kind}`} aria-hidden="true" />
          {texts.keys[kind]}
        </li>
      ))}
    </ul>
  );
}
