/** Buttons that move one step back and forward, and the position between them. */

import type { ComponentChildren, VNode } from 'preact';
import { Icon } from './icon.tsx';
import { ChevronLeft, ChevronRight } from './icons.ts';

export interface StepButtonsProps {
  /** Position of the current step, from 0. */
  readonly at: number;
  readonly count: number;
  readonly previous: string;
  readonly next: string;
  readonly onMove: (at: number) => void;
  /** The current step in words. */
  readonly children: ComponentChildren;
}

export function StepButtons(props: StepButtonsProps): VNode {
  const { at, count, previous, next, onMove, children } = props;
  return (
    <div class="slider-foot">
      <button
        type="button"
        class="quiet square"
        aria-label={previous}
        aria-disabled={at <= 0}
        onClick={() => onMove(at - 1)}
      >
        <Icon node={ChevronLeft} />
      </button>
      <button
        type="button"
        class="quiet square"
        aria-label={next}
        aria-disabled={at >= count - 1}
        onClick={() => onMove(at + 1)}
      >
        <Icon node={ChevronRight} />
      </button>
      <output>{children}</output>
    </div>
  );
}
