/**
 * Readings around an incident: the rule's metric on its VM, from before the breach until the end or
 * now, as far as readings are stored. A selected range is kept in the address.
 */
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { gapReason } from '../../../charts/gap-reasons.ts';
import { HistoryChart } from '../../../charts/history-chart.tsx';
import { type HistoryAnswer, historyData, SAMPLING_SECONDS } from '../../../charts/history-data.ts';
import { parseRange, selectedRange, stepFor } from '../../../charts/range.ts';
import { DataView } from '../../../components/data-view.tsx';
import { read } from '../../../data/call.ts';
import { serverClock } from '../../../data/clock.ts';
import { useLoaded } from '../../../data/loaded.ts';
import type { Incident } from '../../../data/watch.ts';
import { query, setQuery } from '../../../router/location.ts';
import { metricName } from '../../vms/texts.ts';
import { type Explanation, historyRange, seriesOf } from './incident-path.ts';
import { texts } from './incident-texts.ts';
import { isOpen } from './incident-words.ts';

const TAIL_SECONDS = 30;

export interface IncidentHistoryProps {
  /** An incident of a VM. */
  readonly incident: Incident;
  readonly condition: Explanation['condition'];
}

export function IncidentHistory({ incident, condition }: IncidentHistoryProps): VNode {
  const { name, state, vmName, metricId } = incident;
  const { value: address } = query;
  const isSelected = address.has('from');
  const loader = useLoaded<HistoryAnswer | undefined>(
    `readings ${name} ${state} ${address.get('from')} ${address.get('to')}`,
    async (options) => {
      const nowMs = serverClock.now();
      const selected = parseRange(query.peek(), nowMs / 1_000);
      const range = selected.isLive ? historyRange(incident, nowMs) : selected;
      if (range === undefined) return undefined;
      const stepSeconds = stepFor(range.endUnix - range.startUnix);
      // Whole steps counted from the end: any remainder would cut off the newest readings.
      const steps = Math.floor((range.endUnix - range.startUnix) / stepSeconds);
      const startUnix = range.endUnix - steps * stepSeconds;
      const request = {
        name: vmName,
        metricIds: [metricId],
        stepSeconds,
        startTimeUnix: String(startUnix),
        endTimeUnix: String(range.endUnix),
        withExtremes: stepSeconds > SAMPLING_SECONDS,
      };
      return await read('MonitoringService', 'queryVMMonitoring', request, options);
    },
    isOpen(incident) && !isSelected ? TAIL_SECONDS : undefined,
  );
  return (
    <section aria-label={texts.history.title}>
      <h2>{texts.history.title}</h2>
      <DataView
        of={loader}
        lines={6}
        isEmpty={(answer) => answer === undefined}
        empty={texts.history.tooOld}
      >
        {(answer) =>
          answer && (
            <Readings
              answer={answer}
              incident={incident}
              condition={condition}
              isSelected={isSelected}
            />
          )
        }
      </DataView>
    </section>
  );
}

interface ReadingsProps extends IncidentHistoryProps {
  readonly answer: HistoryAnswer;
  readonly isSelected: boolean;
}

function Readings({ answer, incident, condition, isSelected }: ReadingsProps): VNode {
  const { metricId, labels, threshold } = incident;
  const data = useMemo(
    () => historyData(seriesOf(answer, labels), metricId),
    [answer, metricId, JSON.stringify(labels)],
  );
  const limits = useMemo(() => [threshold], [threshold]);
  const reset = (): void => setQuery({ from: undefined, to: undefined });
  const reason = answer.quality?.metrics.find((one) => one.metricId === metricId)?.reason;
  return (
    <>
      {data.last === undefined && (
        <p class="weak">{texts.history.none(reason ? gapReason(reason) : undefined)}</p>
      )}
      <HistoryChart
        label={metricName(metricId)}
        unit={condition?.unit ?? ''}
        data={data}
        limits={limits}
        onSelect={(start, end) => setQuery(selectedRange(start, end))}
        onReset={isSelected ? reset : undefined}
      />
    </>
  );
}
