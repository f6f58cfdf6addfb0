/**
 * The newest readings of a VM in a table row. A missing one is shown as `no reading`, never as
 * zero. A rate needs two readings; until the second arrives, its time is shown.
 */
import type { VNode } from 'preact';
import { StateBadge } from '../../components/badges.tsx';
import { ageColumn } from '../../components/columns.tsx';
import type { Column } from '../../components/table.tsx';
import { ageText, msOf } from '../../components/time.tsx';
import type { Vm } from '../../data/catalogue.ts';
import { nowMs } from '../../data/clock.ts';
import { idOf } from '../../data/names.ts';
import { format } from '../../data/preferences.ts';
import { names, texts as shared } from '../../messages/en.ts';
import { formatReading } from '../../messages/format.ts';
import { texts } from './texts.ts';

/** Age at which a state is no longer current, as defined by the service, ms. */
const STATE_MS_MAX = 90_000;

/**
 * The state of a VM, with its age once it is old. It also ages here: a page that lost its
 * connection must not show a VM as running forever.
 */
export function VmState({ vm }: { readonly vm: Vm }): VNode {
  const { state, lastState, stateObservedUnix } = vm;
  const observedMs = msOf(stateObservedUnix);
  if (lastState === undefined || observedMs === undefined) return <StateBadge value={state} />;
  if (state !== 'UNKNOWN' && nowMs.value - observedMs <= STATE_MS_MAX) {
    return <StateBadge value={state} />;
  }
  const name = names[lastState] ?? lastState;
  return (
    <>
      <StateBadge value="UNKNOWN" />{' '}
      <span class="weak">{texts.lastSeen(name, ageText(observedMs, nowMs.value))}</span>
    </>
  );
}

export interface ReadingProps {
  readonly value: number | undefined;
  readonly unit: string;
  /** When the second of two readings is due, server's time, Unix ms; undefined if none is due. */
  readonly secondMs?: number | undefined;
  /** State of the VM: a stopped one uses nothing and lacks no reading. */
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

/** Columns of a VM's name, state and newest readings. */
export const vmColumns = {
  name: {
    key: 'name',
    title: texts.name,
    width: 'grow',
    cell: ({ displayName, name }) => displayName || idOf(name),
  },
  state: { key: 'state', title: texts.state, cell: (vm) => <VmState vm={vm} /> },
  cpu: {
    key: 'cpu',
    title: texts.cpu,
    align: 'right',
    phone: 'second',
    cell: ({ cpuUtilizationPct, state }) => (
      <Reading value={cpuUtilizationPct} unit="percent" state={state} />
    ),
  },
  memory: {
    key: 'memory',
    title: texts.memory,
    align: 'right',
    phone: 'second',
    cell: ({ memoryUsedBytes, state }) => (
      <Reading value={memoryUsedBytes} unit="bytes" state={state} />
    ),
  },
  telemetry: {
    key: 'telemetry',
    title: texts.telemetry,
    phone: 'hide',
    cell: ({ telemetry }) => telemetry && <StateBadge value={telemetry.state} />,
  },
  observed: ageColumn('observed', texts.observed, (vm) => vm.telemetry?.lastObservedUnix, {
    align: 'right',
    phone: 'hide',
  }),
} satisfies Readonly<Record<string, Column<Vm>>>;
