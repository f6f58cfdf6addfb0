/**
 * One process of the service: the real actors, wired as the composition root wires them, on ports
 * that the world controls. It can be killed at any await or during a write. From then on its ports
 * neither answer nor write, and its memory is lost.
 */
import { createAlerting } from '../../actors/alerting/alerting.ts';
import { Checkpoints } from '../../actors/alerting/evaluator/checkpoints.ts';
import { SamplePipeline } from '../../actors/alerting/evaluator/sample-pipeline.ts';
import { retainSamples, sampleProgress } from '../../actors/alerting/evaluator/sample-retention.ts';
import { createIncidentActions } from '../../actors/alerting/incident-actions.ts';
import { announceMaintenance } from '../../actors/alerting/maintenance.ts';
import { keepRules } from '../../actors/alerting/rule-keeper.ts';
import { expandAlerting } from '../../actors/delivery/audience.ts';
import { delivererPart } from '../../actors/delivery/deliverer.ts';
import { createDestinations } from '../../actors/delivery/destinations.ts';
import { deliveriesSpec } from '../../actors/delivery/due-attempts.ts';
import { createRecipientLinks } from '../../actors/delivery/recipient-links.ts';
import { type Accounts, createAccounts } from '../../actors/identity/accounts.ts';
import { createKeys, type Keys } from '../../actors/identity/keys.ts';
import { withRevocationBarrier } from '../../actors/identity/revocation-barrier.ts';
import { programFormats, unfitShares } from '../../actors/platform/host/formats.ts';
import { createHost, type RunningHost } from '../../actors/platform/host/host.ts';
import { runTimers } from '../../actors/platform/host/timers.ts';
import { isRetryable } from '../../actors/platform/retryable.ts';
import { SnapshotKeeper } from '../../actors/platform/snapshots.ts';
import { type Part, type Supervision, supervise } from '../../actors/platform/supervision.ts';
import { ClockNotes } from '../../actors/telemetry/ingest/clock-notes.ts';
import { createIngest } from '../../actors/telemetry/ingest/ingest.ts';
import type { Ingest } from '../../actors/telemetry/ingest/ingest-port.ts';
import { PartitionWriter, samplesSpec } from '../../actors/telemetry/sample-log.ts';
import { tick } from '../../actors/telemetry/ticker.ts';
import { Datacenters } from '../../actors/vms/datacenters.ts';
import { VmRegistry } from '../../actors/vms/vm-registry.ts';
import type { InstanceStore } from '../../sqlite/platform/control/instance-store.ts';
import { createContents } from '../../src/delivery/notify/contents.ts';
import { createAuthenticator } from '../../src/identity/auth/authenticator.ts';
import type { Authenticator } from '../../src/platform/access/authenticator.ts';
import { mintSecret } from '../../src/platform/keys.ts';
import { decodeCommit } from '../../streams/platform/commit/codec.ts';
import type { InstanceStep } from '../../streams/platform/commit/commit.ts';
import { Fitness } from '../../streams/platform/membership/fitness.ts';
import { joinCluster } from '../../streams/platform/membership/member.ts';
import type { Membership, Ownership } from '../../streams/platform/membership/membership.ts';
import { SHARES, type Share } from '../../streams/platform/membership/roster.ts';
import { soleMember } from '../../streams/platform/membership/sole-member.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import { Connection, type Wire } from './connection.ts';
import type { Outside, Sender } from './endpoints.ts';
import { DiskError, ProcessDied } from './faults.ts';
import { joinFromSnapshot, snapshotsOf } from './joining.ts';
import type { LogServer } from './log-server.ts';
import type { Machine } from './machine.ts';
import { type Mailbox, tokensOf } from './mailbox.ts';
import type { Planted } from './planted.ts';
import type { Program } from './programs.ts';
import { renderings } from './renderings.ts';
import { ProcessClock, type World } from './world.ts';

const DATACENTER = 'DC-1';
/** Retention of samples: shorter than hours, but longer than any rule looks back, ms. */
const KEPT_MS = 20 * 60_000;
/** Time between two checkpoints of a partition, ms. */
const CHECKPOINT_MS = 20_000;

export interface ProcessOptions {
  readonly world: World;
  readonly wire: Wire;
  readonly outside: Outside;
  readonly machine: Machine;
  readonly mailbox: Mailbox;
  /** Number of machines. */
  readonly members: number;
  /** Number of this process on its machine, from 1. */
  readonly number: number;
  /** Called when it has died or stopped. */
  readonly onEnd: () => void;
  readonly planted: Planted | undefined;
  /** Called for a fault of the program's own, which no injected fault causes. */
  readonly onBug: (what: string, error: unknown) => void;
}

/** The interface for people and collectors. */
export interface Doors {
  readonly host: RunningHost;
  readonly ingest: Ingest;
  readonly alerting: ReturnType<typeof createAlerting>;
  readonly destinations: ReturnType<typeof createDestinations>;
  readonly incidents: ReturnType<typeof createIncidentActions>;
  readonly links: ReturnType<typeof createRecipientLinks>;
  readonly accounts: Accounts;
  readonly keys: Keys;
  readonly authenticator: Pick<Authenticator, 'authenticateKey'>;
  readonly pipeline: SamplePipeline;
  readonly ownership: Ownership;
}

export class Process implements Sender {
  readonly member: string;
  isAlive = true;
  frozenUntilMs = 0;
  /** Undefined until it is up. */
  doors: Doors | undefined;
  readonly clock: ProcessClock;
  readonly program: Program;
  readonly #options: ProcessOptions;
  readonly #endings = new Set<AbortController>();
  #supervision: Supervision | undefined;
  #membership: Membership | undefined;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.member = options.wire.name;
    this.program = options.machine.program;
    this.clock = new ProcessClock(options.world, this, options.machine.skew);
  }

  /** Rejects when the stream does not answer: the process ends, and another one is started. */
  async start(): Promise<void> {
    const { wire, world, machine, members, number, planted } = this.#options;
    const name = `${wire.name}-${number}`;
    const stream: Stream = new Connection(wire, this);
    await stream.ensure(samplesSpec);
    await stream.ensure(deliveriesSpec);
    const random = world.dice.fork(name);
    machine.history.begin();
    const membership = await this.#join(name);
    this.#membership = membership;
    if (members > 1 && (await joinFromSnapshot(this.#options, stream))) {
      planted?.joined?.(machine, wire.server);
    }
    const stored = machine.store(this);
    const store = planted?.store?.(stored, this.program) ?? stored;
    const own = createHost({
      stream,
      random,
      clock: this.clock,
      node: name,
      store,
      machines: this.program.machines,
      expand: expandAlerting,
    });
    await own.start();
    const host = withRevocationBarrier(own, { member: membership, clock: this.clock });
    const ownership = planted?.ownership?.(membership) ?? membership;
    const core = { host, stream, random, clock: this.clock, ownership, membership };
    const heardElsewhere = () => membership.heardElsewhere();
    const datacenters = new Datacenters({
      ...core,
      datacenter: DATACENTER,
      silenceMs: 90_000,
      heardElsewhere,
    });
    const clocks = new ClockNotes();
    const pipeline = this.#pipeline(core, clocks, datacenters);
    const ingest = this.#ingest(core, datacenters, clocks);
    this.doors = { ...core, ...this.#actions(core), pipeline, ingest };
    // A real full disk does not always keep a member from acting; here it always does.
    const isFull = () => world.elapsedMs < machine.history.fullUntilMs;
    const fitness = new Fitness(this.clock, () => (isFull() ? 'The data disk is full' : undefined));
    const standing = () => {
      const barred = planted?.unfit?.() ?? this.#unfit(membership, stored);
      const standsDown = fitness.standsDown();
      if (standsDown === undefined) return { unfit: barred, barred };
      world.count('stands down');
      return { unfit: SHARES, barred, standsDown };
    };
    membership.report(() => ({
      address: null,
      applied: host.appliedSequence(),
      ...sampleProgress({ history: machine.history, pipeline }),
      heard: datacenters.ages(),
      ...standing(),
    }));
    this.#supervision = supervise({
      ...core,
      parts: this.#parts(core, pipeline, datacenters).map((part) => this.#endable(part)),
      onFailure: ({ name }, error) => this.#fault(`part ${name}`, error),
    });
  }

  /** The only process of its streams acts alone, as an embedded process does. */
  async #join(node: string): Promise<Membership> {
    const { wire, machine, members, planted } = this.#options;
    if (members === 1) return soleMember(this.member);
    const facts = { host: wire.name, pid: 1, startedMs: this.clock.now() };
    const membership = await joinCluster({
      stream: new Connection(wire, this),
      clock: planted?.memberClock?.(this.clock, machine.skew) ?? this.clock,
      self: { node, ...facts, version: this.program.version, lock: wire.name },
    });
    return planted?.membership?.(membership) ?? membership;
  }

  #unfit(member: Membership, store: InstanceStore): Share[] {
    const { version, machines } = this.program;
    return unfitShares({ member, version, store, formats: programFormats(machines) });
  }

  /** Kills it: its pending waits never resolve. */
  kill(): void {
    const wasAlive = this.isAlive;
    this.isAlive = false;
    this.doors = undefined;
    if (wasAlive) this.#options.onEnd();
  }

  /** Releases the objects of a killed process that the runtime would keep: its signal listeners. */
  discard(): void {
    for (const ending of this.#endings) ending.abort();
    this.#endings.clear();
  }

  #endable({ name, run }: Part): Part {
    return {
      name,
      run: (signal) => {
        const ending = new AbortController();
        this.#endings.add(ending);
        signal.addEventListener('abort', () => ending.abort(), { once: true });
        return run(ending.signal).finally(() => void this.#endings.delete(ending));
      },
    };
  }

  /** Stops gracefully, as the service does. */
  async stop(): Promise<void> {
    const host = this.doors?.host;
    this.doors = undefined;
    await this.#supervision?.stop();
    await this.#membership?.leave();
    await host?.stop();
    this.kill();
  }

  #pipeline(
    { host, stream, clock, ownership }: Core,
    clocks: ClockNotes,
    datacenters: Datacenters,
  ): SamplePipeline {
    const { planted, machine } = this.#options;
    return new SamplePipeline({
      clock,
      stream: planted?.samples?.(stream) ?? stream,
      ownership,
      host: planted?.host?.('evaluator', host) ?? host,
      history: machine.history,
      checkpoints: this.#checkpoints({ host, stream, clock }),
      clockAhead: (sinceMs) => clocks.ahead(sinceMs),
      onHeard: datacenters.heardInLog,
      onFault: (what, error) => this.#fault(what, error),
      onPartitionFault: ({ partition, error }) => this.#fault(`partition ${partition}`, error),
    });
  }

  #checkpoints({ host, stream, clock }: Pick<Core, 'host' | 'stream' | 'clock'>): Checkpoints {
    const { planted, world, machine } = this.#options;
    const real = machine.checkpoints.of(this);
    return new Checkpoints({
      host,
      stream,
      clock,
      store: planted?.checkpoints?.(real) ?? real,
      intervalMs: CHECKPOINT_MS,
      uncutMs: KEPT_MS / 2,
      onFault: () => world.count('damaged checkpoint'),
    });
  }

  #ingest(core: Core, datacenters: Datacenters, clocks: ClockNotes): Ingest {
    const { host, stream, clock, membership } = core;
    const { planted, machine } = this.#options;
    const read = (project: string, vm: string) => machine.history.newestReport(project, vm);
    const newest = planted?.newest?.(read) ?? read;
    const ingest = createIngest({
      clock,
      writer: new PartitionWriter({ stream: planted?.stream?.(stream) ?? stream, clock }),
      registry: new VmRegistry({ host, clock, newest, datacenter: DATACENTER }),
      refusal: () => membership.refusal(),
      clocks,
      onRows: datacenters.reported,
      onSamples: () => {},
    });
    return planted?.ingest?.(ingest) ?? ingest;
  }

  #actions({ host: real, clock, random, membership }: Core) {
    const { planted, machine, mailbox } = this.#options;
    const host = planted?.host?.('people', real) ?? real;
    const tokens = tokensOf(random.fork('tokens'));
    return {
      links: createRecipientLinks({ host, tokens }),
      alerting: createAlerting({ host }),
      incidents: createIncidentActions(host),
      accounts: createAccounts({ host, clock, random }),
      keys: createKeys({ host, mint: (kind) => mintSecret(kind, { nowMs: clock.now(), random }) }),
      authenticator: createAuthenticator({
        host,
        clock,
        recordUse: () => {},
        refusal: () => membership.refusal(),
      }),
      destinations: createDestinations({
        host,
        clock,
        random,
        sealed: machine.sealed(this),
        refuseUrl: () => undefined,
        mail: { tokens, mails: mailbox },
        groupWaitMs: 0,
        makeSecret: (source) => `whsec_${Buffer.from(source.bytes(32)).toString('base64')}`,
      }),
    };
  }

  #parts(core: Core, pipeline: SamplePipeline, datacenters: Datacenters): Part[] {
    const { host, clock, ownership, membership } = core;
    const onFault = ({ id }: { id: string }, error: unknown) => this.#fault(`timer ${id}`, error);
    const livenessReport = (partition: number, atMs: number) =>
      pipeline.livenessReport(partition, atMs);
    const timers = { host, clock, onFault, ownership };
    // It joins once it has decided the entries of the log.
    const begin = async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted && !pipeline.isCaughtUp()) await pause(clock, 250, signal);
      if (!signal.aborted) membership.begin();
      await pause(clock, Number.POSITIVE_INFINITY, signal);
    };
    return [
      { name: 'membership', run: begin },
      ...(this.#options.members > 1 ? [this.#snapshots(core)] : []),
      { name: 'evaluator', run: (signal) => pipeline.run(signal) },
      this.#retention(core, pipeline),
      { name: 'rules', run: (signal) => keepRules(core, signal) },
      { name: 'maintenance', run: (signal) => announceMaintenance(core, signal) },
      { name: 'ticker', run: (signal) => tick({ ...core, livenessReport }, signal) },
      { name: 'datacenters', run: (signal) => datacenters.run([DATACENTER], 5_000, signal) },
      { name: 'timers', run: (signal) => runTimers(timers, signal) },
      this.#deliverer(core),
    ];
  }

  #retention(core: Core, pipeline: SamplePipeline): Part {
    const { history } = this.#options.machine;
    const memberFloors = (partition: number) => core.membership.floorsOf(partition);
    const deps = { ...core, history, pipeline, memberFloors, keptMsMin: KEPT_MS };
    return { name: 'sample retention', run: (signal) => retainSamples(deps, signal) };
  }

  #snapshots({ host, stream, clock, random, ownership }: Core): Part {
    const keeper = new SnapshotKeeper({
      stream,
      clock,
      random,
      ownership,
      source: snapshotsOf(this.#options.machine),
      node: this.member,
      appliedSequence: () => host.appliedSequence(),
    });
    return { name: 'snapshots', run: (signal) => keeper.run(signal) };
  }

  #deliverer({ host: real, stream, clock, random, ownership }: Core): Part {
    const { planted, machine, outside, world } = this.#options;
    const bodies = machine.bodies(this);
    return delivererPart({
      stream,
      clock,
      random,
      host: planted?.host?.('deliverer', real) ?? real,
      ownership,
      delivers: true,
      notifier: outside.notifier(this, clock),
      contents: createContents({
        clock,
        sealed: machine.sealed(this),
        bodies: planted?.bodies?.(bodies) ?? bodies,
        publicUrl: () => 'https://svc.example',
        renderers: renderings(world),
        unsubscribeUrl: (project, recipient) => `https://svc.example/${project}/${recipient}`,
      }),
      keepExcerpts: async () => {},
      onFault: (what, error) => this.#fault(`delivering: ${what}`, error),
      onAttempt: () => {},
    });
  }

  #fault(what: string, error: unknown): void {
    this.#options.world.trace(() => `${what} failed: ${String(error)}`);
    if (this.isAlive && !isInjected(error) && !isOfTheDeleted(error, this.#options.wire.server)) {
      this.#options.onBug(what, error);
    }
  }
}

type Core = {
  readonly host: RunningHost;
  readonly stream: Stream;
  readonly clock: ProcessClock;
  readonly random: World['dice'];
  readonly ownership: Ownership;
  readonly membership: Membership;
};

/**
 * A destination was deleted or given another address after an attempt had been opened. Its sealed
 * value no longer exists, and no existing destination refers to it.
 */
function isOfTheDeleted(error: unknown, server: LogServer): boolean {
  const [, id] =
    /^The sealed value (\S+) does not exist$/.exec(String((error as Error).message)) ?? [];
  if (id === undefined) return false;
  const destinations = new Map<string, InstanceStep>();
  for (const { data } of server.messages('EVENTS')) {
    for (const { steps } of decodeCommit(data).commit.decisions) {
      for (const step of steps) {
        if (step.machine === 'destination') destinations.set(step.instance, step);
      }
    }
  }
  return ![...destinations.values()].some(
    ({ final, instance, context }) =>
      !final && JSON.stringify([instance, context.urlId, context.secrets]).includes(id),
  );
}

/** True if the error or its cause is a fault of the world. */
export function isInjected(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof DiskError || each instanceof ProcessDied || isRetryable(each)) return true;
    if (each.message === 'The host is stopped') return true;
  }
  return false;
}
