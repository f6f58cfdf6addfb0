/**
 * Responses as the bytes that leave the service, in proto3 JSON or protobuf: the same as the RPC
 * framework would produce, but encoded in the thread that has the points. Points are most of a
 * response and all alike, so their JSON is concatenated as text, five times as fast as through
 * messages. The rest goes through the schema.
 */

import { create, type MessageInitShape, toBinary, toJson } from '@bufbuild/protobuf';
import { Refusal } from '../../../../streams/platform/refusal.ts';
import { causeHelp } from '../../../../streams/telemetry/metrics/absence-causes.ts';
import { parseLabels } from '../../../../streams/telemetry/samples/batch.ts';
import {
  ExpandedMonitoring_State,
  ListVMMonitoringResponseSchema,
  Quality_State,
  QualitySchema,
  type QueryVMMonitoringResponse,
  QueryVMMonitoringResponseSchema,
  Telemetry_State,
  VMMonitoring_State,
  VMMonitoringSchema,
} from '../../../gen/svc/monitoring/v1/monitoring_pb.ts';
import { unixSeconds } from '../../../platform/api/message-fields.ts';
import { ANSWER_BYTES_MAX } from '../../../platform/http-limits.ts';
import type { VmAnswer } from './answer.ts';
import type { Expanded, InventoryEntry } from './inventory.ts';
import type { FailureReason, MetricAnswer } from './quality.ts';

/** Format of a response message, by the content type of its request: `json` is proto3 JSON. */
export type AnswerFormat = 'json' | 'binary';

/** Minimum bytes per point: a response with more points than fit is rejected before it is built. */
const POINT_BYTES_MIN = { json: 35, binary: 17 } as const;
/** Implicit defaults are written (`vms: []`), as everywhere in the API. */
const JSON_OPTIONS = { alwaysEmitImplicit: true } as const;

/** Throws a `Refusal` RESPONSE_TOO_LARGE. */
export function answerBytes(answer: VmAnswer, format: AnswerFormat): Uint8Array<ArrayBuffer> {
  const points = countPoints(answer);
  if (points * POINT_BYTES_MIN[format] > ANSWER_BYTES_MAX) throw tooLarge(points);
  const bytes =
    format === 'json'
      ? textBytes(answerJson(answer))
      : toBinary(QueryVMMonitoringResponseSchema, answerMessage(answer));
  return bounded(bytes, points);
}

/** One VM's entry. */
export function vmBytes(
  project: string,
  entry: InventoryEntry,
  format: AnswerFormat,
): Uint8Array<ArrayBuffer> {
  const message = create(VMMonitoringSchema, vmMessage(project, entry));
  return format === 'json'
    ? textBytes(JSON.stringify(toJson(VMMonitoringSchema, message, JSON_OPTIONS)))
    : toBinary(VMMonitoringSchema, message);
}

/** Throws a `Refusal` RESPONSE_TOO_LARGE. */
export function inventoryBytes(
  page: {
    readonly project: string;
    readonly entries: readonly InventoryEntry[];
    readonly nextPageToken: string;
    readonly totalSize: number;
  },
  format: AnswerFormat,
): Uint8Array<ArrayBuffer> {
  const { nextPageToken, totalSize } = page;
  const vms = page.entries.map((entry) => vmMessage(page.project, entry));
  const message = create(ListVMMonitoringResponseSchema, { vms, nextPageToken, totalSize });
  const bytes =
    format === 'json'
      ? textBytes(JSON.stringify(toJson(ListVMMonitoringResponseSchema, message, JSON_OPTIONS)))
      : toBinary(ListVMMonitoringResponseSchema, message);
  return bounded(bytes, page.entries.length);
}

function answerJson(answer: VmAnswer): string {
  const { range, metrics } = answer;
  const quality = toJson(
    QualitySchema,
    create(QualitySchema, qualityMessage(answer)),
    JSON_OPTIONS,
  );
  const series = metrics.flatMap((metric) => ('failed' in metric ? [] : seriesJson(metric)));
  return (
    `{"startTimeUnix":"${range.startMs / 1000}","endTimeUnix":"${range.endMs / 1000}",` +
    `"stepSeconds":${range.stepMs / 1000},"quality":${JSON.stringify(quality)},` +
    `"series":[${series.join(',')}]}`
  );
}

type Series = Exclude<VmAnswer['metrics'][number], { readonly failed: FailureReason }>;

function seriesJson({ metricId, series }: Series): string[] {
  return series.map(({ unit, labels, points }) => {
    const head = JSON.stringify({ metricId, unit, labels: parseLabels(labels) }).slice(0, -1);
    let text = '';
    for (const { timeMs, value, min, max } of points) {
      const separator = text === '' ? '' : ',';
      const extremes = min === undefined ? '' : `,"min":${min},"max":${max}`;
      // A number is valid JSON as text: values are finite, and -0 is written as 0.
      text += `${separator}{"timeUnix":"${Math.floor(timeMs / 1000)}","value":${value}${extremes}}`;
    }
    return `${head},"points":[${text}]}`;
  });
}

function textBytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function countPoints({ metrics }: VmAnswer): number {
  let count = 0;
  for (const metric of metrics) {
    if ('failed' in metric) continue;
    for (const { points } of metric.series) count += points.length;
  }
  return count;
}

function bounded(bytes: Uint8Array<ArrayBuffer>, points: number): Uint8Array<ArrayBuffer> {
  if (bytes.byteLength > ANSWER_BYTES_MAX) throw tooLarge(points);
  return bytes;
}

function tooLarge(points: number): Refusal {
  const message = `A response with ${points} points or rows exceeds 4 MiB: request fewer`;
  return new Refusal('RESPONSE_TOO_LARGE', message);
}

/** The whole response as a message. */
export function answerMessage(answer: VmAnswer): QueryVMMonitoringResponse {
  const { range, metrics } = answer;
  return create(QueryVMMonitoringResponseSchema, {
    startTimeUnix: unixSeconds(range.startMs),
    endTimeUnix: unixSeconds(range.endMs),
    stepSeconds: range.stepMs / 1000,
    quality: qualityMessage(answer),
    series: metrics.flatMap(seriesMessages),
  });
}

/** Quality as a message's fields. */
function qualityMessage({
  quality,
  lastObservedMs,
  datacenter,
}: Pick<VmAnswer, 'quality' | 'lastObservedMs' | 'datacenter'>): MessageInitShape<
  typeof QualitySchema
> {
  return {
    state: Quality_State[quality.state],
    ...(lastObservedMs === undefined ? {} : { lastObservedUnix: unixSeconds(lastObservedMs) }),
    datacenterState: datacenter.toUpperCase(),
    expectedSamples: BigInt(quality.expectedSamples),
    observedSamples: BigInt(quality.observedSamples),
    gaps: quality.gaps.map(({ startMs, endMs, reason }) => ({
      startUnix: unixSeconds(startMs),
      endUnix: unixSeconds(endMs),
      reason,
    })),
    metrics: quality.metrics.map(({ metricId, state, reason }) => ({
      metricId,
      state: Quality_State[state],
      reason,
      help: causeHelp(reason),
    })),
    reasons: [...quality.reasons],
    impossible: quality.impossible.map(({ metricId, labels, timeMs, value }) => {
      return { metricId, labels: parseLabels(labels), timeUnix: unixSeconds(timeMs), value };
    }),
  };
}

function seriesMessages(answer: MetricAnswer) {
  if ('failed' in answer) return [];
  const { metricId, series } = answer;
  return series.map(({ unit, labels, points }) => ({
    metricId,
    unit,
    labels: parseLabels(labels),
    points: points.map(({ timeMs, ...values }) => ({ timeUnix: unixSeconds(timeMs), ...values })),
  }));
}

/** A VM of the inventory as a message's fields. */
function vmMessage(
  project: string,
  {
    id,
    state,
    lastState,
    stateObservedMs,
    telemetry,
    lastObservedMs,
    expanded,
    ...same
  }: InventoryEntry,
): MessageInitShape<typeof VMMonitoringSchema> {
  return {
    ...same,
    name: `projects/${project}/vms/${id}`,
    state: VMMonitoring_State[state],
    ...(lastState !== undefined && { lastState: VMMonitoring_State[lastState] }),
    ...(stateObservedMs !== undefined && { stateObservedUnix: unixSeconds(stateObservedMs) }),
    telemetry: {
      state: Telemetry_State[telemetry],
      ...(lastObservedMs === undefined ? {} : { lastObservedUnix: unixSeconds(lastObservedMs) }),
    },
    expanded: expandedMessage(expanded),
  };
}

function expandedMessage({ isAvailable, state, tokenExpiresMs, lastObservedMs }: Expanded) {
  return {
    available: isAvailable,
    reason: isAvailable ? '' : 'OTHER_DATACENTER',
    state: ExpandedMonitoring_State[state],
    ...(tokenExpiresMs !== undefined && { tokenExpiresUnix: unixSeconds(tokenExpiresMs) }),
    ...(lastObservedMs !== undefined && { lastObservedUnix: unixSeconds(lastObservedMs) }),
  };
}
