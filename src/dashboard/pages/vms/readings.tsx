/**
 * The newest readings of a VM in a row of a table. One that is not there is `no reading`, never a
 * zero; a rate needs two readings, and until the second one comes it says when.
 */
import type { VNode } from 'preact';
import { Badge, StateBadge } from '../../components/badges.tsx';
import { ageText, msOf } from '../../components/time.tsx';
import type { Vm } from '../../data/catalogue.ts';
import { nowMs } from '../../data/clock.ts';
import { format } from '../../data/preferences.ts';
import { names, texts as shared } from '../../messages/en.ts';
import { formatReading } from '../../messages/format.ts';
import { texts } from './texts.ts';

/** The state of a VM; of one that fell silent it is the state in which it was last observed. */
export function VmState({ vm }: { readonly vm: Vm }): VNode {
  const { state, telemetry } = vm;
  const observedMs = msOf(telemetry?.lastObservedUnix);
  if (telemetry?.state !== 'STALE' || observedMs === undefined || state === 'UNKNOWN') {
    return <StateBadge value={state} />;
  }
  const name = names[state] ?? state;
  return <Badge tone="missing" text={texts.stateThen(name, ageText(observedMs, nowMs.value))} />;
}

export interface ReadingProps {
  readonly value: number | undefined;
  readonly unit: string;
  /** When the second of two readings is due, server's time, Unix ms; undefined = nothing is due. */
  readonly secondMs?: number | undefined;
  /** State of the VM: one that is stopped uses nothing, and lacks no reading. */
  readonly state?: Vm['state'];
}

export function Reading({ value, unit, secondMs, state }: ReadingProps): VNode {
  if (value !== undefined) return <>{formatReading(value, unit, format.value)}</>;
  if (state === 'STOPPED') {
    return (
      <span class="weak">
        <span aria-hidden="true">–</span>
        <span class="visually-hidden">{texts.notRunning}</span>
      </span>
    );
  }
  if (secondMs === undefined) return <span class="weak">{shared.noReading}</span>;
  const text =
    secondMs > nowMs.value
      ? texts.awaitsSecond(ageText(secondMs, nowMs.value))
      : texts.awaitsSecondNow;
  return <span class="weak awaited">{text}</span>;
}
