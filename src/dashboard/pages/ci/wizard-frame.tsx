/** The frame of the wizard: the current step, and how long the verification is valid. */
import type { VNode } from 'preact';
import { nowMs } from '../../data/clock.ts';
import { formatDuration } from '../../messages/format.ts';
import { query } from '../../router/location.ts';
import { texts } from './texts.ts';

/** In order; the first is shown on the connections page. */
const steps = ['account', 'setUp', 'wait', 'review', 'cleanUp'] as const;

export type WizardStep = (typeof steps)[number];

export function WizardSteps({ at }: { readonly at: WizardStep }): VNode {
  const open = steps.indexOf(at);
  return (
    <ol class="wizard" aria-label={texts.steps.label}>
      {steps.map((step, i) => (
        <li
          key={step}
          class={i < open ? 'done' : ''}
          {...(i === open && { 'aria-current': 'step' })}
        >
          {texts.steps[step]}
        </li>
      ))}
    </ol>
  );
}

/** Address of another step of the same verification. */
export function stepPath(step: WizardStep): string {
  const next = new URLSearchParams(query.value);
  next.set('step', step);
  return `?${next}`;
}

/** Counts down to zero by the server's clock. */
export function TimeLeft({ untilMs }: { readonly untilMs: number }): VNode {
  const seconds = Math.max(0, Math.floor((untilMs - nowMs.value) / 1_000));
  return <span class="time">{formatDuration(seconds)}</span>;
}
