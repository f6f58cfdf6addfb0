/** `GetProjectOverview` of `AlertService`: the counts of a project, each read where it is kept. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { Host, ProjectReads } from '../../../actors/platform/host/host-port.ts';
import { vmDirectoryOf } from '../../../actors/vms/vm-directory.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import { itemsOf } from '../../../streams/platform/commit/page.ts';
import {
  type AlertService,
  ProjectOverview_Datacenter_State as DatacenterState,
  type ProjectOverviewSchema,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import { within } from '../../platform/api/caller.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { parseProjectName } from '../../platform/api/resource-name.ts';
import type { ProjectLimitUse } from '../../platform/gate/limit-use.ts';
import { limitMessages } from '../../telemetry/api/monitoring.ts';
import type { VmQueries } from '../../telemetry/query/vm/vm-queries.ts';

export interface OverviewDeps {
  readonly host: Pick<Host, 'view' | 'onApplied'>;
  readonly vmQueries: Pick<VmQueries, 'states'>;
  readonly datacenters: { stateOf(name: string): 'live' | 'stale' };
  readonly limitUse: Pick<ProjectLimitUse, 'of'>;
  readonly clock: Clock;
}

type Overview = MessageInitShape<typeof ProjectOverviewSchema>;

/** Ended items are counted for this long, ms. */
const ENDED_MS = 24 * 3_600_000;

/** One response for a start page, instead of a request for each count. */
export function overviewMethods(
  deps: OverviewDeps,
): Pick<ServiceImpl<typeof AlertService>, 'getProjectOverview'> {
  return {
    getProjectOverview: ({ projectName }, context) => projectOverview(deps, projectName, context),
  };
}

async function projectOverview(
  deps: OverviewDeps,
  projectName: string,
  context: HandlerContext,
): Promise<Overview> {
  const project = within(context, parseProjectName('projectName', projectName));
  const nowMs = deps.clock.now();
  const vms = await vmCounts(deps, project, { nowMs, signal: context.signal });
  // Checked again, because access may have ended while the history was read.
  within(context, project);
  const view = deps.host.view(project);
  return {
    countedUnix: unixSeconds(nowMs),
    ...vms,
    incidents: incidentCounts(view),
    rules: ruleCounts(view),
    deliveries: deliveryCounts(view, nowMs),
    limits: limitMessages(deps.limitUse.of(project)),
  };
}

/** Counts VMs that are not retired: how fresh their telemetry is, and their data centers. */
async function vmCounts(
  { host, vmQueries, datacenters }: OverviewDeps,
  project: string,
  { nowMs, signal }: { readonly nowMs: number; readonly signal: AbortSignal },
): Promise<Pick<Overview, 'vms' | 'telemetry' | 'datacenters'>> {
  const present = [...vmDirectoryOf(host).vms(project)].filter(
    ([, { retiredMs }]) => retiredMs === undefined,
  );
  const places = new Map<string, number>();
  for (const [, { datacenter }] of present) {
    places.set(datacenter, (places.get(datacenter) ?? 0) + 1);
  }
  const stale = new Set([...places.keys()].filter((name) => datacenters.stateOf(name) === 'stale'));
  const ids = present.map(([id]) => id);
  const isStale = present.map(([, { datacenter }]) => stale.has(datacenter));
  const { telemetry } = await vmQueries.states({ project, ids, isStale, nowMs }, signal);
  const count = (state: (typeof telemetry)[number]) =>
    BigInt(telemetry.filter((one) => one === state).length);
  const expanded = present.filter(([, { expandedMonitoring }]) => expandedMonitoring).length;
  return {
    vms: { total: BigInt(ids.length), expanded: BigInt(expanded) },
    telemetry: {
      live: count('LIVE'),
      stale: count('STALE'),
      never: count('NEVER'),
      error: count('ERROR'),
    },
    datacenters: [...places].sort().map(([name, vms]) => ({
      name,
      vms: BigInt(vms),
      state: stale.has(name) ? DatacenterState.STALE : DatacenterState.LIVE,
      ...sinceOf(host, name),
    })),
  };
}

/** Start of the data center's current state; nothing for one without a change. */
function sinceOf(host: Pick<Host, 'view'>, datacenter: string): { sinceUnix?: bigint } {
  const row = host.view(SYSTEM_PROJECT).instance('datacenter', datacenter);
  if (!row) return {};
  const { silentSinceMs, changedMs } = row.context;
  return { sinceUnix: unixSeconds(silentSinceMs ?? changedMs) };
}

function incidentCounts(view: ProjectReads): Overview['incidents'] {
  const counts = view.countIncidents();
  const sum = (isMeant: (count: (typeof counts)[number]) => boolean) =>
    BigInt(counts.filter(isMeant).reduce((total, { count }) => total + count, 0));
  return {
    firing: sum(() => true),
    attention: sum(({ status }) => status === 'FIRING'),
    acknowledged: sum(({ status }) => status.startsWith('ACKNOWLEDGED')),
    snoozed: sum(({ status }) => status.endsWith('SNOOZED')),
    critical: sum(({ severity }) => severity === 'CRITICAL'),
    warning: sum(({ severity }) => severity === 'WARNING'),
    info: sum(({ severity }) => severity === 'INFO'),
  };
}

/** Rules are few, because their number is a limit of the project. */
function ruleCounts(view: ProjectReads): Overview['rules'] {
  const counts = { applied: 0n, pending: 0n, failed: 0n, paused: 0n };
  const read = (page: { limit: number; after?: string }) =>
    view.instances('alertRule', { ...page, final: false });
  for (const { value, context } of itemsOf(200, read)) {
    if (value === 'pendingApplication') counts.pending++;
    else if (context.syncError !== null && context.syncError !== '') counts.failed++;
    else if (context.spec.enabled) counts.applied++;
    else counts.paused++;
  }
  return counts;
}

function deliveryCounts(view: ProjectReads, nowMs: number): Overview['deliveries'] {
  const ended = view.countByState('delivery', { endedSinceMs: nowMs - ENDED_MS });
  const count = (state: string) => BigInt(ended.get(state) ?? 0);
  const live = [...view.countByState('delivery', 'live').values()];
  return {
    underWay: BigInt(live.reduce((total, one) => total + one, 0)),
    sent: count('sent'),
    suppressed: count('suppressed'),
    expired: count('expired'),
    failed: count('failed'),
  };
}
