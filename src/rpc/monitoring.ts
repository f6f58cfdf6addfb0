/** `MonitoringService`: reads a message, asks `src/query`, answers. */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { Host } from '../../actors/host-port.ts';
import { Turns } from '../../actors/turns.ts';
import type { VmBody } from '../../actors/vm-registry.ts';
import type { Clock } from '../../streams/clock.ts';
import { metricCatalogue } from '../../streams/metrics/catalogue.ts';
import { Refusal } from '../../streams/refusal.ts';
import type { HistoryReader } from '../../streams/samples/columns.ts';
import { parseLabels } from '../../streams/samples/series-key.ts';
import {
  type ListVMMonitoringRequest,
  type MonitoringService,
  Quality_State,
  type QueryVMMonitoringRequest,
  Telemetry_State,
  VMMonitoring_State,
} from '../gen/svc/monitoring/v1/monitoring_pb.ts';
import { type MetricAnswer, qualityOf, type RangeQuality } from '../query/quality.ts';
import { createQueryGate, type QueryGate } from '../query/query-gate.ts';
import { type InventoryEntry, inventoryEntry } from '../query/vm-inventory.ts';
import { checkMetricIds, queryMetrics, rangeOf } from '../query/vm-query.ts';
import { unixSeconds } from './alert-messages.ts';
import { within } from './caller.ts';
import { listOptions, pageToken } from './paging.ts';
import { nameOf, parseName, parseProjectName } from './resource-name.ts';

export interface MonitoringDeps {
  readonly host: Pick<Host, 'view'>;
  readonly history: HistoryReader;
  readonly datacenters: { stateOf(name: string): 'live' | 'stale' };
  readonly clock: Clock;
}

export function monitoringService(deps: MonitoringDeps): ServiceImpl<typeof MonitoringService> {
  const gate = createQueryGate(deps.clock);
  const turns = new Turns(deps.clock);
  return {
    queryVMMonitoring: (request, context) => queryVMMonitoring(deps, gate, request, context),
    listVMMonitoring: (request, context) => listVMMonitoring(deps, turns, request, context),
    listMetricDescriptors({ projectName }, context) {
      within(context, parseProjectName('projectName', projectName));
      const descriptors = [...metricCatalogue.values()].map(
        ({ metricId, unit, source, promqlName, limitation, expanded }) => {
          return { metricId, unit, source, promqlName, limitation, expanded };
        },
      );
      return { descriptors };
    },
  };
}

async function queryVMMonitoring(
  deps: MonitoringDeps,
  gate: QueryGate,
  request: QueryVMMonitoringRequest,
  context: HandlerContext,
) {
  const { host, history, datacenters, clock } = deps;
  const { project, id } = parseName('name', request.name, 'vms');
  const record = host.view(within(context, project)).record('vm', id);
  if (!record) throw new Refusal('NOT_FOUND', `There is no ${request.name}`);
  const metricIds = checkMetricIds(request.metricIds);
  const requested = {
    startSeconds: secondsOf(request.startTimeUnix),
    endSeconds: secondsOf(request.endTimeUnix),
    stepSeconds: request.stepSeconds,
  };
  return await gate.run(project, context.signal, async (signal) => {
    const nowMs = clock.now();
    const range = rangeOf(requested, nowMs);
    const query = { project, vm: id, metricIds, range, signal };
    const answers = await queryMetrics(history, query);
    const { datacenter, expandedMonitoring } = record.body as unknown as VmBody;
    const lastObservedMs = history.latest(project, id)?.observedMs;
    const state = datacenters.stateOf(datacenter);
    const facts = { nowMs, lastObservedMs, datacenter: state, expandedMonitoring, vmReasons: [] };
    return {
      startTimeUnix: unixSeconds(range.startMs),
      endTimeUnix: unixSeconds(range.endMs),
      stepSeconds: request.stepSeconds,
      quality: qualityMessage(qualityOf(answers, range, facts), facts),
      series: answers.flatMap(seriesMessages),
    };
  });
}

function secondsOf(time: bigint | undefined): number | undefined {
  return time === undefined ? undefined : Number(time);
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

function qualityMessage(
  quality: RangeQuality,
  { lastObservedMs, datacenter }: { lastObservedMs: number | undefined; datacenter: string },
) {
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

/**
 * In the order of VM ids: what comes and goes does not move the others between pages. The newest
 * row of a silent VM is unpacked from a chunk (0.6 ms): a page of them shares the thread.
 */
async function listVMMonitoring(
  deps: MonitoringDeps,
  turns: Turns,
  request: ListVMMonitoringRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const page = deps.host.view(project).records('vm', listOptions('vms', request));
  const asked = { nowMs: deps.clock.now(), inventoryOnly: request.inventoryOnly };
  const vms: ReturnType<typeof vmMessage>[] = [];
  for (const record of page.items) {
    await turns.breathe();
    vms.push(vmMessage(project, inventoryEntry(deps, record, asked)));
  }
  return { vms, nextPageToken: pageToken('vms', page.next) };
}

function vmMessage(project: string, entry: InventoryEntry) {
  const { id, state, telemetry, lastObservedMs, ...same } = entry;
  return {
    ...same,
    name: nameOf(project, 'vms', id),
    state: VMMonitoring_State[state],
    telemetry: {
      state: Telemetry_State[telemetry],
      ...(lastObservedMs === undefined ? {} : { lastObservedUnix: unixSeconds(lastObservedMs) }),
    },
  };
}
