/**
 * The composition root: opens storage, host and rooms in order, and closes them in reverse: first
 * the sources of work, then the workers, then the storage. Read this file first. A program or a
 * test embeds the service through `createService`, which takes its ports, installs no signal
 * handlers and never exits.
 *
 *     collectors, WriteSamples -> ingest -> SAMPLES -> history + evaluator -> edges
 *     edges, RPC, timers       -> host   -> EVENTS  -> projection -> deliveries due
 *     deliveries due           -> DELIVERIES -> deliverer -> webhook, chat, mail
 */
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify';
import type { FastifyInstance } from 'fastify';
import type { SamplePipeline } from '../../actors/alerting/evaluator/evaluator.ts';
import { sampleFloor } from '../../actors/alerting/evaluator/sample-retention.ts';
import { expandAlerting } from '../../actors/delivery/audience.ts';
import { deliveriesSpec } from '../../actors/delivery/queues.ts';
import { withRevocationBarrier } from '../../actors/identity/revocation-barrier.ts';
import { ChangeLimits } from '../../actors/platform/change-limits.ts';
import type { HostCounters } from '../../actors/platform/host/counters.ts';
import { unfitShares } from '../../actors/platform/host/formats.ts';
import { createHost, type RunningHost } from '../../actors/platform/host/host.ts';
import { runTimers } from '../../actors/platform/host/timers.ts';
import { ProjectLimitsReader } from '../../actors/platform/project-limits.ts';
import { type Part, type Supervision, supervise } from '../../actors/platform/supervision.ts';
import { samplesSpec } from '../../actors/telemetry/sample-log.ts';
import type { Datacenters } from '../../actors/vms/datacenters.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { type Clock, systemClock } from '../../streams/platform/clock.ts';
import { eventsStream } from '../../streams/platform/commit/events.ts';
import type { DueTimer } from '../../streams/platform/commit/projection.ts';
import { pause } from '../../streams/platform/pause.ts';
import { systemRandom } from '../../streams/platform/random.ts';
import { openAdminServer } from '../admin/admin-server.ts';
import { auditRoutes, transitionRoutes } from '../admin/audit-routes.ts';
import { backedUpStreams } from '../admin/backup/backed-up-streams.ts';
import { backupRoutes } from '../admin/backup/backup-routes.ts';
import { bounceRoutes } from '../admin/bounce-routes.ts';
import { collectorRoutes } from '../admin/collector-routes.ts';
import { historyRoutes } from '../admin/history-routes.ts';
import { identityRoutes } from '../admin/identity-routes.ts';
import { memberRoutes } from '../admin/member-routes.ts';
import { projectLimitRoutes } from '../admin/project-limit-routes.ts';
import { recordingRoutes } from '../admin/recording-routes.ts';
import { restoredRoutes } from '../admin/restored-routes.ts';
import { snapshotRoutes } from '../admin/snapshot-routes.ts';
import { streamRoutes } from '../admin/stream-routes.ts';
import { createAlertingRules } from '../alerting/alerting-rules.ts';
import { openAlerting } from '../alerting/open-alerting.ts';
import { retentionPart, withAuditExport } from '../audit/open-audit.ts';
import { openCi } from '../ci/open-ci.ts';
import { openDashboard } from '../dashboard/serving/open-dashboard.ts';
import { openDelivery } from '../delivery/open-delivery.ts';
import { serviceInfoOf } from '../identity/api/service-info.ts';
import { openIdentity } from '../identity/open-identity.ts';
import { ClockWatch } from '../platform/clock-watch.ts';
import { Closers } from '../platform/closers.ts';
import { watchCopies } from '../platform/copies-check.ts';
import { toDataFolderFault } from '../platform/data-folder.ts';
import { createDiskSpace } from '../platform/disk-space.ts';
import { ProjectLimitUse } from '../platform/gate/limit-use.ts';
import { openProjectBounds, type ProjectBounds } from '../platform/gate/project-gate.ts';
import {
  addHealthGauges,
  createHealth,
  diskCheck,
  historyCheck,
  hostCheck,
  operatorReport,
  partCheck,
  secretsCheck,
  streamCheck,
} from '../platform/health.ts';
import { stopSignal } from '../platform/http/abort-signals.ts';
import { createAnonymousLimits } from '../platform/http/anonymous-limits.ts';
import {
  type MetricsServer,
  openConfiguredMetricsServer,
} from '../platform/http/metrics-server.ts';
import { createReaderCheck, createReadGate } from '../platform/http/read-gate.ts';
import { createPositions, SEQUENCE_PURPOSE } from '../platform/http/sequence.ts';
import { openHttpServer, ServiceAddress } from '../platform/http/server.ts';
import type { Log } from '../platform/log.ts';
import { watchMembership } from '../platform/membership-check.ts';
import { createMetrics, type Metrics } from '../platform/metrics.ts';
import { countLostWork, type RoomBase } from '../platform/room-base.ts';
import type { Settings } from '../platform/settings/settings.ts';
import { programVersion } from '../platform/version.ts';
import { openRuleReplays } from '../replay/open-rule-replays.ts';
import { addFastWriteSamples } from '../telemetry/api/write-samples-fast.ts';
import { addExportRoutes } from '../telemetry/export/export-routes.ts';
import { Exporter } from '../telemetry/export/exporter.ts';
import { openIngest } from '../telemetry/open-ingest.ts';
import { addPromqlRoutes } from '../telemetry/prometheus-api/routes.ts';
import { openQueries } from '../telemetry/query/open-queries.ts';
import { openVms } from '../vms/open-vms.ts';
import { startCollecting } from './collecting.ts';
import { prepareDemo } from './demo.ts';
import { connectOptions, rpcRoutes } from './routes.ts';
import type { RunningService, ServicePorts } from './running-service.ts';
import { openSnapshots } from './snapshots.ts';
import { watchPermissions } from './start-checks.ts';
import { createStartWait } from './start-wait.ts';
import { openStorage, type Storage } from './storage.ts';

export interface ServiceOptions {
  readonly settings: Settings;
  readonly log: Log;
  readonly ports?: ServicePorts;
  /**
   * Aborts on a stop request. With it, a start waits for NATS; without it, an absent NATS is
   * `StreamUnavailable`.
   */
  readonly stopped?: AbortSignal;
}

/** Interval of the check whether a new member has caught up, ms. */
const CAUGHT_UP_MS = 100;
/** Interval of the check that the projection still runs, ms. */
const FAULT_CHECK_MS = 1_000;

/**
 * Starts a service. If a step fails, everything opened is closed again. Throws `ConfigError`,
 * `DataFolderUnusable` and the other faults that `svc serve` reports in a sentence.
 */
export async function createService(options: ServiceOptions): Promise<RunningService> {
  const closers = new Closers(options.log);
  try {
    return await build(options, closers);
  } catch (error) {
    await closers.closeAll();
    throw toDataFolderFault(error, options.settings.data);
  }
}

async function build(options: ServiceOptions, closers: Closers): Promise<RunningService> {
  const { settings, log, ports = {}, stopped } = options;
  const { clock = systemClock, random = systemRandom } = ports;
  const metrics = createMetrics({ clock, version: programVersion });
  closers.add('metrics', () => metrics.close());
  const health = createHealth({ clock, log });
  closers.add('health', () => health.close());
  addHealthGauges(metrics, health);
  const base: RoomBase = { settings, log, clock, random, metrics, health, closers };

  watchPermissions(base);
  const openMetrics = metricsListener(base);
  const wait = createStartWait({ ...base, openMetrics, ...(stopped && { stopped }) });
  const storage = await openStorage({ ...base, ...ports, wait });
  if (storage.copies) watchCopies(base, storage.copies);
  watchMembership(base, storage.member);
  const admin = await openAdmin(base, storage);
  const changeLimits = openChangeLimits(base);
  const started = await startHost(base, storage, changeLimits);
  changeLimits.countOthers(started, storage.member.node);
  const exported = withAuditExport({ ...base, ...storage, host: started });
  const host = withRevocationBarrier(exported, { ...base, ...storage });
  const bounds = openProjectBounds({ ...base, host });
  const address = new ServiceAddress(settings.publicUrl);
  const { origin } = address;
  const rooms = openRooms({ ...base, ...storage, ...bounds, host, origin, ports, changeLimits });
  const shared = { ...base, ...storage, ...bounds, ...rooms };
  const api = await openApi({ ...shared, host, address, origin, openMetrics });
  const { http } = api;
  rooms.start();
  admin?.add(identityRoutes({ ...api, host, publicUrl: http.baseUrl }));
  admin?.add(collectorRoutes({ ...base, ...api, ...rooms, host }));
  admin?.add(transitionRoutes(host));
  admin?.add(restoredRoutes(host));
  admin?.add(bounceRoutes({ ...base, host }));
  admin?.add(snapshotRoutes(rooms.snapshots));
  admin?.add(projectLimitRoutes({ ...rooms, host }));
  admin?.add(recordingRoutes({ ...base, ...storage, projects: () => host.projects() }));

  const isShared = !storage.member.isAlone;
  const demoOptions = {
    ...base,
    ...api,
    host,
    isShared,
    dataFolder: settings.data,
    ...(stopped && { stopped }),
  };
  const demo = settings.demo
    ? await prepareDemo({ ...demoOptions, baseUrl: http.baseUrl })
    : undefined;
  const { ingest, registry } = rooms;
  const collecting = await startCollecting({ ...base, ingest, registry, host });
  closers.add('collectors', () => collecting.stop());
  wait.started();
  closers.add('readiness', () => health.stopping('The service is stopping'));
  return {
    address: http.baseUrl,
    metricsUrl: api.metricsUrl,
    dashboardFault: api.dashboardFault,
    watches: collecting.watches,
    demoFile: demo?.path,
    signInUrl: demo?.signInUrl,
    fault: watchForFault(host, clock, closers),
    readiness: () => operatorReport(health.report()),
    reload() {
      collecting.reload();
      http.reloadCertificate();
    },
    stop: () => closers.closeAll(),
  };
}

/** Limits on changes; they see the disk as the readiness check does. */
function openChangeLimits({ settings, clock, health }: RoomBase): ChangeLimits {
  const { data: folder, diskReserve: reserveMib } = settings;
  const disk = createDiskSpace({ folder, reserveMib, clock });
  health.watch({ kind: 'disk' }, diskCheck(folder, disk));
  return new ChangeLimits({ clock, disk });
}

type RoomOptions = RoomBase &
  Storage &
  ProjectBounds & {
    readonly host: RunningHost;
    readonly origin: () => string;
    readonly ports: ServicePorts;
    readonly changeLimits: ChangeLimits;
  };

/**
 * The rooms between the streams: VMs, ingest, alerting, delivery, audit. Their parts run from
 * `start` on, and close after the API, whose last requests need them.
 */
function openRooms(options: RoomOptions) {
  const { host, history, health, metrics, ports, origin: publicUrl } = options;
  const lost = countLostWork(metrics);
  const projectLimits = new ProjectLimitsReader(host);
  const { parts: vmParts, ...vms } = openVms({ ...options, projectLimits, lost });
  const intake = openIngest({ ...options, ...vms, projectLimits });
  const delivery = openDelivery({ ...options, publicUrl, resolve: ports.resolve });
  const { parts: alertingParts, ...alerting } = openAlerting({
    ...options,
    ...vms,
    ...intake,
    lost,
  });
  const limitUse = new ProjectLimitUse({
    ...options,
    ...vms,
    ...alerting,
    ...intake,
    memory: history,
  });
  health.watch({ kind: 'history' }, historyCheck(history));
  let rebasedDelays = 0;
  watchClock(options, { ...alerting, delays: () => rebasedDelays });
  const retention = retentionPart({ ...options, lost });
  const snapshots = options.member.isAlone
    ? undefined
    : openSnapshots({ ...options, node: options.member.node });
  const { start } = superviseParts(options, [
    ...alertingParts,
    ...vmParts,
    timersPart(options, (count) => (rebasedDelays += count)),
    ...delivery.parts,
    retention,
    ...(snapshots === undefined ? [] : [snapshots.part]),
    membershipPart({ ...options, ...alerting, ...vms }),
  ]);
  const keeper = snapshots?.keeper;
  return { ...vms, ...intake, ...alerting, delivery, limitUse, snapshots: keeper, start };
}

/**
 * Puts this member's progress into each of its records, and joins the work of the cluster once it
 * has caught up.
 */
function membershipPart(
  options: RoomOptions & {
    readonly evaluator: SamplePipeline;
    readonly datacenters: Datacenters;
  },
): Part {
  const { member, host, clock, history, evaluator, datacenters, origin } = options;
  return {
    name: 'membership',
    async run(signal) {
      member.report(() => ({
        address: origin() || null,
        applied: host.appliedSequence(),
        decided: evaluator.throughSequence(),
        floor: sampleFloor({ history, pipeline: evaluator }),
        heard: datacenters.ages(),
        unfit: unfitShares({ ...options, version: programVersion }),
      }));
      while (!evaluator.isCaughtUp() && !signal.aborted) await pause(clock, CAUGHT_UP_MS, signal);
      if (!signal.aborted) member.begin();
      await pause(clock, Number.POSITIVE_INFINITY, signal);
    },
  };
}

/** Reports steps of the clock, and what was re-based after them. */
function watchClock(
  { host, clock, health }: RoomOptions,
  { evaluator, delays }: { readonly evaluator: SamplePipeline; readonly delays: () => number },
): void {
  const counts = () => ({
    projects: host.counters().setBacks,
    'series, rules and VMs': evaluator.rebased(),
    delays: delays(),
  });
  const watch = new ClockWatch({ clock, counts });
  health.watch({ kind: 'clock' }, watch.check);
}

/** Fires the timers of every machine. `onSetBack` receives delays that were re-based. */
function timersPart(
  { host, clock, log, ownership }: RoomOptions,
  onSetBack: (count: number) => void,
): Part {
  const timers = {
    onSetBack,
    host,
    clock,
    ownership,
    onFault: (timer: DueTimer, error: unknown) =>
      log.error({ err: error, instance: timer.instance }, 'A timer did not fire'),
  };
  return { name: 'timers', run: (signal) => runTimers(timers, signal) };
}

/** The service also runs without operator commands: some file systems have no sockets. */
async function openAdmin({ settings, log, clock, closers }: RoomBase, storage: Storage) {
  try {
    const embedded = [eventsStream(), samplesSpec, deliveriesSpec];
    const routes = {
      ...historyRoutes(storage.history),
      ...auditRoutes({ ...storage, clock }),
      ...backupRoutes({
        ...storage,
        clock,
        folder: settings.data,
        ...(!storage.member.isAlone && {
          remote: { stream: storage.stream, specs: backedUpStreams },
        }),
      }),
      ...streamRoutes({ ...storage, embedded }),
      ...memberRoutes(storage.member),
    };
    const admin = await openAdminServer({ folder: settings.data, routes, log });
    closers.add('admin socket', () => admin.close());
    return admin;
  } catch (error) {
    log.warn({ err: error, part: 'admin' }, 'Operator commands cannot reach this service');
    return undefined;
  }
}

async function startHost(
  base: RoomBase,
  { stream, store, secrets, member }: Storage,
  admission: ChangeLimits,
): Promise<RunningHost> {
  const { clock, random, health, closers } = base;
  const host = createHost({
    stream,
    store,
    clock,
    random,
    node: member.node,
    admission,
    machines: machineDefinitions,
    expand: expandAlerting,
  });
  health.watch({ kind: 'stream' }, streamCheck(stream));
  health.watch({ kind: 'commits' }, hostCheck(host, clock));
  closers.add('host', () => host.stop());
  if (secrets.isShared) health.watch({ kind: 'secrets' }, secretsCheck(secrets));
  await host.start();
  // A commit is acted on only once the values that it names are here.
  await secrets.caughtUp();
  countHost(base, host);
  return host;
}

/** The host's own counts, read at each scrape: conflicts, retries and every kind of fault. */
function countHost({ metrics }: RoomBase, host: RunningHost): void {
  const names = Object.keys(host.counters()) as (keyof HostCounters)[];
  metrics.gauge('svc_host_events', 'Events in the host since its start', ['kind'], (gauge) => {
    const counters = host.counters();
    for (const kind of names) gauge.set({ kind }, counters[kind]);
  });
}

type ApiOptions = RoomBase &
  Omit<ReturnType<typeof openRooms>, 'start'> &
  Pick<
    Storage,
    'history' | 'secrets' | 'deriveKey' | 'onceStore' | 'controlPath' | 'member' | 'ownership'
  > &
  ProjectBounds & {
    readonly host: RunningHost;
    readonly address: ServiceAddress;
    readonly origin: () => string;
    readonly openMetrics: ReturnType<typeof metricsListener>;
  };

/** Opens the listener of the service's own metrics, at most once. */
function metricsListener(base: RoomBase): () => Promise<MetricsServer | undefined> {
  let opening: Promise<MetricsServer | undefined> | undefined;
  const open = async () => {
    const server = await openConfiguredMetricsServer(base);
    if (server) base.closers.add('metrics listener', () => server.close());
    return server;
  };
  return () => {
    opening ??= open();
    return opening;
  };
}

/** The API, and the listener of the service's own metrics. */
async function openApi(options: ApiOptions) {
  const { closers, settings, origin } = options;
  const { addIdentityRoutes, tokens, ...identity } = await openIdentity(options);
  const metricsServer = await options.openMetrics();
  const exporter = new Exporter(options);
  closers.add('exports', () => exporter.close());
  const { projectCreation } = settings;
  const serviceInfo = serviceInfoOf(settings);
  const parts = { ...options, ...identity, projectCreation, serviceInfo };
  const keylessCi = openCi({ ...options, tokens, publicUrl: origin });
  const { addRecipientRoutes, ...delivery } = options.delivery.openDestinations({
    origin,
    mail: identity.mail,
  });
  const anonymousLimits = createAnonymousLimits(options);
  const positions = createPositions({
    ...options,
    samples: options.evaluator.stored,
    key: options.deriveKey(SEQUENCE_PURPOSE),
  });
  const alertingRules = createAlertingRules(options);
  const { pending: pendingAlerts } = alertingRules;
  const rpc = {
    ...parts,
    ...keylessCi,
    ...delivery,
    anonymousLimits,
    positions,
    ...openQueries({ ...options, pendingAlerts }),
    ruleReplays: openRuleReplays(options),
    recordBrokenBody: countBrokenBodies(options.metrics),
  };
  const dashboard = openDashboard({ ...options, ...identity });
  const http = await openHttpServer({
    ...options,
    isReader: createReaderCheck(rpc),
    readGate: createReadGate(rpc),
    hasMetrics: settings.metricsOnApi,
    addRoutes: async (app: FastifyInstance) => {
      await addIdentityRoutes(app, anonymousLimits);
      await addRecipientRoutes(app);
      await dashboard.addDashboardRoutes(app);
      addFastWriteSamples(app, rpc);
      addExportRoutes(app, { ...rpc, exporter, origin });
      await addPromqlRoutes(app, { ...rpc, alertingRules, queries: rpc.promqlQueries });
      const api = { ...rpc, publicUrl: origin, stopping: stopSignal(app) };
      await app.register(fastifyConnectPlugin, { ...connectOptions(api), routes: rpcRoutes(api) });
    },
  });
  closers.add('http', () => http.close());
  return {
    http,
    metricsUrl: metricsServer?.url,
    dashboardFault: dashboard.fault,
    ...identity,
  };
}

function countBrokenBodies(metrics: Metrics): (encoding: string) => void {
  const broken = metrics.counter(
    'svc_http_broken_bodies_total',
    'Compressed request bodies that could not be decompressed',
    ['encoding'],
  );
  return (encoding) => broken.inc({ encoding });
}

/** Resolves with a fault that only a restart can cure: when the projection has stopped for good. */
async function watchForFault(host: RunningHost, clock: Clock, closers: Closers): Promise<Error> {
  const watching = new AbortController();
  closers.add('fault watch', () => watching.abort());
  while (!watching.signal.aborted) {
    const health = host.health();
    if (health.state === 'stopped') return new Error(health.reason);
    await pause(clock, FAULT_CHECK_MS, watching.signal);
  }
  return new Promise<Error>(() => {});
}

// Supervises the running parts of all rooms. Each part runs until it is stopped, is restarted when
// it fails, and reports its health to `/readyz`. A failing part stops no other.

/** Parts are not ready before `start`; the closer stops them, last one first. */
export function superviseParts(base: RoomBase, parts: readonly Part[]): { start(): void } {
  const { clock, random, health, log, metrics, closers } = base;
  const failures = metrics.counter('svc_part_failures_total', 'Failures of running parts', [
    'part',
  ]);
  let supervision: Supervision | undefined;
  closers.add('parts', () => supervision?.stop());
  const running = { health: () => supervision?.health() ?? [] };
  for (const { name } of parts) {
    failures.inc({ part: name }, 0);
    health.watch({ kind: name }, partCheck(running, { name, essential: true }));
  }
  return {
    start() {
      supervision = supervise({
        parts,
        clock,
        random,
        onFailure(part, error) {
          failures.inc({ part: part.name });
          log.error({ err: error, part: part.name }, 'A part failed and is restarted');
        },
      });
    },
  };
}
