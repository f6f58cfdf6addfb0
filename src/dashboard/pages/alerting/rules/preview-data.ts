/**
 * A preview as displayed: its range, the lane of each series, and its traced readings. Pure.
 * Nothing is decided here; it only positions the evaluation of the service.
 */
import { position, type Scale } from '../../../charts/axis.ts';
import type { HistoryData } from '../../../charts/history-data.ts';
import { idOf } from '../../../data/names.ts';
import type { RequestOf, ResponseOf } from '../../../data/rpc-types.ts';

export type Preview = ResponseOf<'AlertService', 'previewAlertRule'>;
export type PreviewRequest = RequestOf<'AlertService', 'previewAlertRule'>;
export type RuleSpec = NonNullable<PreviewRequest['spec']>;
export type PreviewedInstance = Preview['instances'][number];
type Trace = NonNullable<Preview['trace']>;

/** Samples evaluated without a request by the user: about one second of the service's time. */
const SAMPLES_AT_ONCE = 500_000;
/** Maximum number of samples that the service accepts. */
const SAMPLES_MAX = 10_000_000;
const SAMPLING_SECONDS = 30;
/** Round durations, longest first. The service keeps a week. */
const RANGES_SECONDS = [
  604_800, 259_200, 172_800, 86_400, 43_200, 21_600, 10_800, 3_600, 900,
] as const;

/** Default range of a preview of that many VMs, s. */
export function rangeAtOnce(vms: number): number {
  return longest(vms, SAMPLES_AT_ONCE);
}

/** Maximum range on request, s: a week, except for very many VMs. */
export function rangeOnRequest(vms: number): number {
  return longest(vms, SAMPLES_MAX);
}

function longest(vms: number, samplesMax: number): number {
  const fits = (seconds: number): boolean => (vms * seconds) / SAMPLING_SECONDS <= samplesMax;
  return RANGES_SECONDS.find(fits) ?? RANGES_SECONDS[RANGES_SECONDS.length - 1] ?? 900;
}

/** A series of a VM: the input of a trace. */
export interface TracedSeries {
  readonly vmName: string;
  readonly vmDisplayName: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Name of a series: its VM, and the labels that distinguish it from others of that VM. */
export function seriesName({ vmName, vmDisplayName, labels }: TracedSeries): string {
  return [vmDisplayName || idOf(vmName), ...Object.values(labels)].join(' ');
}

export function seriesKey({ vmName, labels }: TracedSeries): string {
  return `${vmName} ${JSON.stringify(Object.entries(labels).sort())}`;
}

/** Bounds of the evaluated range, Unix ms. */
export interface Window {
  readonly startMs: number;
  readonly endMs: number;
}

/** From the earliest known data to the end; the whole range if there is no data. */
export function displayedWindow({ startUnixMs, endUnixMs, instances }: Preview): Window {
  const [startMs, endMs] = [Number(startUnixMs), Number(endUnixMs)];
  const firstMs = instances.map((one) => firstKnownMs(one)).filter((ms) => ms !== undefined);
  return { startMs: firstMs.length > 0 ? Math.min(...firstMs) : startMs, endMs };
}

/** Start of the first segment with data, Unix ms; undefined if absent. */
export function firstKnownMs({ segments }: PreviewedInstance): number | undefined {
  const first = segments.find(({ dataState }) => dataState !== 'MISSING');
  return first && Number(first.startUnixMs);
}

export type LaneKind = 'known' | 'sustaining' | 'firing' | 'missing' | 'unlisted';

/** A segment of a lane, px. */
export interface LaneShape {
  readonly kind: LaneKind;
  readonly fromPx: number;
  readonly toPx: number;
}

/** Minimum width, px, so that short segments stay visible. */
const SHAPE_PX_MIN = 2;

/**
 * The segments of a lane by kind, from left to right. Segments of one kind that touch on the screen
 * are merged, so the width bounds their number. Sustaining segments do not cross missing data;
 * firing ones do.
 */
export function laneShapes(
  { segments, segmentsTruncated }: PreviewedInstance,
  { startMs, endMs }: Window,
  widthPx: number,
): readonly LaneShape[] {
  const scale: Scale = { from: startMs, to: endMs, fromPx: 0, toPx: widthPx };
  const listedMs = Number(segments[0]?.startUnixMs ?? endMs);
  const stretches: { kind: LaneKind; fromMs: number; toMs: number }[] = [];
  const isUnlisted = segmentsTruncated && listedMs > startMs;
  if (isUnlisted) stretches.push({ kind: 'unlisted', fromMs: startMs, toMs: listedMs });
  for (const { state, dataState, startUnixMs, endUnixMs } of segments) {
    const stretch = { fromMs: Number(startUnixMs), toMs: Number(endUnixMs) };
    if (stretch.toMs <= startMs) continue;
    stretches.push({ kind: dataState === 'MISSING' ? 'missing' : 'known', ...stretch });
    if (state === 'SUSTAINING') stretches.push({ kind: 'sustaining', ...stretch });
    if (state === 'FIRING') stretches.push({ kind: 'firing', ...stretch });
  }
  const shapes: LaneShape[] = [];
  const newest = new Map<LaneKind, number>();
  for (const { kind, fromMs, toMs } of stretches) {
    const fromPx = Math.min(widthPx - SHAPE_PX_MIN, position(scale, Math.max(startMs, fromMs)));
    const toPx = Math.min(widthPx, Math.max(position(scale, toMs), fromPx + SHAPE_PX_MIN));
    const at = newest.get(kind);
    const before = at === undefined ? undefined : shapes[at];
    if (at !== undefined && before && fromPx <= before.toPx + 1) {
      shapes[at] = { ...before, toPx: Math.max(before.toPx, toPx) };
    } else {
      newest.set(kind, shapes.push({ kind, fromPx, toPx }) - 1);
    }
  }
  return shapes;
}

/** Text of a lane. */
export interface LaneCounts {
  readonly firings: number;
  /** Runs that did not fire. */
  readonly runs: number;
  /** Gaps after the first reading. */
  readonly gaps: number;
  /** Total length of the gaps, s. */
  readonly gapSeconds: number;
  /** True if older runs and gaps exist that are not listed. */
  readonly isAtLeast: boolean;
  /** State at the end. */
  readonly state: string;
}

export function laneCounts(instance: PreviewedInstance): LaneCounts {
  const { segments, firings, segmentsTruncated } = instance;
  const known = segments.slice(segments.findIndex(({ dataState }) => dataState !== 'MISSING'));
  const missing = known.filter(({ dataState }) => dataState === 'MISSING');
  const gapMs = missing.reduce(
    (sum, { startUnixMs, endUnixMs }) => sum + Number(endUnixMs) - Number(startUnixMs),
    0,
  );
  return {
    firings,
    runs: segments.filter(({ state }, i) => state === 'SUSTAINING' && endsIdle(segments, i)).length,
    gaps: missing.filter((one) => {
      return known[known.indexOf(one) - 1]?.dataState !== 'MISSING';
    }).length,
    gapSeconds: gapMs / 1_000,
    isAtLeast: segmentsTruncated,
    state: segments.at(-1)?.state ?? 'IDLE',
  };
}

/** Order: the most firings first, then breaches, then missing data; otherwise unchanged. */
export function eventfulFirst(
  instances: readonly PreviewedInstance[],
): readonly PreviewedInstance[] {
  const counted = instances.map((instance) => ({ instance, counts: laneCounts(instance) }));
  counted.sort(
    ({ counts: a }, { counts: b }) =>
      b.firings - a.firings ||
      Number(b.state === 'SUSTAINING') - Number(a.state === 'SUSTAINING') ||
      b.runs - a.runs ||
      b.gaps - a.gaps,
  );
  return counted.map(({ instance }) => instance);
}

/** A run ended without firing if its condition ended with it. */
function endsIdle(segments: PreviewedInstance['segments'], i: number): boolean {
  return segments[i + 1]?.state === 'IDLE';
}

/**
 * The readings of a trace for a history chart, at their observation times. Each gap gets a time
 * without a value, so that no line crosses it; tolerated gaps are not hatched.
 *
 * @param startMs earlier readings are dropped
 * @param words of the values and of a gap
 */
export function traceData(
  trace: Trace,
  startMs: number,
  { unit, reason }: { readonly unit: string; readonly reason: string },
): HistoryData {
  const { samples, segments } = trace;
  const fromMs = Math.max(startMs, Number(segments[0]?.startUnixMs));
  const endMs = Number(segments.at(-1)?.endUnixMs);
  const gaps = trace.gaps
    .map(({ startUnixMs, endUnixMs, tolerated }) => ({
      startMs: Math.max(fromMs, Number(startUnixMs)),
      endMs: Number(endUnixMs),
      tolerated,
    }))
    .filter((gap) => gap.endMs > gap.startMs);
  const points: { time: number; value: number | null }[] = [
    ...samples.map(({ observedUnixMs, value }) => ({ time: Number(observedUnixMs), value })),
    ...gaps.flatMap((gap) => withoutValue(gap, { startMs: fromMs, endMs })),
  ].sort((a, b) => a.time - b.time);
  const values = points.map(({ value }) => value);
  const isAbsent = (i: number): boolean => (values[i] ?? null) === null;
  const lone = values.flatMap((value, i) =>
    value !== null && isAbsent(i - 1) && isAbsent(i + 1) ? [i] : [],
  );
  const last = samples.at(-1);
  return {
    times: points.map(({ time }) => time / 1_000),
    stepSeconds: SAMPLING_SECONDS,
    columns:
      samples.length === 0
        ? []
        : [{ name: '', unit, values, least: undefined, greatest: undefined, lone }],
    gaps: gaps
      .filter(({ tolerated }) => !tolerated)
      .map((gap) => ({ startUnix: gap.startMs / 1_000, endUnix: gap.endMs / 1_000, reason })),
    last: last && { timeUnix: Number(last.observedUnixMs) / 1_000, value: last.value },
  };
}

/** In the middle of a gap, and at the ends of the drawn range that it reaches. */
function withoutValue(gap: Window, { startMs, endMs }: Window) {
  const times = [
    ...(gap.startMs <= startMs ? [startMs] : []),
    (gap.startMs + gap.endMs) / 2,
    ...(gap.endMs >= endMs ? [endMs] : []),
  ];
  return times.map((time) => ({ time, value: null }));
}
