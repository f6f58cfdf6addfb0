/**
 * Badges of severities and states. Each has its own shape and a name; colour only repeats them, so
 * no information depends on colour.
 */
import type { VNode } from 'preact';
import { names } from '../messages/en.ts';

/** How to read a state, and the shape that conveys it. */
export type Tone = 'critical' | 'warning' | 'info' | 'good' | 'waiting' | 'missing' | 'off';

const shapes: Readonly<Record<Tone, VNode>> = {
  // A filled square, a triangle, a dot in a ring, a check mark, an open ring, a broken ring, a bar.
  critical: <rect x="2" y="2" width="12" height="12" rx="1" fill="currentColor" />,
  warning: <path d="M8 1.5 15 14H1Z" fill="currentColor" />,
  info: (
    <>
      <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.75" />
      <circle cx="8" cy="8" r="2.25" fill="currentColor" />
    </>
  ),
  good: <path d="m2.5 8.5 4 4 7-9" fill="none" stroke="currentColor" stroke-width="2.5" />,
  waiting: (
    <>
      <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.75" />
      <path d="M8 4.5V8l2.5 2" fill="none" stroke="currentColor" stroke-width="1.75" />
    </>
  ),
  missing: (
    <circle
      cx="8"
      cy="8"
      r="6"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-dasharray="3 3.28"
    />
  ),
  off: <path d="M2.5 8h11" fill="none" stroke="currentColor" stroke-width="2.5" />,
};

const tones: Readonly<Record<string, Tone>> = {
  CRITICAL: 'critical',
  WARNING: 'warning',
  INFO: 'info',
  FIRING: 'critical',
  SUSTAINING: 'waiting',
  RECOVERED: 'good',
  RETIRED: 'off',
  IDLE: 'good',
  LIVE: 'good',
  STALE: 'missing',
  NEVER: 'missing',
  NO_DATA: 'missing',
  MISSING: 'missing',
  PARTIAL: 'warning',
  ERROR: 'warning',
  OBSERVED: 'good',
  RUNNING: 'good',
  PAUSED: 'off',
  STOPPED: 'off',
  CRASHED: 'critical',
  UNKNOWN: 'missing',
  PENDING: 'waiting',
  APPLIED: 'good',
  FAILED: 'critical',
  QUEUED: 'waiting',
  RECHECKING: 'waiting',
  SENDING: 'waiting',
  WAITING: 'waiting',
  SENT: 'good',
  SUPPRESSED: 'off',
  EXPIRED: 'warning',
  ACTIVE: 'good',
  ROTATING: 'waiting',
  VERIFIED: 'good',
  AWAITING_VERIFICATION: 'waiting',
  DISABLED: 'off',
  REVOKED: 'off',
  ENABLED: 'good',
  DELETED: 'off',
  AWAITING_PROOF: 'waiting',
  APPROVED: 'good',
  REJECTED: 'off',
};

/** A word with the shape of its tone. */
export interface BadgeProps {
  readonly tone: Tone;
  readonly text: string;
  /** Details, shown in the tooltip. */
  readonly title?: string;
}

/** A shape and a word. */
export function Badge({ tone, text, title }: BadgeProps): VNode {
  return (
    <span class={`badge ${tone}`} {...(title !== undefined && { title })}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {shapes[tone]}
      </svg>
      {text}
    </span>
  );
}

/** A severity or state by its API name, such as `CRITICAL` or `SUSTAINING`. */
export function StateBadge({ value }: { readonly value: string }): VNode {
  return <Badge tone={tones[value] ?? 'info'} text={names[value] ?? value} />;
}

/** The state of an instance, with a second badge while its data is missing. */
export function InstanceBadges(props: { state: string; dataState: string }): VNode {
  return (
    <span class="badges">
      <StateBadge value={props.state} />
      {props.dataState === 'MISSING' && <StateBadge value="MISSING" />}
    </span>
  );
}
