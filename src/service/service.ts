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
import { expandAlerting } from '../../actors/delivery/audience.ts';
import { deliveriesSpec } from '../../actors/delivery/queues.ts';
import { withRevocationBarrier } from '../../actors/identity/revocation-barrier.ts';
import { ChangeLimits } from '../../actors/platform/change-limits.ts';
import type { HostCounters } from '../../actors/platform/host/counters.ts';
import { createHost, type RunningHost } from '../../actors/platform/host/host.ts';
import { ProjectLimitsReader } from '../../actors/platform/project-limits.ts';
import { samplesSpec } from '../../actors/telemetry/sample-log.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { type Clock, systemClock } from '../../streams/platform/clock.ts';
import { eventsStream } from '../../streams/platform/commit/events.ts';
import { CLOCK_REFUSED_MS, clusterSpec } from '../../streams/platform/membership/roster.ts';
import { pause } from '../../streams/platform/pause.ts';
import { systemRandom } from '../../streams/platform/random.ts';
import { openAdminServer } from '../admin/admin-server.ts';
import { auditRoutes, transitionRoutes } from '../admin/audit-routes.ts';
import { backedUpStreams } from '../admin/backup/backed-up-streams.ts';
import { backupRoutes } from '../admin/backup/backup-routes.ts';
import { type LastBackup, openLastBackup } from '../admin/backup/last-backup.ts';
import { bounceRoutes } from '../admin/bounce-routes.ts';
import { MARKED_STREAMS, marksPart } from '../admin/check/acknowledged-marks.ts';
import { collectorRoutes } from '../admin/collector-routes.ts';
import { historyRoutes } from '../admin/history-routes.ts';
import { identityRoutes } from '../admin/identity-routes.ts';
import { memberRoutes } from '../admin/member-routes.ts';
import { projectLimitRoutes } from '../admin/project-limit-routes.ts';
import { recordingRoutes } from '../admin/recording-routes.ts';
import { rekeyRoutes } from '../admin/rekey-routes.ts';
import { restoredRoutes } from '../admin/restored-routes.ts';
import { streamRoutes } from '../admin/stream-routes.ts';
import { createAlertingRules } from '../alerting/alerting-rules.ts';
import { openAlerting } from '../alerting/open-alerting.ts';
import { retentionPart, withAuditExport } from '../audit/open-audit.ts';
import { openCi } from '../ci/open-ci.ts';
import { openDashboard } from '../dashboard/serving/open-dashboard.ts';
import { openDelivery } from '../delivery/open-delivery.ts';
import { serviceInfoOf } from '../identity/api/service-info.ts';
import { openIdentity } from '../identity/open-identity.ts';
import { Closers } from '../platform/closers.ts';
import { watchCopies } from '../platform/copies-check.ts';
import { toDataFolderFault } from '../platform/data-folder.ts';
import { ProjectLimitUse } from '../platform/gate/limit-use.ts';
import { openProjectBounds, type ProjectBounds } from '../platform/gate/project-gate.ts';
import {
  addHealthGauges,
  createHealth,
  type Health,
  historyCheck,
  hostCheck,
  operatorReport,
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
import { openHttpServer } from '../platform/http/server.ts';
import { pageHostOf, ServiceAddress } from '../platform/http/service-address.ts';
import type { Log } from '../platform/log.ts';
import { findMasterKey } from '../platform/master-key.ts';
import { watchMembership } from '../platform/membership-check.ts';
import { createMetrics, type Metrics } from '../platform/metrics.ts';
import { watchNatsServers } from '../platform/nats-monitor.ts';
import { countLostWork, type RoomBase, type Storage } from '../platform/room-base.ts';
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
import { timersPart, watchClock } from './clock-parts.ts';
import { startCollecting } from './collecting.ts';
import { type DamageWatch, watchDamage } from './damage-watch.ts';
import { prepareDemo } from './demo.ts';
import { type Disks, watchDisks } from './disks.ts';
import { continueKeyChange } from './key-change.ts';
import { membershipPart } from './membership-part.ts';
import { connectOptions, rpcRoutes } from './routes.ts';
import type { RunningService, ServicePorts } from './running-service.ts';
import { openSizeMetrics } from './size-metrics.ts';
import { openSnapshots, routesOfSnapshots } from './snapshots.ts';
import { watchPermissions } from './start-checks.ts';
import { createStartWait } from './start-wait.ts';
import { keyFile, openStorage } from './storage.ts';
import { superviseParts } from './supervise-parts.ts';

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
  const demoIsPrepared = settings.demo ? watchDemo(health) : () => {};
  const wait = createStartWait({ base, openMetrics, stopped });
  const storage = await openStorage({ base, ports, wait });
  const { copies } = storage;
  if (copies) watchCopies(base, copies);
  if (settings.natsMonitorUrl) watchNatsServers(base, settings.natsMonitorUrl);
  watchMembership(base, storage.member, () => copies?.leaderOf(clusterSpec.name));
  const damage = watchDamage(base, storage.startCheck, storage.lost);
  const lastBackup = openLastBackup(settings.data);
  const admin = await openAdmin(base, storage, lastBackup);
  const disks = watchDisks(base);
  // Limits on changes see the disk as the readiness check does.
  const changeLimits = new ChangeLimits({ clock, disk: disks.data });
  const started = await startHost(base, storage, changeLimits);
  changeLimits.countOthers(started, storage.member.node);
  const exported = withAuditExport({ base, storage, host: started });
  const host = withRevocationBarrier(exported, { clock, member: storage.member });
  const bounds = openProjectBounds({ clock, metrics, host });
  const { identity: installation } = await storage.stream.state(eventsStream().name);
  const address = new ServiceAddress(settings.publicUrl, pageHostOf(installation));
  const sizes = { disks, lastBackup };
  const rooms = openRooms({
    base,
    storage,
    bounds,
    host,
    address,
    ports,
    changeLimits,
    damage,
    sizes,
  });
  const api = await openApi({ base, storage, bounds, host, address, rooms, openMetrics, damage });
  const { http, identity } = api;
  rooms.start();
  continueKeyChange(base, storage);
  addAdminRoutes(admin, { base, storage, host, rooms, api, address });

  const demo = settings.demo
    ? await prepareDemo({
        host,
        people: identity.people,
        members: identity.members,
        clock,
        random,
        log,
        dataFolder: settings.data,
        baseUrl: http.baseUrl,
        pageOrigin: address.pageOrigin(),
        isShared: !storage.member.isAlone,
        ...(stopped && { stopped }),
      })
    : undefined;
  demoIsPrepared();
  const { ingest } = rooms.intake;
  const { registry } = rooms.vms;
  const collecting = await startCollecting({ base, ingest, registry, host });
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

/** Not ready until the returned function is called: scripts read demo.json after `/readyz`. */
function watchDemo(health: Pick<Health, 'watch'>): () => void {
  const sentence = 'The project demo and demo.json are being prepared';
  return health.watch({ kind: 'demo' }, () => ({
    state: 'notReady',
    reason: sentence,
    summary: sentence,
    isStart: true,
  }));
}

interface RoomParts {
  readonly base: RoomBase;
  readonly storage: Storage;
  readonly bounds: ProjectBounds;
  readonly host: RunningHost;
  readonly address: ServiceAddress;
  readonly ports: ServicePorts;
  readonly changeLimits: ChangeLimits;
  readonly damage: DamageWatch;
  readonly sizes: { readonly disks: Disks; readonly lastBackup: LastBackup };
}

/**
 * The rooms between the streams: VMs, ingest, alerting, delivery, audit. Their parts run from
 * `start` on, and close after the API, whose last requests need them.
 */
function openRooms(parts: RoomParts) {
  const { base, storage, bounds, host, address, ports, changeLimits, damage, sizes } = parts;
  const { origin } = address;
  const { history, member } = storage;
  const { settings, clock } = base;
  const lost = countLostWork(base.metrics);
  const projectLimits = new ProjectLimitsReader(host);
  const { parts: vmParts, ...vms } = openVms({ base, storage, host, projectLimits, lost });
  const intake = openIngest({ base, storage, vms, projectLimits, rates: bounds.ingestRates });
  const delivery = openDelivery({
    base,
    storage,
    host,
    publicUrl: origin,
    resolve: ports.resolve,
  });
  const { parts: alertingParts, ...alerting } = openAlerting({
    base,
    storage,
    host,
    vms,
    intake,
    lost,
  });
  const limitUse = new ProjectLimitUse({
    host,
    changeLimits,
    evaluator: alerting.evaluator,
    registry: vms.registry,
    ingestLimits: intake.ingestLimits,
    memory: history,
    ingestRates: bounds.ingestRates,
    gate: bounds.gate,
  });
  base.health.watch({ kind: 'history' }, historyCheck(history));
  const snapshots = member.isAlone ? undefined : openSnapshots({ base, storage, host });
  const { evaluator } = alerting;
  let rebasedDelays = 0;
  watchClock(base, { host, evaluator, delays: () => rebasedDelays });
  const { datacenters } = vms;
  const sizeParts = openSizeMetrics({
    metrics: base.metrics,
    clock,
    history,
    stream: storage.stream,
    readers: {
      history: () => evaluator.stored.sequence,
      evaluator: () => evaluator.throughSequence(),
    },
    host,
    registry: vms.registry,
    limitUse,
    disks: sizes.disks,
    copies: {
      backup: sizes.lastBackup.createdMs,
      checkpoint: () => evaluator.checkpointMs(),
      ...(snapshots && { snapshot: () => snapshots.keeper.coveredMs() }),
    },
  });
  const { start } = superviseParts(base, [
    ...sizeParts,
    ...alertingParts,
    ...vmParts,
    timersPart({ base, storage, host, onSetBack: (count) => (rebasedDelays += count) }),
    ...delivery.parts,
    retentionPart({ base, storage, host, lost }),
    ...(snapshots === undefined ? [] : [snapshots.part]),
    membershipPart({ base, storage, host, origin, evaluator, datacenters, delivery }),
    damage.part,
    ...(member.isAlone
      ? [marksPart({ folder: settings.data, stream: storage.stream, names: MARKED_STREAMS, clock })]
      : []),
  ]);
  return { vms, intake, alerting, delivery, limitUse, snapshots: snapshots?.keeper, start };
}

type Rooms = ReturnType<typeof openRooms>;

/** The service also runs without operator commands: some file systems have no sockets. */
async function openAdmin(
  { settings, log, clock, closers }: RoomBase,
  storage: Storage,
  lastBackup: LastBackup,
) {
  const { stream, copies, keyId, secrets, history, controlPath, member } = storage;
  try {
    const masterKey = () => findMasterKey(keyFile(settings));
    const embedded = [eventsStream(), samplesSpec, deliveriesSpec];
    const routes = {
      ...historyRoutes(history, settings.historyData),
      ...auditRoutes({ stream, controlPath, clock, folder: settings.data, masterKey }),
      ...backupRoutes({
        folder: settings.data,
        historyFolder: settings.historyData,
        onMade: lastBackup.record,
        clock,
        keyId,
        isKeyChanging: secrets.isKeyChanging,
        ...(!member.isAlone && { remote: { stream, specs: backedUpStreams } }),
      }),
      ...streamRoutes({ stream, embedded, ...(copies && { copies }) }),
      ...memberRoutes(member),
    };
    const admin = await openAdminServer({ folder: settings.data, routes, log });
    closers.add('admin socket', () => admin.close());
    return admin;
  } catch (error) {
    log.warn({ err: error, part: 'admin' }, 'Operator commands cannot reach this service');
    return undefined;
  }
}

/** Operator commands that need the rooms. */
function addAdminRoutes(
  admin: Awaited<ReturnType<typeof openAdmin>>,
  parts: {
    readonly base: RoomBase;
    readonly storage: Storage;
    readonly host: RunningHost;
    readonly rooms: Rooms;
    readonly api: Awaited<ReturnType<typeof openApi>>;
    readonly address: ServiceAddress;
  },
): void {
  const { host, rooms, api } = parts;
  const { settings, clock, random, log, metrics } = parts.base;
  const { people, members, leaks, lastUsed } = api.identity;
  const { readings, refusedReadings, sources } = rooms.intake;
  const { evaluator } = rooms.alerting;
  admin?.add(
    identityRoutes({ host, people, members, leaks, publicUrl: parts.address.pageOrigin() }),
  );
  admin?.add(
    collectorRoutes({
      host,
      clock,
      random,
      settings,
      lastUsed,
      readings,
      sources,
      refusedReadings,
    }),
  );
  admin?.add(transitionRoutes(host));
  admin?.add(restoredRoutes(host));
  admin?.add(bounceRoutes({ host, log, metrics }));
  const { storage } = parts;
  const { member } = storage;
  admin?.add(rekeyRoutes({ host, storage, member, random, keyFile: settings.masterKeyFile }));
  admin?.add(routesOfSnapshots({ storage, clock, keeper: rooms.snapshots }));
  admin?.add(projectLimitRoutes({ host, evaluator, limitUse: rooms.limitUse }));
  const projects = () => host.projects();
  admin?.add(recordingRoutes({ stream: parts.storage.stream, clock, projects }));
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
    isClockWrong: () => Math.abs(member.clockAheadMs()) > CLOCK_REFUSED_MS,
    machines: machineDefinitions,
    expand: expandAlerting,
  });
  health.watch({ kind: 'stream' }, streamCheck(stream));
  health.watch({ kind: 'commits' }, hostCheck(host, clock));
  closers.add('host', () => host.stop());
  if (secrets.isShared)
    health.watch({ kind: 'secrets', neededFor: 'acting' }, secretsCheck(secrets));
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

interface ApiParts {
  readonly base: RoomBase;
  readonly storage: Storage;
  readonly bounds: ProjectBounds;
  readonly host: RunningHost;
  readonly address: ServiceAddress;
  readonly rooms: Rooms;
  readonly openMetrics: ReturnType<typeof metricsListener>;
  readonly damage: DamageWatch;
}

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
async function openApi(parts: ApiParts) {
  const { base, storage, host, rooms, address } = parts;
  const { settings, clock, random, log, metrics, health, closers } = base;
  const { history, controlPath } = storage;
  const { origin } = address;
  const { datacenters } = rooms.vms;
  const { evaluator } = rooms.alerting;
  const { addIdentityRoutes, ...identity } = await openIdentity({ base, storage, host, address });
  const metricsServer = await parts.openMetrics();
  const exporter = new Exporter({ host, history, controlPath, datacenters, evaluator, clock, log });
  closers.add('exports', () => exporter.close());
  const { addRecipientRoutes, ...delivery } = rooms.delivery.openDestinations({
    origin,
    mail: identity.mail,
  });
  const alertingRules = createAlertingRules({ host, evaluator });
  const queries = openQueries({
    base,
    storage,
    host,
    pendingAlerts: alertingRules.pending,
    recordDamage: parts.damage.record,
  });
  const { tokens, ...ofIdentity } = identity;
  const rpc = {
    platform: platformParts(parts),
    identity: {
      ...ofIdentity,
      projectCreation: settings.projectCreation,
      serviceInfo: serviceInfoOf(settings),
    },
    vms: rooms.vms,
    telemetry: {
      ...rooms.intake,
      ...queries,
      ingestRates: parts.bounds.ingestRates,
      retentionMs: history.retentionMs,
    },
    alerting: { ...rooms.alerting, ruleReplays: openRuleReplays({ base, storage }) },
    delivery: { ...delivery, host, clock, secrets: storage.secrets },
    ci: openCi({ base, storage, host, tokens, publicUrl: origin }),
  };
  const ofReads = { ...rpc.platform, ...rpc.identity, ...rpc.vms };
  const dashboard = openDashboard({ base, identity, address });
  const http = await openHttpServer({
    settings,
    log,
    health,
    metrics,
    clock,
    random,
    address,
    isReader: createReaderCheck(ofReads),
    readGate: createReadGate(ofReads),
    hasMetrics: settings.metricsOnApi,
    addRoutes: async (app: FastifyInstance) => {
      await addIdentityRoutes(app, rpc.platform.anonymousLimits);
      await addRecipientRoutes(app);
      await dashboard.addDashboardRoutes(app);
      addFastWriteSamples(app, { ...ofReads, ...rpc.telemetry });
      addExportRoutes(app, { ...ofReads, exporter, origin });
      await addPromqlRoutes(app, { ...ofReads, alertingRules, queries: queries.promqlQueries });
      const platform = { ...rpc.platform, stopping: stopSignal(app) };
      const api = { ...rpc, platform };
      await app.register(fastifyConnectPlugin, { ...connectOptions(api), routes: rpcRoutes(api) });
    },
  });
  closers.add('http', () => http.close());
  return { http, metricsUrl: metricsServer?.url, dashboardFault: dashboard.fault, identity };
}

/** Parts that all handlers of the API may use, whatever their room. */
function platformParts({ base, storage, bounds, host, rooms, address, damage }: ApiParts) {
  const { clock, random, log, metrics, health } = base;
  return {
    ...bounds,
    clock,
    random,
    log,
    metrics,
    health,
    host,
    limitUse: rooms.limitUse,
    publicUrl: address.origin,
    anonymousLimits: createAnonymousLimits({ clock, metrics }),
    positions: createPositions({
      host,
      samples: rooms.alerting.evaluator.stored,
      clock,
      gate: bounds.gate,
      random,
      key: storage.deriveKey(SEQUENCE_PURPOSE),
    }),
    recordBrokenBody: countBrokenBodies(metrics),
    recordDamage: damage.record,
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
