/**
 * Sets up alerting and delivery: a real host with the real machines on an embedded stream in a
 * folder, under a virtual clock. Each part runs once a test starts it. Only the outermost ports are
 * stand-ins: the store of sealed values, and the endpoint that answers.
 */

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { type Alerting, createAlerting } from '../../actors/alerting/alerting.ts';
import { Evaluator, type EvaluatorDeps } from '../../actors/alerting/evaluator/evaluator.ts';
import type { IncidentBody } from '../../actors/alerting/incident.ts';
import { keepRules } from '../../actors/alerting/rule-keeper.ts';
import { expandAlerting } from '../../actors/delivery/audience.ts';
import { createDestinations } from '../../actors/delivery/destinations.ts';
import type { Destinations, DestinationsDeps } from '../../actors/delivery/destinations-port.ts';
import { deliveriesSpec } from '../../actors/delivery/queues.ts';
import { createHost, type RunningHost } from '../../actors/platform/host/host.ts';
import type { Instance } from '../../actors/platform/host/host-port.ts';
import { allInstances } from '../../actors/platform/host/live-instances.ts';
import { runTimers } from '../../actors/platform/host/timers.ts';
import { createIngest } from '../../actors/telemetry/ingest/ingest.ts';
import type { Ingest } from '../../actors/telemetry/ingest/ingest-port.ts';
import {
  PartitionWriter,
  SAMPLES_STREAM,
  SampleLogReader,
  samplesSpec,
} from '../../actors/telemetry/sample-log.ts';
import type { IngestRow } from '../../actors/vms/sent-row.ts';
import { VmRegistry } from '../../actors/vms/vm-registry.ts';
import type { AlertRuleContext, AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import { type MachineName, machineDefinitions } from '../../machines/audit/registry.ts';
import type { DeliveryContext } from '../../machines/delivery/delivery.ts';
import type { MachineDefinition } from '../../machines/platform/definition.ts';
import { openInstanceStore } from '../../sqlite/platform/control/instance-store.ts';
import { openDatabase } from '../../sqlite/platform/database.ts';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { type Append, type Stream, StreamUnavailable } from '../../streams/platform/stream.ts';
import { copyMigratedControl, copyMigratedStreams } from './migrated-databases.ts';
import { sealedIn } from './sealed-in-memory.ts';

export const START_MS = Date.UTC(2026, 0, 1);
export const PROJECT = 'demo';
export const RULE = '7b0c5a0e-6d2a-4a55-9a53-5a2d6d2f0001';
export const by = { kind: 'operator', name: 'test' } as const;
export const CPU = 'svc_vm_cpu_utilization_pct';

// Each append is synced to disk. A folder in memory, where one exists, makes this free.
const temporary = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** Fault of an append. Undefined: it is stored. */
export type AppendFault = (append: Append) => 'refused' | 'unknown' | undefined;

export interface WorldOptions {
  /** Folder of another world, to continue with its data. Default: a new one. */
  readonly folder?: string;
  readonly clock?: VirtualClock;
  /** Machines of the program that it runs. Default: the current ones. */
  readonly machines?: ReadonlyMap<string, MachineDefinition>;
  /** Opens a second member on that world's stream and clock, with a projection of its own. */
  readonly beside?: {
    readonly stored: Stream;
    readonly clock: VirtualClock;
    readonly sealed: Map<string, string>;
  };
}

export type AlertingWorld = Awaited<ReturnType<typeof openAlertingWorld>>;

/** Opens a world that ends with the test. Its parts are not started. */
export async function openAlertingWorld(t: Test, options: WorldOptions = {}) {
  const folder = options.folder ?? mkdtempSync(join(temporary, 'svc-alerting-'));
  const { beside } = options;
  const { clock = beside?.clock ?? new VirtualClock(START_MS) } = options;
  const random = seededRandom(beside ? 43 : 42);
  const database = openDatabase({
    path: copyMigratedControl(folder),
    synchronous: 'NORMAL',
    migrations: [],
  });
  const stored =
    beside?.stored ??
    openEmbeddedStream({
      storage: (name) =>
        copyMigratedStreams(join(folder, name === SAMPLES_STREAM ? 'samples.db' : 'events.db')),
      clock,
      random,
    });
  const faults: { append: AppendFault } = { append: () => undefined };
  const stream = faulty(stored, faults);
  await stream.ensure(samplesSpec);
  await stream.ensure(deliveriesSpec);
  const store = openInstanceStore(database);
  const host = createHost({
    stream,
    store,
    clock,
    random,
    node: beside ? 'beside' : 'test',
    machines: options.machines ?? machineDefinitions,
    expand: expandAlerting,
  });
  await host.start();
  const parts = new Parts();
  t.teardown(async () => {
    faults.append = () => undefined;
    await parts.stop();
    await host.stop();
    if (!beside) await stored.close();
    database.close();
    if (options.folder === undefined) rmSync(folder, { recursive: true });
  });
  const sealed = beside?.sealed ?? new Map<string, string>();
  const alerting = createAlerting({ host });
  const destinations = openDestinations({ host, clock, random }, sealed);
  const ingest = openIngest({ host, stream, clock });
  const ownership = soleOwner;
  const made = { folder, clock, random, database, stored, stream, faults, host, sealed, ownership };
  const world = { ...made, alerting, destinations, ingest };
  return {
    ...world,
    ...waiting(clock),
    ...acting(world),
    ...seeing(host),
    run: (part: (signal: AbortSignal) => Promise<void>) => parts.start(part),
    startRules: () => parts.start((signal) => keepRules(world, signal)),
    startEvaluator: (onFault?: EvaluatorDeps['onFault'], ports: EvaluatorPorts = {}) =>
      startEvaluator(world, parts, { ...ports, ...(onFault && { onFault }) }),
    startTimers: () =>
      parts.start((signal) => runTimers({ host, clock, ownership, onFault: thrown }, signal)),
  };
}

function openDestinations(
  parts: Pick<DestinationsDeps, 'host' | 'clock' | 'random'>,
  sealed: Map<string, string>,
): Destinations {
  return createDestinations({
    ...parts,
    sealed: sealedIn(sealed),
    refuseUrl: (_kind, url) => (url.startsWith('https:') ? undefined : `${url} is not https`),
    groupWaitMs: 0,
    makeSecret: (source) => `whsec_${Buffer.from(source.bytes(32)).toString('base64')}`,
  });
}

function thrown(_: unknown, error: unknown): void {
  throw error;
}

function faulty(embedded: Stream, faults: { append: AppendFault }): Stream {
  const { append } = embedded;
  return new Proxy(embedded, {
    get(target, name) {
      if (name !== 'append') {
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return async (message: Append) => {
        const fault = faults.append(message);
        if (fault === undefined) return append.call(target, message);
        if (fault === 'unknown') await append.call(target, message);
        throw new StreamUnavailable('No answer', fault);
      };
    },
  });
}

/** Running parts: each with its own end. */
class Parts {
  readonly #running = new Set<() => Promise<void>>();

  start(part: (signal: AbortSignal) => Promise<void>): () => Promise<void> {
    const ending = new AbortController();
    const ended = part(ending.signal);
    ended.catch(() => {});
    const stop = async (): Promise<void> => {
      this.#running.delete(stop);
      ending.abort();
      await ended;
    };
    this.#running.add(stop);
    return stop;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running].map((stop) => stop()));
  }
}

interface Core {
  readonly host: RunningHost;
  readonly stream: Stream;
  readonly clock: VirtualClock;
}

type EvaluatorPorts = Partial<
  Pick<
    EvaluatorDeps,
    | 'onFault'
    | 'onPartitionFault'
    | 'newest'
    | 'clockAhead'
    | 'ownership'
    | 'stream'
    | 'history'
    | 'checkpoints'
  >
>;

/** Starts a new evaluator, and a reader where it continues; `stop` ends both. */
async function startEvaluator({ host, stream, clock }: Core, parts: Parts, ports: EvaluatorPorts) {
  const log = new SampleLogReader(clock);
  const evaluator = new Evaluator({ host, stream, clock, log, ownership: soleOwner, ...ports });
  const neededFrom = await evaluator.rebuild();
  const { firstSequence } = await stream.state(SAMPLES_STREAM);
  const readFrom = Math.max(neededFrom, firstSequence);
  const stop = parts.start(async (signal) => {
    const evaluating = evaluator.run(signal);
    await Promise.all([evaluating, log.run(stream, readFrom, signal)]);
  });
  return { evaluator, log, stop, readFrom };
}

function openIngest({ host, stream, clock }: Core): Ingest {
  return createIngest({
    clock,
    writer: new PartitionWriter({ stream, clock }),
    registry: new VmRegistry({ host, clock, datacenter: 'DC-1' }),
    onRows: () => {},
    onSamples: () => {},
  });
}

const TURNS_MAX = 20_000;

function waiting(clock: VirtualClock) {
  /** Waits until work in progress has settled. */
  const settle = async (turns = 40): Promise<void> => {
    for (let i = 0; i < turns; i++) await new Promise<void>((resolve) => setImmediate(resolve));
  };
  return {
    settle,
    /** Runs turns of the event loop until the condition holds. Throws if it never does. */
    async until(what: string, condition: () => boolean): Promise<void> {
      for (let turns = 0; !condition(); turns++) {
        if (turns > TURNS_MAX) throw new Error(`The condition never held: ${what}`);
        await settle(1);
      }
    },
    /** Advances time in steps, and settles after each. */
    async pass(ms: number, stepMs = ms): Promise<void> {
      await settle();
      for (let left = ms; left > 0; left -= stepMs) {
        await clock.advance(Math.min(stepMs, left));
        await settle();
      }
    },
  };
}

export function ruleSpec(overrides: Partial<AlertRuleSpec> = {}): AlertRuleSpec {
  return {
    displayName: 'CPU is high',
    metricId: 'cpu_utilization_pct',
    operator: 'GREATER_THAN',
    threshold: 90,
    sustainedSeconds: 60,
    severity: 'WARNING',
    allVms: true,
    vmNames: [],
    enabled: true,
    repeatIntervalSeconds: 0,
    destinationNames: [],
    ...overrides,
  };
}

/** A row with one CPU value. */
export function cpuRow(vm: string, observedMs: number, value: number): IngestRow {
  return {
    vm,
    observedMs,
    sequence: observedMs,
    boot: 'boot-1',
    vcpus: Number.NaN,
    state: 1,
    stateReason: '',
    series: [CPU],
    values: [value],
  };
}

let requests = 0;

/** A request id that no other request has. */
export function freshRequest() {
  return { scope: 'test', id: `r${++requests}`, fingerprint: 'f' };
}

interface Acting extends Core {
  readonly alerting: Alerting;
  readonly destinations: Destinations;
  readonly ingest: Ingest;
}

function acting({ alerting, destinations, clock, host, ingest }: Acting) {
  const versionOf = (project: string, id: string): number => {
    const row = host.view(project).instance('alertRule', id);
    return row ? (row.context as unknown as AlertRuleContext).version : 0;
  };
  return {
    /** Creates the rule, or saves the next version of it. */
    saveRule: (
      overrides: Partial<AlertRuleSpec> = {},
      { id = RULE, project = PROJECT }: { id?: string; project?: string } = {},
    ) =>
      alerting.saveRule({
        project,
        by,
        id,
        request: freshRequest(),
        spec: ruleSpec(overrides),
        expectedVersion: String(versionOf(project, id)),
      }),
    deleteRule: (expectedVersion = '1', id = RULE) =>
      alerting.deleteRule({ project: PROJECT, by, request: freshRequest(), id, expectedVersion }),
    /** Creates a webhook. Resolves with its name as rules use it. */
    async addDestination(project = PROJECT): Promise<string> {
      const request = freshRequest();
      const url = `https://hooks.example.com/${request.id}`;
      const webhook = { displayName: 'Hook', target: { kind: 'webhook' as const, url } };
      const { destination } = await destinations.create({ project, by, request, ...webhook });
      return `projects/${project}/destinations/${destination.instance}`;
    },
    /** Writes one CPU value for each VM, observed now. */
    cpu: (value: number, vms: readonly string[] = ['vm-1'], project = PROJECT) =>
      ingest.write({
        project,
        batchId: '',
        rows: vms.map((vm) => cpuRow(vm, clock.now(), value)),
      }),
  };
}

function seeing(host: RunningHost) {
  const all = <M extends MachineName>(machine: M, project: string): Instance<M>[] => {
    const { items } = host.view(project).instances(machine, { limit: 20_000 });
    return [...items];
  };
  return {
    instances: <M extends MachineName>(machine: M, project = PROJECT) => all(machine, project),
    live: <M extends MachineName>(machine: M, project = PROJECT) =>
      allInstances(host.view(project), machine),
    rule(id = RULE, project = PROJECT) {
      const row = host.view(project).instance('alertRule', id);
      if (!row) throw new Error(`There is no rule ${id}`);
      return { value: row.value, context: row.context as unknown as AlertRuleContext };
    },
    incidents: (project = PROJECT): IncidentBody[] =>
      host
        .view(project)
        .records('incident', { limit: 20_000 })
        .items.map(({ body }) => body as unknown as IncidentBody),
    deliveries: (project = PROJECT) =>
      all('delivery', project).map(({ instance, value, context }) => ({
        id: instance,
        value,
        ...(context as unknown as DeliveryContext),
      })),
  };
}
