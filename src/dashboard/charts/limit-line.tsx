/**
 * A limit on a history chart that can be dragged or moved with the arrow keys. The line follows the
 * pointer; its value changes once at the end of a drag and at each key press.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { format } from '../data/preferences.ts';
import { texts } from '../messages/en.ts';
import { formatReading } from '../messages/format.ts';
import { position, type Scale, valueAt } from './axis.ts';
import { limitAfterKey, roundedLimit } from './limit-steps.ts';
import type { PlotArea } from './plot.ts';

/**
 * A limit in the unit of the chart. `onMove` receives it rounded to the resolution of the scale.
 */
export interface MovableLimit {
  /** Display name of the limit: `Threshold`. */
  readonly label: string;
  readonly value: number;
  readonly onMove: (value: number) => void;
}

/** Height of the drag target, px. */
const REACH_PX = 24;

/** The line and its handle over the plot area; `area` gives the values at its edges. */
export function LimitLine(
  props: MovableLimit & { readonly unit: string; readonly area: PlotArea },
): VNode {
  const { label, value, onMove, unit, area } = props;
  const svg = useRef<SVGSVGElement>(null);
  const dragged = useSignal<number | undefined>(undefined);
  const displayed = dragged.value ?? value;
  const scale: Scale = {
    from: area.least,
    to: area.greatest,
    fromPx: area.topPx + area.heightPx,
    toPx: area.topPx,
  };
  const valueOf = (event: PointerEvent): number => {
    const top = svg.current?.getBoundingClientRect().top;
    return top === undefined ? displayed : roundedLimit(valueAt(scale, event.clientY - top), area);
  };
  // A limit outside the domain is drawn at the edge until the domain follows.
  const within = Math.min(area.greatest, Math.max(area.least, displayed));
  const y = position(scale, within);
  return (
    <svg ref={svg} class="limit-line">
      <title>{texts.chart.limit(label)}</title>
      <g
        role="slider"
        tabindex={0}
        aria-label={texts.chart.limit(label)}
        aria-orientation="vertical"
        aria-valuemin={Math.min(area.least, displayed)}
        aria-valuemax={Math.max(area.greatest, displayed)}
        aria-valuenow={displayed}
        aria-valuetext={formatReading(displayed, unit, format.value)}
        aria-description={texts.chart.limitKeys}
        onKeyDown={(event) => {
          const next = limitAfterKey(event.key, displayed, area);
          if (next === undefined) return;
          event.preventDefault();
          onMove(next);
        }}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          dragged.value = displayed;
        }}
        onPointerMove={(event) => {
          if (dragged.value !== undefined) dragged.value = valueOf(event);
        }}
        onPointerUp={() => {
          const { value: end } = dragged;
          dragged.value = undefined;
          if (end !== undefined && end !== value) onMove(end);
        }}
        onPointerCancel={() => {
          dragged.value = undefined;
        }}
      >
        <Line y={y} area={area} text={`${label} ${formatReading(displayed, unit, format.value)}`} />
      </g>
    </svg>
  );
}

function Line({ y, area, text }: { y: number; area: PlotArea; text: string }): VNode {
  const right = area.leftPx + area.widthPx;
  const isAtTop = y - area.topPx < 18;
  return (
    <>
      <rect
        class="reach"
        x={area.leftPx}
        y={y - REACH_PX / 2}
        width={area.widthPx}
        height={REACH_PX}
      />
      <line x1={area.leftPx} x2={right} y1={y} y2={y} />
      <path class="grip" d={`M${right - 9} ${y}m-7 -2l7 -7l7 7zm0 4l7 7l7 -7z`} />
      {/* At the start, because the newest readings are at the end. */}
      <text x={area.leftPx + 8} y={isAtTop ? y + 14 : y - 5}>
        {text}
      </text>
    </>
  );
}
