/** Status of a destination: a badge, and the reason or start time. */
import type { VNode } from 'preact';
import { Badge, type Tone } from '../../components/badges.tsx';
import { msOf, Time } from '../../components/time.tsx';
import type { Destination } from '../../data/catalogue.ts';
import { statusNames, texts } from './destination-texts.ts';
import { type DestinationStatus, statusOf } from './destination-words.ts';

const tones: Readonly<Record<DestinationStatus, Tone>> = {
  ACTIVE: 'good',
  VERIFIED: 'good',
  AWAITING_VERIFICATION: 'waiting',
  REACHES_NOBODY: 'missing',
  FAILING: 'warning',
  PAUSED: 'off',
};

interface StatusProps {
  readonly destination: Destination;
}

/** Its status as a badge. */
export function StatusBadge({ destination }: StatusProps): VNode {
  const status = statusOf(destination);
  return <Badge tone={tones[status]} text={statusNames[status] ?? status} />;
}

/** Why it is paused, or since when it fails; renders nothing otherwise. */
export function StatusReason({ destination }: StatusProps): VNode | null {
  const status = statusOf(destination);
  const failingMs = msOf(destination.failingSinceUnix);
  if (status === 'PAUSED') return <span class="weak">{destination.pausedReason}</span>;
  if (status !== 'FAILING' || failingMs === undefined) return null;
  return (
    <span class="weak">
      {texts.since} <Time ms={failingMs} />
    </span>
  );
}
