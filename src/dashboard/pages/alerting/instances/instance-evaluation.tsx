/**
 * The path of an instance on the diagram and on the axis of its readings: as decided, or as
 * recomputed from stored samples.
 */
import type { VNode } from 'preact';
import type { Layout } from '../../../../audit/drawing/picture.ts';
import { parseRange } from '../../../charts/range.ts';
import { TimeSlider } from '../../../charts/time-slider.tsx';
import { WindowChart } from '../../../charts/window-chart.tsx';
import type { Axis } from '../../../charts/window-data.ts';
import { InstanceBadges } from '../../../components/badges.tsx';
import { DataView } from '../../../components/data-view.tsx';
import { Filters, SelectFilter } from '../../../components/filters.tsx';
import { type Column, Table } from '../../../components/table.tsx';
import { Time } from '../../../components/time.tsx';
import { read } from '../../../data/call.ts';
import { serverClock } from '../../../data/clock.ts';
import { useLoaded } from '../../../data/loaded.ts';
import type { ResponseOf } from '../../../data/rpc-types.ts';
import { query, setQuery } from '../../../router/location.ts';
import { InstancePath, type PathStep } from '../../../statechart/instance-path.tsx';
import { useMachine } from '../../../statechart/machine.ts';
import { eventName } from '../../../statechart/marking.ts';
import { stepIn } from '../../../statechart/recorded-path.tsx';
import { stepAt, timeOf } from '../incidents/incident-path.ts';
import { eventNames } from '../incidents/incident-texts.ts';
import type { NamedInstance } from './instance-names.ts';
import { type Explanation, InstanceRuns } from './instance-runs.tsx';
import { texts } from './instance-texts.ts';

type Step = ResponseOf<'AlertService', 'getAlertInstance'>['path'][number];
type Segment = Explanation['segments'][number];

const POLL_SECONDS = 30;
/** The service explains at most one day, s. */
const RANGE_SECONDS_MAX = 86_400;
/**
 * Margin, s: the server's clock is known to about a second, and the end must not be ahead of it.
 */
const BEHIND_SECONDS = 2;

export interface InstanceEvaluationProps {
  readonly projectName: string;
  readonly named: NamedInstance;
  /** Its path as decided, oldest first. */
  readonly decided: readonly Step[];
  /** Name of the diagram. */
  readonly label: string;
}

export function InstanceEvaluation(props: InstanceEvaluationProps): VNode {
  const { projectName, named, decided, label } = props;
  const machine = useMachine(projectName, 'alertInstance');
  const path = query.value.get('path');
  // An instance that never fired has no recorded path, so its path is recomputed.
  const isRecomputed = path === null ? !('name' in named) : path === 'recomputed';
  const range = query.value.get('range') ?? '1h';
  const explanation = useLoaded(
    `explain ${JSON.stringify(named)} ${range}`,
    (options) =>
      read('AlertService', 'explainAlertInstance', { ...named, ...periodOf(range) }, options),
    POLL_SECONDS,
  );
  const recomputed = explanation.state.value.value?.path ?? [];
  const steps = (isRecomputed ? recomputed : decided).map(stepOf);
  const at = stepIn(query.value, steps.length);
  return (
    <>
      <h2>{texts.period}</h2>
      <Filters names={['range']}>
        <SelectFilter
          name="range"
          label={texts.range}
          all={texts.lastHour}
          options={[6, 24].map((hours) => ({ value: `${hours}h`, title: texts.hours(hours) }))}
        />
      </Filters>
      <DataView of={explanation} lines={8}>
        {(value) => (
          <>
            <InstanceRuns of={value} />
            <Readings of={value} label={label} steps={steps} at={at} />
          </>
        )}
      </DataView>
      <PathChoice isRecomputed={isRecomputed} />
      <DataView of={machine} lines={8}>
        {({ layout }) => layout && <Path layout={layout} label={label} steps={steps} at={at} />}
      </DataView>
      <DataView of={explanation} lines={5}>
        {({ segments }) => (
          <>
            <h2>{texts.segments}</h2>
            <Table
              label={texts.segments}
              columns={segmentColumns}
              rows={segments}
              keyOf={({ startUnixMs }) => startUnixMs}
            />
          </>
        )}
      </DataView>
    </>
  );
}

/** Unix seconds in the API's format. */
function periodOf(range: string) {
  const nowUnix = serverClock.now() / 1_000 - BEHIND_SECONDS;
  const { startUnix, endUnix } = parseRange(new URLSearchParams({ range }), nowUnix);
  const start = Math.max(startUnix, endUnix - RANGE_SECONDS_MAX);
  return { startTimeUnix: String(start), endTimeUnix: String(endUnix) };
}

function stepOf(step: Step): PathStep {
  const { event, fromStates, toStates, eventUnixMs, recordedUnixMs, source } = step;
  return {
    event,
    fromStates,
    toStates,
    observedMs: Number(eventUnixMs),
    decidedMs: recordedUnixMs === undefined ? undefined : Number(recordedUnixMs),
    isRecomputed: source === 'RECOMPUTED',
  };
}

function PathChoice({ isRecomputed }: { readonly isRecomputed: boolean }): VNode {
  const choose = (path: string) => () => setQuery({ path, step: undefined });
  return (
    <>
      <fieldset class="buttons choices" aria-label={texts.paths}>
        <button
          type="button"
          class="quiet choice"
          aria-pressed={!isRecomputed}
          onClick={choose('recorded')}
        >
          {texts.recorded}
        </button>
        <button
          type="button"
          class="quiet choice"
          aria-pressed={isRecomputed}
          onClick={choose('recomputed')}
        >
          {texts.recomputed}
        </button>
      </fieldset>
      <p class="weak">{isRecomputed ? texts.recomputedHelp : texts.recordedHelp}</p>
    </>
  );
}

interface PathProps {
  readonly layout: Layout;
  readonly label: string;
  readonly steps: readonly PathStep[];
  readonly at: number;
}

function Path({ layout, label, steps, at }: PathProps): VNode {
  if (steps.length === 0) return <p class="weak">{texts.noPath}</p>;
  return <InstancePath layout={layout} label={label} steps={steps} at={at} onMove={moveTo} />;
}

function moveTo(at: number): void {
  setQuery({ step: String(at + 1) });
}

interface ReadingsProps {
  readonly of: Explanation;
  readonly label: string;
  readonly steps: readonly PathStep[];
  readonly at: number;
}

/** The readings of the period, with the slider of the path below them on the same axis. */
function Readings({ of, label, steps, at }: ReadingsProps): VNode {
  const { condition, samples, gaps, segments } = of;
  const step = steps[at];
  const axis = axisOf(segments);
  const onAxis = (ms: number): number =>
    axis ? Math.min(axis.endMs, Math.max(axis.startMs, ms)) : ms;
  return (
    <>
      {condition && samples.length > 0 ? (
        <WindowChart
          label={label}
          condition={condition}
          samples={samples}
          gaps={gaps}
          axis={axis}
          atMs={step && onAxis(timeOf(step))}
          onReach={(ms) => moveTo(stepAt(steps, ms))}
          isRecomputed
        />
      ) : (
        <p>{condition ? texts.noSamples : texts.noCondition}</p>
      )}
      {steps.length > 0 && axis && (
        <TimeSlider
          {...axis}
          label={texts.slider}
          // Steps before the period are placed at its start.
          steps={steps.map((one) => ({ ms: onAxis(timeOf(one)), name: nameOf(one.event) }))}
          at={at}
          onMove={moveTo}
        />
      )}
    </>
  );
}

/** Event name in words; the diagram uses the machine's names. */
function nameOf(event: string): string {
  return eventNames[event] ?? eventName(event);
}

/** The period as recomputed by the service: its segments cover it. */
function axisOf(segments: readonly Segment[]): Axis | undefined {
  const [first, last] = [segments[0], segments.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  return { startMs: Number(first.startUnixMs), endMs: Number(last.endUnixMs) };
}

const segmentColumns: readonly Column<Segment>[] = [
  {
    key: 'state',
    title: texts.state,
    cell: (one) => <InstanceBadges {...one} />,
  },
  {
    key: 'from',
    title: texts.from,
    phone: 'labelled',
    cell: ({ startUnixMs }) => <Time ms={Number(startUnixMs)} />,
  },
  {
    key: 'to',
    title: texts.to,
    phone: 'labelled',
    cell: ({ endUnixMs }) => <Time ms={Number(endUnixMs)} />,
  },
  {
    key: 'cause',
    title: texts.cause,
    phone: 'second',
    cell: ({ cause }) => (cause === '' ? texts.beginning : nameOf(cause)),
  },
];
