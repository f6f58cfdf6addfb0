/**
 * Live preview of a rule during editing: its results on stored readings, their coverage, and the
 * readings of one series with a draggable threshold. The service re-evaluates the rule 400 ms after
 * a change; outdated requests are abandoned.
 */
import { type Signal, useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { HistoryChart } from '../../../charts/history-chart.tsx';
import { DataView, Loading } from '../../../components/data-view.tsx';
import { SelectField } from '../../../components/fields.tsx';
import { NoticeBox } from '../../../components/notice-box.tsx';
import { read } from '../../../data/call.ts';
import { nowMs, serverClock } from '../../../data/clock.ts';
import { type Loader, useLoaded } from '../../../data/loaded.ts';
import { idOf } from '../../../data/names.ts';
import { format } from '../../../data/preferences.ts';
import {
  formatCount,
  formatDuration,
  formatReading,
  formatTime,
} from '../../../messages/format.ts';
import {
  displayedWindow,
  type Preview,
  type PreviewRequest,
  type RuleSpec,
  rangeAtOnce,
  rangeOnRequest,
  seriesKey,
  seriesName,
  type TracedSeries,
  traceData,
} from './preview-data.ts';
import { PreviewLanes } from './preview-lanes.tsx';
import { texts } from './preview-texts.ts';

export interface RulePreviewProps {
  readonly projectName: string;
  /** The rule being edited; undefined while it cannot be saved. */
  readonly spec: RuleSpec | undefined;
  /** Called when the threshold is moved on the chart. */
  readonly onThreshold: (threshold: number) => void;
}

/** Debounce delay, ms: a typed word causes one preview. */
const WAIT_MS = 400;
const DAY_SECONDS = 86_400;
/** Margin, ms: VMs are not polled at the same moment. */
const TOLERANCE_MS = 90_000;

export function RulePreview({ projectName, spec, onThreshold }: RulePreviewProps): VNode {
  const last = useRef(spec);
  if (spec !== undefined) last.current = spec;
  const vms = useLoaded(`vm count ${projectName}`, async (options) => {
    const request = { projectName, inventoryOnly: true, pageSize: 1 };
    return (await read('MonitoringService', 'listVMMonitoring', request, options)).totalSize;
  });
  const { current: known } = last;
  return (
    <section class="rule-preview">
      <h2 class="visually-hidden">{texts.title}</h2>
      {known === undefined ? (
        <p class="weak">{texts.incomplete}</p>
      ) : (
        <DataView of={vms} lines={6}>
          {(total) => (
            <Live
              projectName={projectName}
              spec={known}
              vms={known.allVms ? total : (known.vmNames ?? []).length}
              isUnfinished={spec === undefined}
              onThreshold={onThreshold}
            />
          )}
        </DataView>
      )}
    </section>
  );
}

interface LiveProps {
  readonly projectName: string;
  readonly spec: RuleSpec;
  /** Number of VMs that the rule selects. */
  readonly vms: number;
  readonly isUnfinished: boolean;
  readonly onThreshold: (threshold: number) => void;
}

/** A selected series, with the metric for which it was selected. */
type Chosen = TracedSeries & { readonly metricId: string | undefined };

function Live(props: LiveProps): VNode {
  const { projectName, spec, vms, isUnfinished, onThreshold } = props;
  const isLong = useSignal(false);
  const chosen = useSignal<Chosen | undefined>(undefined);
  const traced = tracedOf(chosen.value, spec);
  const range = isLong.value ? rangeOnRequest(vms) : rangeAtOnce(vms);
  const request: PreviewRequest = {
    projectName,
    spec,
    historySeconds: range,
    withInstances: true,
    ...(traced && { traceVmName: traced.vmName, traceLabels: traced.labels }),
  };
  const loader = usePreview(request);
  const trace = ({ vmName, vmDisplayName, labels }: TracedSeries): void => {
    chosen.value = { vmName, vmDisplayName, labels, metricId: spec.metricId };
  };
  const first = loader.state.value.value?.preview.instances[0];
  useEffect(() => {
    if (traced === undefined && first !== undefined) trace(first);
  }, [traced === undefined, first]);
  return (
    <>
      <p class="weak">{texts.estimate(formatDuration(range))}</p>
      <RangeChoice isLong={isLong} atOnce={rangeAtOnce(vms)} onRequest={rangeOnRequest(vms)} />
      <DataView of={loader} lines={8}>
        {({ preview, requested }) => (
          <>
            <p class="weak preview-age" role="status">
              {ageText(isUnfinished, requested === evaluatedOf(request))}
            </p>
            <Coverage of={preview} vms={vms} />
            <h3>{texts.lanes}</h3>
            <PreviewLanes
              of={preview}
              window={displayedWindow(preview)}
              traced={traced}
              onTrace={trace}
            />
            <Traced
              of={preview}
              spec={spec}
              traced={traced}
              onTrace={trace}
              onThreshold={onThreshold}
            />
          </>
        )}
      </DataView>
    </>
  );
}

function ageText(isUnfinished: boolean, isCurrent: boolean): string {
  if (isUnfinished) return texts.unfinished;
  return isCurrent ? texts.current : texts.outdated;
}

/**
 * The selected series, if the rule still covers it; otherwise its labels belong to another metric.
 */
function tracedOf(chosen: Chosen | undefined, spec: RuleSpec): TracedSeries | undefined {
  if (chosen === undefined || chosen.metricId !== spec.metricId) return undefined;
  const isSelected = spec.allVms || spec.vmNames?.includes(chosen.vmName);
  return isSelected ? chosen : undefined;
}

interface Previewed {
  readonly preview: Preview;
  /** Key of the evaluated request, from `evaluatedOf`. */
  readonly requested: string;
}

function keyOf(request: PreviewRequest): string {
  return JSON.stringify(request);
}

/** The rule and the range. The traced series is excluded because it does not affect the result. */
function evaluatedOf({ spec, historySeconds }: PreviewRequest): string {
  return JSON.stringify([spec, historySeconds]);
}

/**
 * Loads at once at first and after a delay following each change; the previous request is
 * abandoned.
 */
function usePreview(request: PreviewRequest): Loader<Previewed> {
  const requested = useRef(request);
  const loader = useLoaded(
    `preview ${request.projectName}`,
    async (options): Promise<Previewed> => {
      const { current } = requested;
      const preview = await read('AlertService', 'previewAlertRule', current, options);
      return { preview, requested: evaluatedOf(current) };
    },
  );
  const key = keyOf(request);
  useEffect(() => {
    if (keyOf(requested.current) === key) return undefined;
    // Selecting a lane or a button needs no delay; only the rule is typed.
    const isEdited = JSON.stringify(requested.current.spec) !== JSON.stringify(request.spec);
    return serverClock.wakeAfter(isEdited ? WAIT_MS : 0, () => {
      requested.current = request;
      loader.reload();
    });
  }, [key, loader]);
  return loader;
}

function RangeChoice(props: {
  readonly isLong: Signal<boolean>;
  readonly atOnce: number;
  readonly onRequest: number;
}): VNode | null {
  const { isLong, atOnce, onRequest } = props;
  if (onRequest <= atOnce) return null;
  return (
    <p class="range-choice">
      <button
        type="button"
        class="quiet"
        onClick={() => {
          isLong.value = !isLong.value;
        }}
      >
        {isLong.value
          ? texts.shorter(formatDuration(atOnce))
          : texts.longer(formatDuration(onRequest))}
      </button>
      {!isLong.value && <small class="effect">{texts.longerEffect}</small>}
    </p>
  );
}

interface CoverageProps {
  readonly of: Preview;
  readonly vms: number;
}

/** Both statuses, the counts and the VMs without data: always shown, in words. */
function Coverage({ of: preview, vms }: CoverageProps): VNode {
  const { queryStatus, historyStatus, evaluatedSamples, expectedSamples } = preview;
  const evaluated = formatCount(Number(evaluatedSamples), format.value);
  const expected = formatCount(Number(expectedSamples), format.value);
  const query = queryStatus === 'QUERY_STATUS_UNSPECIFIED' ? 'unknown' : queryStatus;
  const history = historyStatus === 'STATUS_UNSPECIFIED' ? 'unknown' : historyStatus;
  const [unknown, more] = unknownWords(preview);
  return (
    <>
      <dl class="facts">
        <Fact name={texts.result} words={resultText(preview, vms)} />
        <Fact name={texts.readings} words={texts.counts(evaluated, expected)} />
        <Fact name={texts.query} words={texts.queries[query]} />
        <Fact name={texts.history} words={`${texts.histories[history]} ${beginText(preview)}`} />
      </dl>
      {unknown !== undefined && (
        <NoticeBox tone="unknown" title={unknown}>
          {more}
        </NoticeBox>
      )}
    </>
  );
}

/** Start of the readings, if it is later than requested. */
function beginText(preview: Preview): string {
  const { startMs } = displayedWindow(preview);
  if (startMs <= Number(preview.startUnixMs) + TOLERANCE_MS) return '';
  return texts.begins(formatTime(startMs, nowMs.peek(), format.value));
}

function Fact({ name, words }: { readonly name: string; readonly words: string }): VNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{words}</dd>
    </div>
  );
}

function resultText(preview: Preview, vms: number): string {
  const { wouldHaveFired, truncated, evaluatedSamples } = preview;
  const count = wouldHaveFired.length;
  const text = formatCount(count, format.value);
  if (truncated) return texts.firedAtLeast(text);
  if (count > 0) {
    const fired = new Set(wouldHaveFired.map(({ vmName }) => vmName)).size;
    return texts.fired(
      ...([count, text] as const),
      ...([formatCount(fired, format.value), formatCount(vms, format.value)] as const),
    );
  }
  if (vms === 0) return texts.noVms;
  return evaluatedSamples === '0' ? texts.unknownResult : texts.quiet;
}

/** VMs and readings without data: zero to two sentences. */
function unknownWords(preview: Preview): string[] {
  const { unknownVms, unknownVmNames, unknownVmDisplayNames } = preview;
  const { evaluatedSamples, expectedSamples } = preview;
  const missing = Number(expectedSamples) - Number(evaluatedSamples);
  const names = unknownVmNames.map((name, i) => unknownVmDisplayNames[i] || idOf(name)).join(', ');
  const more = Number(unknownVms) - unknownVmNames.length;
  const whom = more > 0 ? texts.andMore(names, formatCount(more, format.value)) : names;
  return [
    ...(unknownVms === '0' ? [] : [texts.nothingKnown(whom)]),
    ...(missing > 0 ? [texts.missingReadings(formatCount(missing, format.value))] : []),
  ];
}

interface TracedProps {
  readonly of: Preview;
  readonly spec: RuleSpec;
  readonly traced: TracedSeries | undefined;
  readonly onTrace: (series: TracedSeries) => void;
  readonly onThreshold: (threshold: number) => void;
}

function Traced(props: TracedProps): VNode | null {
  const { of: preview, traced, onTrace } = props;
  const { instances } = preview;
  if (traced === undefined) return null;
  const isListed = instances.some((one) => seriesKey(one) === seriesKey(traced));
  const offered: readonly TracedSeries[] = isListed ? instances : [traced, ...instances];
  const choose = (key: string): void => {
    const series = offered.find((one) => seriesKey(one) === key);
    if (series !== undefined) onTrace(series);
  };
  return (
    <>
      <SelectField
        label={texts.traced}
        value={seriesKey(traced)}
        options={offered.map((one) => ({ value: seriesKey(one), title: seriesName(one) }))}
        onChange={choose}
      />
      <Trace {...props} />
    </>
  );
}

function Trace({ of: preview, spec, onThreshold }: TracedProps): VNode {
  const { trace } = preview;
  const condition = trace?.condition;
  const unit = condition?.unit ?? '';
  const { startMs } = displayedWindow(preview);
  const data = useMemo(
    () => trace && traceData(trace, startMs, { unit, reason: texts.gapReason }),
    [trace, startMs, unit],
  );
  if (trace === undefined || data === undefined) {
    // The first response arrives before a series is selected; the next one has its readings.
    if (preview.queryStatus === 'OK') return <Loading lines={6} />;
    return <p class="weak">{texts.traceUnknown}</p>;
  }
  if (condition?.gapToleranceSeconds === 0) return <p class="weak">{texts.traceSilence}</p>;
  if (data.columns.length === 0) return <p class="weak">{texts.traceNone}</p>;
  // The rule as typed, which may be newer than the response.
  const { threshold, recoveryThreshold: recovery } = spec;
  const limits = [threshold, recovery].filter((limit) => typeof limit === 'number');
  const isDay = Number(preview.endUnixMs) - startMs > DAY_SECONDS * 1_000;
  return (
    <>
      <HistoryChart
        label={seriesName(trace)}
        unit={unit}
        data={data}
        limits={limits}
        {...(typeof threshold === 'number' && {
          movable: { label: texts.threshold, value: threshold, onMove: onThreshold },
        })}
      />
      <p class="weak">
        {isDay && texts.traceRange} {texts.thresholdHelp}{' '}
        {typeof recovery === 'number' &&
          texts.recovery(formatReading(recovery, unit, format.value))}
      </p>
    </>
  );
}
