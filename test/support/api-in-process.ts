/**
 * Sets up the API in one process: the real handlers over fastify, a real host, alerting, ingest,
 * evaluator and history in the test's own folder, under a virtual clock. Requests are injected
 * below the socket, so only the network is mocked.
 */
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify';
import { type FastifyInstance, fastify } from 'fastify';
import type { Test } from 'tap';
import { createAlerting } from '../../actors/alerting/alerting.ts';
import { SamplePipeline } from '../../actors/alerting/evaluator/sample-pipeline.ts';
import { createMaintenanceWindows } from '../../actors/alerting/maintenance.ts';
import { keepRules } from '../../actors/alerting/rule-keeper.ts';
import { createKeylessCi } from '../../actors/ci/exchange.ts';
import { expandAlerting } from '../../actors/delivery/audience.ts';
import { DestinationRests } from '../../actors/delivery/destination-rests.ts';
import { createDestinations } from '../../actors/delivery/destinations.ts';
import type { DestinationsDeps } from '../../actors/delivery/destinations-port.ts';
import { RefusedUses } from '../../actors/identity/refused-uses.ts';
import { ChangeLimits } from '../../actors/platform/change-limits.ts';
import { createHost } from '../../actors/platform/host/host.ts';
import { ProjectLimitsReader } from '../../actors/platform/project-limits.ts';
import { ClockNotes } from '../../actors/telemetry/ingest/clock-notes.ts';
import { createIngest } from '../../actors/telemetry/ingest/ingest.ts';
import { IngestLimits } from '../../actors/telemetry/ingest/ingest-limits.ts';
import { PartitionWriter, samplesSpec } from '../../actors/telemetry/sample-log.ts';
import { VmRegistry } from '../../actors/vms/vm-registry.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { openInstanceStore } from '../../sqlite/platform/control/instance-store.ts';
import { openDatabase, type SqliteDatabase } from '../../sqlite/platform/database.ts';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { openSecretStore } from '../../sqlite/platform/secrets/local-secrets.ts';
import type { SecretStore } from '../../sqlite/platform/secrets/secret-store.ts';
import { type History, openHistory } from '../../sqlite/telemetry/history/store/store.ts';
import { createAlertingRules } from '../../src/alerting/alerting-rules.ts';
import { serviceInfoOf } from '../../src/identity/api/service-info.ts';
import type { AccessTokens } from '../../src/identity/auth/access-tokens.ts';
import { createAuthenticator } from '../../src/identity/auth/authenticator.ts';
import { createIdentities } from '../../src/identity/open-identity.ts';
import { Closers } from '../../src/platform/closers.ts';
import { ProjectLimitUse } from '../../src/platform/gate/limit-use.ts';
import { addFallbacks } from '../../src/platform/http/fallbacks.ts';
import { refuseTwoCredentials } from '../../src/platform/http/server.ts';
import { BODY_BYTES_MAX, HEADER_BYTES_MAX } from '../../src/platform/http-limits.ts';
import { hashKey } from '../../src/platform/keys.ts';
import type { Log } from '../../src/platform/log.ts';
import { ciIssuers } from '../../src/platform/settings/ci-issuers.ts';
import { openRuleReplays } from '../../src/replay/open-rule-replays.ts';
import { connectOptions, type RpcRooms, rpcRoutes } from '../../src/service/routes.ts';
import { createIncidentRecomputations } from '../../src/telemetry/query/explain/recompute-incident.ts';
import { QUERY_THREAD } from '../../src/telemetry/query/open-queries.ts';
import { createAlertPreviews } from '../../src/telemetry/query/preview/alert-preview.ts';
import { QueryThreads } from '../../src/telemetry/query/threads/query-threads.ts';
import { createVmQueries } from '../../src/telemetry/query/vm/vm-queries.ts';
import { newestReport, openEnrolments } from '../../src/vms/open-vms.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import { type Random, seededRandom } from '../../streams/platform/random.ts';
import { testAnonymousLimits } from './anonymous-limits.ts';
import { testBounds } from './bounds.ts';
import { START_MS } from './host-in-memory.ts';
import { identitiesOf, type TestCapability } from './identities.ts';
import { inlineWorker } from './inline-worker.ts';
import { copyMigratedDatabases } from './migrated-databases.ts';
import { testPositions } from './positions.ts';
import { callsOf, ORIGIN } from './rpc-calls.ts';
import { readTestCookie, testAccessTokens } from './sign-in-ports.ts';

export {
  type Answer,
  type CallOptions,
  cookieHeaders,
  ORIGIN,
  type SampleRow,
} from './rpc-calls.ts';

import { sealedIn } from './sealed-in-memory.ts';

export const START_SECONDS = START_MS / 1000;
export const VM = 'projects/demo/vms/vm-1';

export type RpcWorld = Awaited<ReturnType<typeof startRpcWorld>>;

/** The parts of all rooms in one list, so that a test replaces one by its name. */
export type RpcDeps = RpcRooms['platform'] &
  RpcRooms['identity'] &
  RpcRooms['vms'] &
  RpcRooms['telemetry'] &
  RpcRooms['alerting'] &
  RpcRooms['delivery'] &
  RpcRooms['ci'];

function byRoom(deps: RpcDeps): RpcRooms {
  return {
    platform: deps,
    identity: deps,
    vms: deps,
    telemetry: deps,
    alerting: deps,
    delivery: deps,
    ci: deps,
  };
}

/** Everything that routes beside the RPCs may need. */
export type WorldParts = RpcDeps & {
  readonly history: History;
  readonly evaluator: SamplePipeline;
  readonly alertingRules: ReturnType<typeof createAlertingRules>;
  readonly threads: QueryThreads;
  readonly controlPath: string;
  readonly secrets: SecretStore;
  readonly random: Random;
  readonly tokens: AccessTokens;
};

/** Options for the threads and the history of a world. */
export interface ThreadOptions {
  /** Uses worker threads, for tests of concurrency and deadlines. Default: inline. */
  readonly hasWorkers?: boolean;
  /** Retention of history, ms. Default: 7 days. */
  readonly retentionMs?: number;
}

/**
 * Starts a world that ends with the test. `change` replaces real parts by the test's own;
 * `addRoutes` adds routes beside the RPCs.
 */
export async function startRpcWorld(
  t: Test,
  change: (deps: WorldParts) => Partial<RpcDeps> = () => ({}),
  addRoutes: (app: FastifyInstance, parts: WorldParts) => void = () => {},
  options: ThreadOptions = {},
) {
  const parts = await startParts(t, options);
  const { clock, random, host, pipeline, log, bounds } = parts;
  const tokens = await testAccessTokens(clock);
  const used = new Map<string, number>();
  const signIn = testPeople({ host, clock, random });
  const refusedUses = new RefusedUses({ host, clock, onLost: () => {} });
  const authenticator = createAuthenticator({
    host,
    clock,
    tokens,
    recordRefused: (key, reason) => refusedUses.add(key, reason),
    recordUse: (credential) => void used.set(credential, clock.now()),
    sessions: { people: signIn.people, readCookie: readTestCookie, origin: () => ORIGIN },
  });
  const identities = identitiesOf({ host, clock, random, people: signIn.people });
  const brokenBodies: string[] = [];
  const datacenterStates = new Map<string, 'live' | 'stale'>();
  const { sealedValues, ...alerting } = inMemoryAlerting(parts);
  const real: WorldParts = {
    ...parts,
    ...alerting,
    ...bounds,
    authenticator,
    tokens,
    evaluator: pipeline,
    ...signIn,
    alertingRules: createAlertingRules({ host, evaluator: pipeline }),
    positions: testPositions({ ...parts, bounds }),
    enrolments: openEnrolments({ host, clock, random, datacenters: ['DC-1'] }),
    projectCreation: 'operator',
    serviceInfo: serviceInfoOf(INFO_SETTINGS),
    anonymousLimits: testAnonymousLimits(t, clock),
    recordBrokenBody: (encoding) => void brokenBodies.push(encoding),
    publicUrl: () => ORIGIN,
    ...noKeylessCi({ host, clock, random }),
    lastUsed: { of: (credential) => used.get(credential) },
    datacenters: { stateOf: (name) => datacenterStates.get(name) ?? 'live' },
  };
  const deps = { ...real, ...change(real) };
  const app = fastify({
    bodyLimit: BODY_BYTES_MAX,
    http: { maxHeaderSize: HEADER_BYTES_MAX },
  });
  refuseTwoCredentials(app);
  addFallbacks(app, log);
  addRoutes(app, real);
  const rooms = byRoom(deps);
  await app.register(fastifyConnectPlugin, { ...connectOptions(rooms), routes: rpcRoutes(rooms) });
  const issue = issuerOf(identities);
  const keys = await usualKeys(issue);
  t.teardown(async () => {
    await app.close();
    authenticator.close();
    await parts.stop();
  });
  const settled = () => untilEvaluated(parts);
  const seen = {
    clock,
    host,
    app,
    keys,
    stream: parts.stream,
    history: parts.history,
    lines: parts.lines,
    ...bounds,
    datacenterStates,
    /** Encodings of the bodies that failed to unpack. */
    brokenBodies,
    sealedValues,
    authenticator,
    tokens,
    positions: real.positions,
    ingest: real.ingest,
    people: signIn.people,
    members: signIn.members,
    controlPath: parts.controlPath,
    secrets: parts.secrets,
    ...identities,
    /** Sends an event to a machine's instance. The name `send` is used for requests. */
    step: identities.send,
  };
  return { ...seen, ...callsOf(app, keys, settled), settled, issue, stopRules: parts.stopRules };
}

const INFO_SETTINGS: Parameters<typeof serviceInfoOf>[0] = {
  smtpUrl: null,
  projectCreation: 'operator',
  expandedDatacenters: ['DC-1'],
  ciIssuers: ciIssuers.parse('github'),
};

/** Issues a key: a collector's if it may collect, otherwise one of a new service account. */
function issuerOf(identities: ReturnType<typeof identitiesOf>) {
  return async (project: string, capabilities: readonly TestCapability[]): Promise<string> => {
    const isCollector = capabilities.includes('collector');
    const made = isCollector
      ? await identities.issue({ project, kind: 'col', capabilities, owner: 'service/test' })
      : await identities.accountKey(project, capabilities);
    return made.key;
  };
}

async function usualKeys(issue: ReturnType<typeof issuerOf>) {
  return {
    write: await issue('demo', ['monitoring.read', 'monitoring.write']),
    read: await issue('demo', ['monitoring.read']),
    collector: await issue('demo', ['collector']),
    other: await issue('other', ['monitoring.read', 'monitoring.write', 'collector']),
  };
}

/** Resolves once every entry of the log is stored and evaluated. */
async function untilEvaluated({
  stream,
  pipeline,
}: Awaited<ReturnType<typeof startParts>>): Promise<void> {
  const { lastSequence } = await stream.state(samplesSpec.name);
  for (let turn = 0; pipeline.throughSequence() < lastSequence; turn++) {
    if (turn > 10_000) throw new Error('The sample log is not read to its end');
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/** Keyless CI without an issuer. Tests about it replace it by their own. */
function noKeylessCi(
  parts: Pick<WorldParts, 'host' | 'clock'> & Pick<DestinationsDeps, 'random'>,
): Pick<RpcDeps, 'ci' | 'issuerKind'> {
  const nothing = (): never => {
    throw new Error('This world has no keyless CI');
  };
  const ci = createKeylessCi({
    ...parts,
    assertions: { names: () => [], urlOf: () => undefined, verify: nothing },
    onceStore: { takeOnce: nothing },
    tokens: { sign: nothing },
    codes: { mint: nothing, hash: hashKey },
    publicUrl: () => ORIGIN,
    count: () => {},
    countWrongCode: () => {},
    onLost: nothing,
  });
  return { ci, issuerKind: () => undefined };
}

/** For `change`: queries on the test's own threads, which are slow or fail. */
export function withThreads(
  { clock, log }: RpcDeps,
  call: (signal: AbortSignal, method: string) => Promise<unknown>,
): Pick<RpcDeps, 'vmQueries' | 'alertPreviews'> {
  const threads: Pick<QueryThreads, 'call'> = {
    call: (_project, method, _argument, signal) => call(signal, method),
  };
  const common = { threads, clock, log, failures: { inc() {} } };
  return {
    vmQueries: createVmQueries({ ...common, listThreads: threads }),
    alertPreviews: createAlertPreviews(common),
  };
}

/** People whose sessions' last use is kept in memory. An unhandled fault fails the process. */
function testPeople(ports: Pick<RpcDeps, 'host' | 'clock'> & { random: Random }) {
  const seen = new Map<string, number>();
  return createIdentities({
    ...ports,
    lastSeen: {
      record: (session) => void seen.set(session, ports.clock.now()),
      of: (session) => seen.get(session),
    },
    onFault(what, error) {
      throw new Error(what, { cause: error });
    },
  });
}

/** Starts the real host, log, history, evaluator and query threads. */
async function startParts(t: Test, { hasWorkers = false, retentionMs }: ThreadOptions) {
  const startWorker = hasWorkers ? undefined : inlineWorker;
  const clock = new VirtualClock(START_MS);
  const random = seededRandom(7);
  const folder = t.testdir();
  const controlPath = copyMigratedDatabases(folder);
  const database = openDatabase({ path: controlPath, synchronous: 'NORMAL', migrations: [] });
  const stream = openEmbeddedStream({ storage: database, clock, random });
  const { identity } = await stream.ensure(samplesSpec);
  const history = openHistory({
    folder,
    clock,
    logIdentity: identity,
    background: false,
    readers: 1,
    startWorker,
    ...(retentionMs !== undefined && { retentionMs }),
  });
  const changes = new ChangeLimits({ clock });
  const host = hostOn({ stream, database, clock, random }, changes);
  await host.start();
  const ownership = soleOwner;
  const pipeline = new SamplePipeline({ host, stream, clock, history, ownership });
  const ingestParts = openIngest({ host, stream, clock, history, evaluator: pipeline, changes });
  const collected = collectingLog();
  const secrets = openSecretStore({ path: ':memory:', masterKey: Buffer.alloc(32, 7), random });
  const closers = new Closers(collected.log);
  const queries = openThreads({
    base: { clock, log: collected.log, closers },
    storage: { history, controlPath },
    startWorker,
  });
  const stopping = new AbortController();
  const rulesStopping = new AbortController();
  const running = [
    pipeline.run(stopping.signal),
    keepRules({ host, stream, clock, ownership }, rulesStopping.signal),
  ];
  const stop = async (): Promise<void> => {
    stopping.abort();
    rulesStopping.abort();
    await Promise.all(running);
    await host.stop();
    await closers.closeAll();
    await history.close();
    await stream.close();
    secrets.close();
    database.close();
  };
  const made = {
    clock,
    random,
    stream,
    history,
    retentionMs: history.retentionMs,
    controlPath,
    secrets,
    host,
    pipeline,
    ...queries,
    ...ingestParts,
    ...collected,
  };
  return { ...made, stop, stopRules: () => rulesStopping.abort() };
}

/** Query threads and replay threads; `closers` ends them. */
function openThreads(options: Parameters<typeof openRuleReplays>[0]) {
  const { base, storage, startWorker } = options;
  const { clock, log, closers } = base;
  const { history, controlPath } = storage;
  const threads = new QueryThreads({
    clock,
    history: history.share,
    controlPath,
    entry: QUERY_THREAD,
    startWorker,
  });
  closers.add('query threads', () => threads.close());
  const common = { threads, clock, log, failures: { inc() {} } };
  return {
    threads,
    vmQueries: createVmQueries({ ...common, listThreads: threads }),
    alertPreviews: createAlertPreviews(common),
    ruleReplays: openRuleReplays(options),
    incidentRecomputations: createIncidentRecomputations({ threads, clock }),
  };
}

function hostOn(
  ports: Pick<Parameters<typeof createHost>[0], 'stream' | 'clock' | 'random'> & {
    readonly database: SqliteDatabase;
  },
  admission: ChangeLimits,
) {
  const { stream, clock, random, database } = ports;
  return createHost({
    stream,
    store: openInstanceStore(database),
    clock,
    random,
    node: 'test',
    admission,
    machines: machineDefinitions,
    expand: expandAlerting,
  });
}

/** Ingest within the limits of the projects, and their usage. */
function openIngest(
  parts: Pick<ConstructorParameters<typeof SamplePipeline>[0], 'host' | 'stream'> & {
    readonly clock: VirtualClock;
    readonly history: History;
    readonly evaluator: SamplePipeline;
    readonly changes: ChangeLimits;
  },
) {
  const { host, stream, clock, history } = parts;
  const limits = new ProjectLimitsReader(host);
  const newest = (project: string, vm: string) => newestReport(history.newest(project, vm));
  const registry = new VmRegistry({ host, clock, limits, newest, datacenter: 'DC-1' });
  const bounds = testBounds(clock, (tenant) => limits.of(tenant.replace(/^projects\//, '')));
  const ingestLimits = new IngestLimits(registry, { limits, memory: history });
  const writer = new PartitionWriter({ stream, clock });
  const clocks = new ClockNotes();
  const ingest = createIngest({
    clock,
    writer,
    registry,
    clocks,
    limits: ingestLimits,
    rates: bounds.ingestRates,
    onRows: () => {},
    onSamples: () => {},
  });
  const limitUse = new ProjectLimitUse({
    ...parts,
    ...bounds,
    registry,
    ingestLimits,
    memory: history,
    changeLimits: parts.changes,
  });
  return { ingest, clocks, bounds, limitUse, sources: registry.sources };
}

/** Alerting whose sealed values the test can read. */
function inMemoryAlerting(ports: Pick<DestinationsDeps, 'host' | 'clock' | 'random'>) {
  const sealedValues = new Map<string, string>();
  const alerting = createAlerting(ports);
  const destinations = createDestinations({
    ...ports,
    sealed: sealedIn(sealedValues),
    refuseUrl: (_kind, url) => (URL.canParse(url) ? undefined : 'The URL is not valid'),
    groupWaitMs: 0,
    makeSecret: (source) => `whsec_${Buffer.from(source.bytes(32)).toString('base64')}`,
  });
  const maintenance = createMaintenanceWindows(ports);
  const rests = new DestinationRests();
  rests.follow(ports.host);
  return { sealedValues, alerting, maintenance, destinations, rests };
}

/** Collects every line of the log, for checks of what it must and must not contain. */
function collectingLog(): { lines: string[]; log: Log } {
  const lines: string[] = [];
  const note = (facts: object, message: string) => {
    const error = 'err' in facts && facts.err instanceof Error ? facts.err.stack : '';
    lines.push(`${message} ${JSON.stringify(facts)} ${error}`);
  };
  const log: Log = { debug: () => {}, info: note, warn: note, error: note, child: () => log };
  return { lines, log };
}
