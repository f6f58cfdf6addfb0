/**
 * The runs of an alert instance in a period, fired or not, and why it did not fire. They are
 * derived from the path and samples that the service recomputed; nothing is decided here.
 */
import type { VNode } from 'preact';
import { type Column, Table } from '../../../components/table.tsx';
import { Time } from '../../../components/time.tsx';
import type { ResponseOf } from '../../../data/rpc-types.ts';
import { formatDuration } from '../../../messages/format.ts';
import { texts } from './instance-texts.ts';

export type Explanation = ResponseOf<'AlertService', 'explainAlertInstance'>;

/** Consecutive breaching readings without a gap longer than the tolerance. Times are Unix ms. */
interface Run {
  readonly startMs: number;
  /** Its last breaching reading. */
  readonly lastMs: number;
  /**
   * `good`: a reading no longer breached. `open`: the run continues. `missing`: data is missing.
   */
  readonly end: 'fired' | 'good' | 'gap' | 'open' | 'missing';
}

const ENDS: Readonly<Record<string, Run['end']>> = {
  sustained: 'fired',
  breachEnded: 'good',
  // A run that starts within another one means that a gap ended the first.
  breachStarted: 'gap',
};

/** Oldest first. */
function runsOf({ path, samples }: Pick<Explanation, 'path' | 'samples'>): Run[] {
  return path.flatMap((step, i): Run[] => {
    if (step.event !== 'breachStarted') return [];
    const startMs = Number(step.eventUnixMs);
    const next = path.slice(i + 1).find(({ event }) => ENDS[event] !== undefined);
    const endMs = next === undefined ? Number.POSITIVE_INFINITY : Number(next.eventUnixMs);
    const isFired = next?.event === 'sustained';
    const last = samples.findLast(({ observedUnixMs, breaches }) => {
      const ms = Number(observedUnixMs);
      return breaches && ms >= startMs && (isFired ? ms <= endMs : ms < endMs);
    });
    const lastMs = last === undefined ? startMs : Number(last.observedUnixMs);
    return [{ startMs, lastMs, end: endOf(next?.event, path.at(-1)?.event) }];
  });
}

function endOf(next: string | undefined, last: string | undefined): Run['end'] {
  if (next !== undefined) return ENDS[next] ?? 'open';
  return last === 'dataMissing' ? 'missing' : 'open';
}

export function InstanceRuns({ of }: { readonly of: Explanation }): VNode {
  const runs = runsOf(of);
  return (
    <>
      <p class="summary" role="status">
        {reasonOf(of, runs)}
      </p>
      {runs.length > 0 && (
        <Table
          label={texts.runs}
          columns={columns}
          rows={runs}
          keyOf={({ startMs }) => String(startMs)}
        />
      )}
    </>
  );
}

/** Why it has not fired in the period, in words. */
function reasonOf({ condition, samples }: Explanation, runs: readonly Run[]): string {
  if (condition === undefined) return texts.noCondition;
  const fired = runs.filter(({ end }) => end === 'fired').length;
  if (fired > 0) return texts.reason.fired(fired);
  if (samples.length === 0) return texts.reason.unobserved;
  if (runs.length === 0) return texts.reason.quiet;
  const needed = formatDuration(condition.sustainedSeconds);
  const longest = formatDuration(Math.max(...runs.map(secondsOf)));
  const tolerance = formatDuration(condition.gapToleranceSeconds);
  return [
    texts.reason.short(runs.length, longest, needed),
    ...(runs.some(({ end }) => end === 'gap') ? [texts.reason.gap(tolerance)] : []),
    ...(runs.at(-1)?.end === 'open' ? [texts.reason.open] : []),
    ...(runs.at(-1)?.end === 'missing' ? [texts.reason.missing] : []),
  ].join(' ');
}

/** From the first breaching reading to the last, s: the rule compares this with its duration. */
function secondsOf({ startMs, lastMs }: Run): number {
  return (lastMs - startMs) / 1_000;
}

const columns: readonly Column<Run>[] = [
  { key: 'from', title: texts.from, cell: ({ startMs }) => <Time ms={startMs} /> },
  { key: 'to', title: texts.lastBreach, phone: 'hide', cell: ({ lastMs }) => <Time ms={lastMs} /> },
  {
    key: 'span',
    title: texts.span,
    align: 'right',
    cell: (run) => formatDuration(secondsOf(run)),
  },
  {
    key: 'end',
    title: texts.ended,
    width: 'grow',
    phone: 'second',
    cell: ({ end }) => texts.ends[end],
  },
];
