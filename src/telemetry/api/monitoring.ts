/**
 * `MonitoringService`: checks a message, queries the threads and returns their bytes. The request
 * carries what only the main thread knows: records, data centers, clocks, the time.
 */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { Host, ListOptions, ProjectRecord } from '../../../actors/platform/host/host-port.ts';
import type { ClockNotes } from '../../../actors/telemetry/ingest/clock-notes.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { metricCatalogue } from '../../../streams/telemetry/metrics/catalogue.ts';
import {
  type ListVMMonitoringRequest,
  ListVMMonitoringResponseSchema,
  type MonitoringService,
  type QueryVMMonitoringRequest,
  QueryVMMonitoringResponseSchema,
} from '../../gen/svc/monitoring/v1/monitoring_pb.ts';
import { within } from '../../platform/api/caller.ts';
import { formatOf, readyAnswer } from '../../platform/api/list-answer.ts';
import { collect, mapPage } from '../../platform/api/paging.ts';
import { parseName, parseProjectName } from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';
import type { ProjectLimitUse } from '../../platform/gate/limit-use.ts';
import type { KnownVm } from '../query/vm/inventory.ts';
import { checkMetricIds, rangeOf } from '../query/vm/range.ts';
import type { VmQueries } from '../query/vm/vm-queries.ts';

export interface MonitoringDeps {
  readonly host: Pick<Host, 'view'>;
  readonly vmQueries: VmQueries;
  readonly datacenters: { stateOf(name: string): 'live' | 'stale' };
  /** What ingest knows of the sources' clocks. */
  readonly clocks: Pick<ClockNotes, 'within'>;
  readonly limitUse: Pick<ProjectLimitUse, 'of'>;
  readonly clock: Clock;
}

export function monitoringService(deps: MonitoringDeps): ServiceImpl<typeof MonitoringService> {
  return {
    queryVMMonitoring: (request, context) => queryVMMonitoring(deps, request, context),
    listVMMonitoring: (request, context) => listVMMonitoring(deps, request, context),
    getVMMonitoring({ name }, context) {
      const { project } = parseName('name', name, 'vms');
      within(context, project);
      throw new Refusal('INVALID_STATE', 'GetVMMonitoring is not there yet');
    },
    listMetricDescriptors({ projectName }, context) {
      within(context, parseProjectName('projectName', projectName));
      const descriptors = [...metricCatalogue.values()].map(
        ({ metricId, unit, source, promqlName, limitation, expanded }) => {
          return { metricId, unit, source, promqlName, limitation, expanded };
        },
      );
      return { descriptors };
    },
    getProjectLimits({ projectName }, context) {
      const project = within(context, parseProjectName('projectName', projectName));
      const limits = deps.limitUse.of(project).map(({ limit, used, ...rest }) => ({
        ...{ ...rest, limit: BigInt(limit) },
        ...(used !== undefined && { used: BigInt(used) }),
      }));
      return { limits };
    },
  };
}

async function queryVMMonitoring(
  { host, vmQueries, datacenters, clocks, clock }: MonitoringDeps,
  request: QueryVMMonitoringRequest,
  context: HandlerContext,
) {
  const { project, id: vm } = parseName('name', request.name, 'vms');
  const record = host.view(within(context, project)).record('vm', vm);
  if (!record) throw new Refusal('NOT_FOUND', `There is no ${request.name}`);
  const metricIds = checkMetricIds(request.metricIds);
  const requested = {
    startSeconds: secondsOf(request.startTimeUnix),
    endSeconds: secondsOf(request.endTimeUnix),
    stepSeconds: request.stepSeconds,
  };
  const nowMs = clock.now();
  const range = rangeOf(requested, nowMs);
  const { datacenterState: datacenter, expandedMonitoring } = knownVm(datacenters, record);
  // A range that goes up to now ends with its last whole step: what is wrong now belongs to it.
  const untilMs = Math.min(nowMs, range.endMs + range.stepMs);
  const clockReasons = clocks.within(project, vm, range.startMs - range.stepMs, untilMs);
  const facts = { nowMs, datacenter, expandedMonitoring, clockReasons };
  const query = { project, vm, metricIds, range, ...facts };
  const bytes = await vmQueries.query({ query, format: formatOf(context) }, context.signal);
  return readyAnswer(context, QueryVMMonitoringResponseSchema, bytes);
}

function secondsOf(time: bigint | undefined): number | undefined {
  return time === undefined ? undefined : Number(time);
}

function knownVm(
  datacenters: MonitoringDeps['datacenters'],
  { id, body }: ProjectRecord<'vm'>,
): KnownVm {
  // Records of this kind are written by the registry alone.
  const { displayName, datacenter, expandedMonitoring } = body;
  const datacenterState = datacenters.stateOf(datacenter);
  return { id, displayName, datacenter, datacenterState, expandedMonitoring };
}

/** No more: its history is still read by its name. */
function isRetired({ body }: ProjectRecord<'vm'>): boolean {
  return body.retiredMs !== undefined;
}

/**
 * In the order of VM names. A token names the last VM of its page, so that what comes and goes does
 * not move the others between pages, and is of its own project alone.
 */
async function listVMMonitoring(
  { host, vmQueries, datacenters, clock }: MonitoringDeps,
  request: ListVMMonitoringRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const kind = `vms of ${project}`;
  const read = (options: ListOptions) =>
    mapPage(host.view(project).records('vm', options), (record) =>
      isRetired(record) ? undefined : knownVm(datacenters, record),
    );
  const page = await collect(kind, request, read, turnsOf(context));
  const { items: vms, nextPageToken } = page;
  const call = {
    ...{ project, vms, nextPageToken },
    nowMs: clock.now(),
    inventoryOnly: request.inventoryOnly,
    format: formatOf(context),
  };
  const bytes = await vmQueries.inventory(call, context.signal);
  return readyAnswer(context, ListVMMonitoringResponseSchema, bytes);
}
