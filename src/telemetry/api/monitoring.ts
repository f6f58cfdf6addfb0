/**
 * `MonitoringService`: checks a message, queries the threads and returns their bytes. The request
 * carries what only the main thread knows: records, data centers, clocks and the time.
 */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { enrolmentIdOf } from '../../../actors/identity/grants.ts';
import type { Host } from '../../../actors/platform/host/host-port.ts';
import type { ClockNotes } from '../../../actors/telemetry/ingest/clock-notes.ts';
import type { Enrolments } from '../../../actors/vms/enrolments.ts';
import { type VmBody, vmDirectoryOf } from '../../../actors/vms/vm-directory.ts';
import type { VmSources } from '../../../actors/vms/vm-sources.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { type PageReader, pageOf, parsePageToken } from '../../../streams/platform/commit/page.ts';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import { metricCatalogue } from '../../../streams/telemetry/metrics/catalogue.ts';
import { VM_STATES } from '../../../streams/telemetry/samples/batch.ts';
import {
  type ListVMMonitoringRequest,
  ListVMMonitoringResponseSchema,
  type MonitoringService,
  type QueryVMMonitoringRequest,
  QueryVMMonitoringResponseSchema,
  VMMonitoring_State,
  VMMonitoringSchema,
} from '../../gen/svc/monitoring/v1/monitoring_pb.ts';
import { within } from '../../platform/api/caller.ts';
import { formatOf, readyAnswer } from '../../platform/api/list-answer.ts';
import { collect, mapPage } from '../../platform/api/paging.ts';
import { parseName, parseProjectName } from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';
import type { LimitUse, ProjectLimitUse } from '../../platform/gate/limit-use.ts';
import type { KnownVm } from '../query/vm/inventory.ts';
import { checkMetricIds, rangeOf } from '../query/vm/range.ts';
import type { VmQueries } from '../query/vm/vm-queries.ts';

/** Dependencies of the service; `vmQueries` reads and computes. */
export interface MonitoringDeps {
  readonly host: Pick<Host, 'view' | 'onApplied'>;
  readonly enrolments: Pick<Enrolments, 'isAvailableIn'>;
  readonly vmQueries: VmQueries;
  readonly datacenters: { stateOf(name: string): 'live' | 'stale' };
  /** Facts of ingest about the sources' clocks. */
  readonly clocks: Pick<ClockNotes, 'within'>;
  /** Facts of ingest about collectors of one VM. */
  readonly sources: Pick<VmSources, 'isReportedElsewhere'>;
  readonly limitUse: Pick<ProjectLimitUse, 'of'>;
  readonly clock: Clock;
  /** Age up to which history is read, ms. */
  readonly retentionMs: number;
}

/**
 * The RPCs of the service. A valid request is answered by a query thread, as bytes that are passed
 * on unread.
 */
export function monitoringService(deps: MonitoringDeps): ServiceImpl<typeof MonitoringService> {
  return {
    queryVMMonitoring: (request, context) => queryVMMonitoring(deps, request, context),
    listVMMonitoring: (request, context) => listVMMonitoring(deps, request, context),
    getVMMonitoring: ({ name }, context) => getVMMonitoring(deps, name, context),
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
      return { limits: limitMessages(deps.limitUse.of(project)) };
    },
  };
}

/** Limits as messages; a value that has not been measured yet is absent. */
export function limitMessages(limits: readonly LimitUse[]) {
  return limits.map(({ limit, used, ...rest }) => ({
    ...rest,
    limit: BigInt(limit),
    ...(used !== undefined && { used: BigInt(used) }),
  }));
}

async function queryVMMonitoring(
  { host, vmQueries, datacenters, clocks, sources, clock, retentionMs }: MonitoringDeps,
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
  const range = rangeOf(requested, nowMs, retentionMs);
  const { expandedMonitoring } = record.body;
  const datacenter = datacenters.stateOf(record.body.datacenter);
  // A range up to now ends with its last whole step: problems of this moment belong to it.
  const untilMs = Math.min(nowMs, range.endMs + range.stepMs);
  const fromMs = range.startMs - range.stepMs;
  const isElsewhere = sources.isReportedElsewhere(project, vm, fromMs, untilMs);
  const notedReasons = [
    ...clocks.within(project, vm, fromMs, untilMs),
    ...(isElsewhere ? (['REPORTED_ELSEWHERE'] as const) : []),
  ];
  const facts = { nowMs, datacenter, expandedMonitoring, notedReasons };
  const { withExtremes } = request;
  const query = { project, vm, metricIds, withExtremes, range, ...facts };
  const bytes = await vmQueries.query({ query, format: formatOf(context) }, context.signal);
  // Checked again: access may have ended while the history was read.
  within(context, project);
  return readyAnswer(context, QueryVMMonitoringResponseSchema, bytes);
}

function secondsOf(time: bigint | undefined): number | undefined {
  return time === undefined ? undefined : Number(time);
}

function knownVm(
  { datacenters, enrolments, host }: MonitoringDeps,
  project: string,
  vm: string,
  { displayName, datacenter, expandedMonitoring }: VmBody,
): KnownVm {
  const enrolment = host.view(project).instance('enrolment', enrolmentIdOf(project, vm));
  const isOffered = enrolment?.value === 'offered';
  const isOn = enrolment?.value === 'enrolled';
  return {
    id: vm,
    displayName,
    datacenter,
    expandedMonitoring,
    datacenterState: datacenters.stateOf(datacenter),
    expanded: {
      isAvailable: enrolments.isAvailableIn(datacenter),
      state: isOffered ? 'OFFERED' : isOn ? 'ON' : 'OFF',
      ...(isOffered && { tokenExpiresMs: enrolment.context.expiresMs }),
    },
  };
}

async function getVMMonitoring(deps: MonitoringDeps, name: string, context: HandlerContext) {
  const { project, id } = parseName('name', name, 'vms');
  const body = deps.host.view(within(context, project)).record('vm', id)?.body;
  if (!body || body.retiredMs !== undefined) {
    throw new Refusal('NOT_FOUND', `There is no ${name}`);
  }
  const request = {
    project,
    vms: [knownVm(deps, project, id, body)],
    nextPageToken: '',
    nowMs: deps.clock.now(),
    inventoryOnly: false,
    totalSize: undefined,
    format: formatOf(context),
  };
  const bytes = await deps.vmQueries.inventory(request, context.signal);
  // Checked again: access may have ended while the history was read.
  within(context, project);
  return readyAnswer(context, VMMonitoringSchema, bytes);
}

/**
 * Lists VMs in the order of their names. A token names the last VM of its page, so VMs that appear
 * or disappear do not move others between pages. It is valid only for its own project.
 */
async function listVMMonitoring(
  deps: MonitoringDeps,
  request: ListVMMonitoringRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const nowMs = deps.clock.now();
  const ids = await filteredVms(deps, project, { request, nowMs, signal: context.signal });
  const bodies = vmDirectoryOf(deps.host).vms(project);
  const read: PageReader<KnownVm | undefined> = ({ limit, after }) => {
    const from =
      after === undefined ? 0 : firstAfter(ids, String(parsePageToken(after, ['string'])[0]));
    return mapPage(
      pageOf(ids.slice(from, from + limit + 1), limit, (id) => [id]),
      (id) => {
        const body = bodies.get(id);
        return body && knownVm(deps, project, id, body);
      },
    );
  };
  const kind = `vms of ${project}`;
  const { items: vms, nextPageToken } = await collect(kind, request, read, turnsOf(context));
  const call = {
    project,
    vms,
    nextPageToken,
    nowMs,
    totalSize: ids.length,
    inventoryOnly: request.inventoryOnly,
    format: formatOf(context),
  };
  const bytes = await deps.vmQueries.inventory(call, context.signal);
  // Checked again: access may have ended while the history was read.
  within(context, project);
  return readyAnswer(context, ListVMMonitoringResponseSchema, bytes);
}

const SEARCH_MAX = 100;

/** Sorted ids of the VMs that match the filters. Throws INVALID_FIELD. */
async function filteredVms(
  { host, datacenters, vmQueries }: MonitoringDeps,
  project: string,
  about: { request: ListVMMonitoringRequest; nowMs: number; signal: AbortSignal },
): Promise<readonly string[]> {
  const { request, nowMs, signal } = about;
  const { datacenter } = request;
  for (const [field, text] of [
    ['search', request.search],
    ['datacenter', datacenter],
  ] as const) {
    if (text.length <= SEARCH_MAX) continue;
    throw invalidField(field, `${field} has ${text.length} characters: send at most ${SEARCH_MAX}`);
  }
  const wanted = request.states.map((state) => {
    const name = VM_STATES.find((one) => VMMonitoring_State[one] === state);
    if (name) return name;
    throw invalidField('states', `states contains ${state}: use ${VM_STATES.join(', ')}`);
  });
  const search = request.search.toLowerCase();
  const bodies = vmDirectoryOf(host).vms(project);
  const ids: string[] = [];
  for (const [id, body] of bodies) {
    if (body.retiredMs !== undefined) continue;
    if (datacenter !== '' && body.datacenter !== datacenter) continue;
    const text = search === '' ? '' : `${id}\n${body.displayName}`.toLowerCase();
    if (text.includes(search)) ids.push(id);
  }
  // Ids are ASCII: this is the order of their bytes.
  ids.sort();
  if (wanted.length === 0) return ids;
  const isStale = ids.map(
    (id) => datacenters.stateOf(bodies.get(id)?.datacenter ?? '') === 'stale',
  );
  const { states } = await vmQueries.states({ project, ids, isStale, nowMs }, signal);
  return ids.filter((_, i) => wanted.some((state) => state === states[i]));
}

/** Index of the first id after `after`, which may no longer exist. */
function firstAfter(ids: readonly string[], after: string): number {
  const found = ids.findIndex((id) => id > after);
  return found < 0 ? ids.length : found;
}
