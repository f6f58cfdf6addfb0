/**
 * Steps through events on the time axis of the chart above. Arrow keys move by one step, even
 * between steps one millisecond apart. A drag moves to the nearest step.
 */
import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { StepButtons } from '../components/step-buttons.tsx';
import { format } from '../data/preferences.ts';
import { texts } from '../messages/en.ts';
import { formatClock } from '../messages/format.ts';
import { position, valueAt } from './axis.ts';
import { useWidth } from './use-width.ts';
import { timeScale } from './window-chart.tsx';
import { nearestStep } from './window-data.ts';

/** One event and its time. */
export interface SliderStep {
  readonly ms: number;
  /** Name of the event: `Breach started`. */
  readonly name: string;
}

/**
 * Steps and position of the slider. It holds no position of its own: `onMove` requests a new one.
 */
export interface TimeSliderProps {
  /** Oldest first. */
  readonly steps: readonly SliderStep[];
  /** Position in `steps`. */
  readonly at: number;
  readonly onMove: (at: number) => void;
  /** Bounds of the axis, Unix ms, equal to those of the chart above. */
  readonly startMs: number;
  readonly endMs: number;
  readonly label?: string;
}

const HEIGHT = 44;
const MIDDLE = HEIGHT / 2;

/**
 * A slider for pointer and keyboard (WAI-ARIA, pattern "Slider"). Home and End jump to the ends.
 */
export function TimeSlider(props: TimeSliderProps): VNode {
  const { steps, at, onMove, label = texts.chart.slider } = props;
  const step = steps[at];
  const move = (to: number): void => onMove(Math.min(steps.length - 1, Math.max(0, to)));
  const keys: Readonly<Record<string, number>> = {
    ArrowRight: at + 1,
    ArrowUp: at + 1,
    ArrowLeft: at - 1,
    ArrowDown: at - 1,
    Home: 0,
    End: steps.length - 1,
  };
  return (
    <div class="time-slider">
      <div
        class="slider-track"
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={1}
        aria-valuemax={steps.length}
        aria-valuenow={at + 1}
        aria-valuetext={step && stepText(step)}
        onKeyDown={(event) => {
          const to = keys[event.key];
          if (to === undefined) return;
          event.preventDefault();
          move(to);
        }}
      >
        <Track {...props} />
      </div>
      <StepButtons
        at={at}
        count={steps.length}
        previous={texts.chart.previousStep}
        next={texts.chart.nextStep}
        onMove={move}
      >
        <span class="weak">{texts.chart.stepOf(at + 1, steps.length)}</span>{' '}
        {step && stepText(step)}
      </StepButtons>
    </div>
  );
}

function Track({ steps, at, onMove, startMs, endMs }: TimeSliderProps): VNode {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const scale = timeScale({ startMs, endMs }, width.value);
  const times = steps.map(({ ms }) => ms);
  const follow = (event: PointerEvent): void => {
    if (!(event.currentTarget instanceof Element)) return;
    const { left } = event.currentTarget.getBoundingClientRect();
    onMove(nearestStep(times, valueAt(scale, event.clientX - left)));
  };
  const thumb = steps[at];
  return (
    <div ref={box}>
      {width.value > 0 && (
        <svg
          width={width.value}
          height={HEIGHT}
          aria-hidden="true"
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            follow(event);
          }}
          onPointerMove={(event) => {
            if (event.currentTarget.hasPointerCapture(event.pointerId)) follow(event);
          }}
        >
          <line class="track" x1={scale.fromPx} x2={scale.toPx} y1={MIDDLE} y2={MIDDLE} />
          {steps.map(({ ms, name }, i) => (
            <line
              key={`${ms} ${name}`}
              class={i <= at ? 'tick passed' : 'tick'}
              x1={position(scale, ms)}
              x2={position(scale, ms)}
              y1={MIDDLE - 7}
              y2={MIDDLE + 7}
            />
          ))}
          {thumb && <circle class="thumb" cx={position(scale, thumb.ms)} cy={MIDDLE} r="9" />}
        </svg>
      )}
    </div>
  );
}

function stepText({ ms, name }: SliderStep): string {
  return `${formatClock(ms, format.value, true)} ${name}`;
}
