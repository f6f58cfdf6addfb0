/**
 * The steps of an instance next to the diagram of its machine. Each step has an observation time
 * and a decision time; selecting one updates the diagram.
 */
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type Layout, NOTHING_MARKED } from '../../audit/drawing/picture.ts';
import { StepButtons } from '../components/step-buttons.tsx';
import { Time } from '../components/time.tsx';
import { eventName, markingsOf, type Step } from './marking.ts';
import { Statechart } from './statechart.tsx';
import { texts } from './texts.ts';

export interface PathStep extends Step {
  /** Time of the deciding observation, Unix ms; undefined if absent. */
  readonly observedMs?: number | undefined;
  /** Time of the commit, Unix ms; undefined if it is not recorded. */
  readonly decidedMs?: number | undefined;
  /** What caused it; undefined or empty if unknown. */
  readonly by?: string | undefined;
  /** True if recomputed from stored samples. */
  readonly isRecomputed?: boolean;
}

export interface InstancePathProps {
  readonly layout: Layout;
  /** The machine and the instance. */
  readonly label: string;
  /** Oldest first. */
  readonly steps: readonly PathStep[];
  /** Position in `steps`. */
  readonly at: number;
  readonly onMove: (at: number) => void;
}

export function InstancePath({ layout, label, steps, at, onMove }: InstancePathProps): VNode {
  const marking = markingsOf(layout, steps)[at] ?? NOTHING_MARKED;
  const isRecomputed = steps[at]?.isRecomputed === true;
  return (
    <div class="instance-path">
      <StepList steps={steps} at={at} onMove={onMove} />
      <Statechart layout={layout} label={label} {...marking} isRecomputed={isRecomputed} />
    </div>
  );
}

type StepListProps = Pick<InstancePathProps, 'steps' | 'at' | 'onMove'>;

/**
 * Only the steps, for a page that shows the diagram elsewhere.
 * @public
 */
export function StepList({ steps, at, onMove }: StepListProps): VNode {
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => showStep(list.current, at), [at, steps.length]);
  const move = (to: number): void => onMove(Math.min(steps.length - 1, Math.max(0, to)));
  if (steps.length === 0) return <p class="weak">{texts.noSteps}</p>;
  return (
    <section class="step-list" aria-label={texts.steps}>
      <StepButtons
        at={at}
        count={steps.length}
        previous={texts.previous}
        next={texts.next}
        onMove={move}
      >
        {texts.step(at + 1, steps.length)}
      </StepButtons>
      <ol ref={list}>
        {steps.map((step, i) => (
          <li key={i}>
            <button
              type="button"
              class={i <= at ? 'bare step passed' : 'bare step'}
              {...(i === at && { 'aria-current': 'step' as const })}
              onClick={() => move(i)}
            >
              <StepText step={step} />
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Scrolls only within the list; the page stays in place. */
function showStep(list: HTMLOListElement | null, at: number): void {
  const step = list?.children[at];
  if (!list || !(step instanceof HTMLElement)) return;
  const top = step.offsetTop - list.offsetTop;
  const isDisplayed =
    top >= list.scrollTop && top + step.offsetHeight <= list.scrollTop + list.clientHeight;
  if (!isDisplayed) list.scrollTop = top - list.clientHeight / 2;
}

function StepText({ step }: { readonly step: PathStep }): VNode {
  const { event, observedMs, decidedMs, by } = step;
  return (
    <>
      <strong>{eventName(event)}</strong>
      {observedMs !== undefined && (
        <span class="weak">
          {texts.observed} <Time ms={observedMs} />
        </span>
      )}
      <span class="weak">
        {texts.decided} {decidedMs === undefined ? texts.notRecorded : <Time ms={decidedMs} />}
      </span>
      {by !== undefined && by !== '' && (
        <span class="weak">
          {texts.by} {by}
        </span>
      )}
    </>
  );
}
