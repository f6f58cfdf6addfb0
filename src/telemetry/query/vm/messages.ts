/**
 * Answers as the messages of the API: times in Unix seconds, enums by number, and nothing in them
 * that was not observed.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { parseLabels } from '../../../../streams/telemetry/samples/series-key.ts';
import {
  type ListVMMonitoringResponse,
  ListVMMonitoringResponseSchema,
  Quality_State,
  type QualitySchema,
  type QueryVMMonitoringResponse,
  QueryVMMonitoringResponseSchema,
  Telemetry_State,
  VMMonitoring_State,
} from '../../../gen/svc/monitoring/v1/monitoring_pb.ts';
import type { VmAnswer } from './answer.ts';
import type { InventoryEntry } from './inventory.ts';
import type { MetricAnswer } from './quality.ts';

/** The whole answer as a message. */
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
export function qualityMessage({
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
    })),
    reasons: [...quality.reasons],
  };
}

function seriesMessages(answer: MetricAnswer) {
  if ('failed' in answer) return [];
  const { metricId, series } = answer;
  return series.map(({ unit, labels, points }) => ({
    metricId,
    unit,
    labels: parseLabels(labels),
    points: points.map(({ timeMs, value }) => ({ timeUnix: unixSeconds(timeMs), value })),
  }));
}

/** A page of the inventory as a message. */
export function inventoryMessage(
  project: string,
  entries: readonly InventoryEntry[],
  nextPageToken: string,
): ListVMMonitoringResponse {
  const vms = entries.map(({ id, state, telemetry, lastObservedMs, ...same }) => ({
    ...same,
    name: `projects/${project}/vms/${id}`,
    state: VMMonitoring_State[state],
    telemetry: {
      state: Telemetry_State[telemetry],
      ...(lastObservedMs === undefined ? {} : { lastObservedUnix: unixSeconds(lastObservedMs) }),
    },
  }));
  return create(ListVMMonitoringResponseSchema, { vms, nextPageToken });
}

function unixSeconds(ms: number): bigint {
  return BigInt(Math.floor(ms / 1000));
}
