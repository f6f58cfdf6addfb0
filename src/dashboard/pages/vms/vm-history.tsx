/**
 * The history of a VM: a chart with its limitation for each metric that has readings in the range.
 * Metrics without readings are listed with the reason, because an empty chart says nothing.
 */
import type { VNode } from 'preact';
import { gapReason } from '../../charts/gap-reasons.ts';
import { HistoryChart } from '../../charts/history-chart.tsx';
import {
  type HistoryAnswer,
  type HistoryData,
  historyData,
  SAMPLING_SECONDS,
} from '../../charts/history-data.ts';
import {
  type ChartRange,
  parseRange,
  rangeSeconds,
  selectedRange,
  stepFor,
} from '../../charts/range.ts';
import { DataView } from '../../components/data-view.tsx';
import { read } from '../../data/call.ts';
import { nowMs, serverClock } from '../../data/clock.ts';
import { type Load, useLoaded } from '../../data/loaded.ts';
import { format } from '../../data/preferences.ts';
import { formatTime } from '../../messages/format.ts';
import { query, setQuery } from '../../router/location.ts';
import { type MetricDescriptor, type MetricGroup, metricGroups } from './metric-groups.ts';
import { texts as all, metricName } from './texts.ts';

const texts = all.vm;
const TAIL_SECONDS = 30;

interface VmHistoryProps {
  readonly name: string;
  /** True if metrics of the guest agent are shown too. */
  readonly isExpanded: boolean;
}

export function VmHistory({ name, isExpanded }: VmHistoryProps): VNode {
  const projectName = name.replace(/\/vms\/.*$/, '');
  const catalogue = useLoaded(`metrics ${projectName}`, (options) =>
    read('MonitoringService', 'listMetricDescriptors', { projectName }, options),
  );
  return (
    <section aria-labelledby="history">
      <div class="section-head">
        <h2 id="history">{texts.history}</h2>
        <RangePicker />
      </div>
      <DataView of={catalogue}>
        {({ descriptors }) =>
          metricGroups(descriptors.filter(({ expanded }) => isExpanded || !expanded)).map(
            (group) => <Group key={group.key} name={name} group={group} />,
          )
        }
      </DataView>
    </section>
  );
}

/** The range in the address; it ends at the server's current time. */
function rangeNow(): ChartRange {
  return parseRange(query.value, serverClock.now() / 1_000);
}

function RangePicker(): VNode {
  const names: Readonly<Record<string, string>> = texts.ranges;
  const range = rangeNow();
  const chosen = range.isLive ? range.endUnix - range.startUnix : undefined;
  const time = (unix: number): string => formatTime(unix * 1_000, nowMs.peek(), format.value);
  return (
    <fieldset class="range">
      <legend class="visually-hidden">{texts.range}</legend>
      {Object.entries(rangeSeconds).map(([key, seconds]) => (
        <button
          key={key}
          type="button"
          class="quiet"
          aria-pressed={seconds === chosen}
          onClick={() => setQuery({ range: key, from: undefined, to: undefined })}
        >
          {names[key] ?? key}
        </button>
      ))}
      {!range.isLive && (
        <span class="weak">{texts.selected(time(range.startUnix), time(range.endUnix))}</span>
      )}
    </fieldset>
  );
}

function Group({ name, group }: { readonly name: string; readonly group: MetricGroup }): VNode {
  const { value: address } = query;
  const range = ['range', 'from', 'to'].map((part) => address.get(part)).join();
  const isLive = !address.has('from');
  const loader = useLoaded(
    `history ${name} ${group.key} ${range}`,
    (options) => loadGroup(name, group, options),
    isLive ? TAIL_SECONDS : undefined,
  );
  return (
    <DataView of={loader} lines={6}>
      {(answers) => <Charts answers={answers} group={group} isLive={isLive} />}
    </DataView>
  );
}

type Answers = ReadonlyMap<string, HistoryAnswer>;

/** One request per metric, because the gaps in a response apply to all its metrics. */
async function loadGroup(
  name: string,
  group: MetricGroup,
  options: Parameters<Load<Answers>>[0],
): Promise<Answers> {
  const { startUnix, endUnix } = rangeNow();
  const stepSeconds = stepFor(endUnix - startUnix);
  const bounds = {
    startTimeUnix: String(startUnix),
    endTimeUnix: String(endUnix),
    stepSeconds,
    withExtremes: stepSeconds > SAMPLING_SECONDS,
  };
  const answers = await Promise.all(
    group.descriptors.map(async ({ metricId }) => {
      const request = { name, metricIds: [metricId], ...bounds };
      const answer = await read('MonitoringService', 'queryVMMonitoring', request, options);
      return [metricId, answer] as const;
    }),
  );
  return new Map(answers);
}

interface ChartsProps {
  readonly answers: Answers;
  readonly group: MetricGroup;
  readonly isLive: boolean;
}

function Charts({ answers, group, isLive }: ChartsProps): VNode {
  const rows = group.descriptors.flatMap((descriptor) => {
    const answer = answers.get(descriptor.metricId);
    return answer === undefined ? [] : [{ descriptor, answer }];
  });
  const displayed = rows.filter(({ answer }) => hasPoints(answer));
  const absent = rows.filter(({ answer }) => !hasPoints(answer));
  return (
    <>
      <div class="charts">
        {displayed.map(({ descriptor: { metricId, unit, limitation }, answer }) => (
          <div key={metricId} {...(unit === 'boolean' && { class: 'short' })}>
            <HistoryChart
              label={metricName(metricId)}
              unit={unit}
              data={named(historyData(answer, metricId))}
              {...(unit === 'boolean' && { height: 90 })}
              onSelect={(start, end) =>
                setQuery({ ...selectedRange(start, end), range: undefined })
              }
              onReset={isLive ? undefined : () => setQuery({ from: undefined, to: undefined })}
            />
            <p class="limitation">
              {texts.limitation}: {limitation}
            </p>
          </div>
        ))}
      </div>
      {absent.length > 0 && <Absent rows={absent} />}
    </>
  );
}

function hasPoints({ series }: HistoryAnswer): boolean {
  return series.some(({ points }) => points.some(({ value }) => value !== undefined));
}

/** Names the VM's total next to its devices; with a single device both would be equal. */
function named(data: HistoryData): HistoryData {
  const { columns } = data;
  const sum = columns.find(({ name }) => name === '');
  if (columns.length < 2 || sum === undefined) return data;
  if (columns.length === 2) return { ...data, columns: [sum] };
  const all = columns.map((column) => (column === sum ? { ...column, name: texts.sum } : column));
  return { ...data, columns: all };
}

interface AbsentProps {
  readonly rows: readonly { descriptor: MetricDescriptor; answer: HistoryAnswer }[];
}

/** Metrics of the group without readings in the range, each with the service's reason. */
function Absent({ rows }: AbsentProps): VNode {
  const helps = new Set(
    rows.flatMap(({ descriptor: { metricId }, answer }) => {
      const found = answer.quality?.metrics.find((one) => one.metricId === metricId);
      return found?.help ? [found.help] : [];
    }),
  );
  return (
    <p class="absent">
      <strong>{texts.notReported}:</strong>{' '}
      {rows
        .map(({ descriptor: { metricId }, answer }) => {
          const reason = answer.quality?.metrics.find((one) => one.metricId === metricId)?.reason;
          return `${metricName(metricId)}${reason ? ` (${gapReason(reason)})` : ''}`;
        })
        .join('; ')}
      {[...helps].map((help) => (
        <span key={help}>
          <br />
          {help}
        </span>
      ))}
    </p>
  );
}
