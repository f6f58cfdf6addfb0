/**
 * One seed: makes a world, runs it with faults for a while, stops the faults until everything has
 * settled, shuts it down, and judges it.
 */
import { samplesSpec } from '../../actors/telemetry/sample-log.ts';
import { Cluster } from './cluster.ts';
import { Outside } from './endpoints.ts';
import { faultsOf } from './faults.ts';
import { VmFleet } from './fleet.ts';
import { HostPair } from './host-pair.ts';
import { KeyHolders } from './key-holders.ts';
import { LogServer } from './log-server.ts';
import { Mailbox } from './mailbox.ts';
import { judge } from './oracle/judge.ts';
import type { Problem } from './oracle/problem.ts';
import { watchOlder } from './oracle/upgrades.ts';
import type { Outbox } from './outbox.ts';
import { People } from './people.ts';
import type { Planted } from './planted.ts';
import type { Doors } from './process.ts';
import { recordImmediates, World } from './world.ts';

export interface SeedOptions {
  /** Number of members. Default: drawn from the seed. */
  readonly members?: number | undefined;
  readonly planted?: Planted | undefined;
  /** Keep a line for every event. */
  readonly isTraced?: boolean;
}

export interface SeedResult {
  readonly seed: number;
  readonly members: number;
  readonly problems: readonly Problem[];
  readonly faults: ReadonlyMap<string, number>;
  readonly virtualMs: number;
  readonly happenings: number;
  readonly lines: World['lines'];
  /** Counts of the judged facts. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Everything of a run that the oracles read. */
export interface Run {
  readonly world: World;
  readonly server: LogServer;
  readonly outside: Outside;
  readonly cluster: Cluster;
  readonly fleets: readonly VmFleet[];
  readonly pairs: readonly HostPair[];
  /** Outboxes of all collectors. */
  readonly outboxes: readonly Outbox[];
  readonly people: readonly People[];
  readonly keyHolders: readonly KeyHolders[];
  readonly planted: Planted | undefined;
  /** Share of appends that do not reach the stream in time. */
  readonly lostAppends: number;
}

const PROJECTS = ['alpha', 'beta'];
/** Numbers of members that a seed may draw. */
const MEMBERS = [1, 1, 2, 3, 3, 4];

/** Runs the seed from start to verdict. Rejects only for a fault of the simulation. */
export async function runSeed(seed: number, options: SeedOptions = {}): Promise<SeedResult> {
  const problems: Problem[] = [];
  const world = new World(seed, options);
  const bug = (what: string, error: unknown): void => {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    problems.push({
      invariant: 'no fault of its own',
      text: `${what}: ${stack}`,
      atMs: world.elapsedMs,
    });
  };
  const onUnhandled = (error: unknown): void => bug('an unhandled rejection', error);
  process.on('unhandledRejection', onUnhandled);
  const undoRecording = recordImmediates();
  try {
    const members = options.members ?? world.dice.fork('members').pick(MEMBERS);
    const run = createRun(world, { ...options, members }, bug);
    watchOwners(run, problems);
    watchTruncation(run, problems);
    const acted = watchOlder(run, [...PROJECTS, '_system']);
    problems.push(...(await live(run, bug)), ...acted);
    problems.push(...run.keyHolders.flatMap((each) => each.problems), ...(await judge(run)));
    await run.cluster.discard();
    const { faults, lines, happenings, elapsedMs: virtualMs } = world;
    const counts = countsOf(run);
    return { seed, members, problems, faults, virtualMs, happenings, lines, counts };
  } finally {
    undoRecording();
    process.off('unhandledRejection', onUnhandled);
  }
}

function createRun(
  world: World,
  { planted, members }: { readonly planted?: Planted | undefined; readonly members: number },
  onBug: (what: string, error: unknown) => void,
): Run {
  const server = new LogServer(world);
  const faults = { ...faultsOf(world.dice.fork('faults'), members), ...planted?.faults };
  const outside = new Outside(world);
  const mailbox = new Mailbox();
  const options = { world, server, members, outside, mailbox, planted, onBug };
  const cluster = new Cluster(options, faults);
  cluster.start(faults);
  const projects = PROJECTS.slice(0, world.dice.chance(0.3) ? 2 : 1);
  const fleets = projects.map((project) => new VmFleet(world, cluster, project));
  const pairs = projects.flatMap((project) => HostPair.of(world, cluster, project, planted));
  const senders = [
    ...fleets.map(({ outbox }) => outbox),
    ...pairs.flatMap((pair) => pair.outboxes),
  ];
  const people = projects.map((project) => new People(world, cluster, { project, mailbox }));
  const keyHolders = projects.map((project) => new KeyHolders(world, cluster, project));
  const lostAppends = faults.refuse + faults.loseRequest + faults.late;
  const sending = { fleets, pairs, outboxes: senders };
  return { world, server, outside, cluster, ...sending, people, keyHolders, planted, lostAppends };
}

const WATCH_MS = 700;

/** Checks now and then who acts: at most one running member per project. */
function watchOwners(run: Run, problems: Problem[]): void {
  const { world, cluster } = run;
  if (cluster.members.length === 1) return;
  const look = (): void => {
    for (const project of [...PROJECTS, '_system']) {
      const owners = cluster.members.filter(({ process }) => {
        const isRunning = process && process.frozenUntilMs <= world.elapsedMs;
        return isRunning && process.doors?.ownership.owns(project);
      });
      if (owners.length < 2) continue;
      const text = `${owners.map(({ name }) => name).join(' and ')} act for ${project}`;
      const { elapsedMs: atMs } = world;
      problems.push({ invariant: 'one member acts at a time', text, atMs });
    }
    world.in(WATCH_MS, look);
  };
  world.in(WATCH_MS, look);
}

/** Time after which a healthy member has reported its needs and all others have read them, ms. */
const KNOWN_MS = 15_000;

/** No entry leaves the log of samples while a member that has reported its need still needs it. */
function watchTruncation({ world, server, cluster }: Run, problems: Problem[]): void {
  server.ensure(samplesSpec).onTruncated = (sequences) => {
    const { elapsedMs: atMs } = world;
    for (const member of cluster.members) {
      const { history } = member.machine;
      const [first] = sequences.filter((sequence) => history.leave(sequence));
      const isThere = member.doors && member.isWellIn(atMs - KNOWN_MS, atMs);
      if (first === undefined || !isThere) continue;
      const text = `entry ${first} leaves the log, but ${member.name} has it on no disk`;
      problems.push({ invariant: 'nothing acknowledged is lost', text, atMs });
    }
  };
}

/** Time after the last fault in which samples decide all open questions, ms. */
const RECOVERY_MS = 7 * 60_000;
/**
 * The same for several members, each of which folds the log: the minimum in which every duration
 * elapses, ms.
 */
const RECOVERY_OF_MEMBERS_MS = 4 * 60_000;
/** Time in which the last samples are decided, ms. */
const LAST_MS = 3_000;
/** Maximum steps until everything settles; a jump to a distant timer is one step. */
const STEPS_MAX = 150;
const STEP_MS = 31_700;

async function live(run: Run, onBug: (what: string, error: unknown) => void): Promise<Problem[]> {
  const { world, cluster, people, keyHolders } = run;
  const fleets = [...run.fleets, ...run.pairs];
  for (const fleet of fleets) fleet.start();
  for (const each of people) each.start(1 + world.dice.below(3));
  for (const each of keyHolders) each.start();
  const faultsMs = minutesOf(run) * 60_000;
  cluster.upgrade(faultsMs);
  await world.pass(faultsMs);
  world.trace(() => 'no more faults from here on');
  for (const each of [...people, ...keyHolders]) each.rest();
  for (const fleet of fleets) fleet.heal();
  cluster.heal();
  await world.pass(cluster.members.length > 1 ? RECOVERY_OF_MEMBERS_MS : RECOVERY_MS);
  const unrest = await rest(run);
  for (const fleet of fleets) fleet.stop();
  await world.pass(LAST_MS);
  try {
    await world.until(cluster.shutDown(), 60_000);
  } catch (error) {
    onBug('the last stop', error);
  }
  return unrest;
}

/** Duration of the faults. */
function minutesOf({ world: { dice }, cluster, planted }: Run): number {
  if (planted?.minutes !== undefined) return planted.minutes;
  if (cluster.members.length > 1) {
    // Sometimes as long as the retention of samples, or longer.
    return dice.chance(0.04) ? dice.between(24, 40) : dice.between(3, 7);
  }
  return dice.chance(0.1) ? dice.between(20, 60) : dice.between(4, 20);
}

/** Passes time until nothing is outstanding; long waits for timers are skipped. */
async function rest(run: Run): Promise<Problem[]> {
  const { world, cluster } = run;
  for (let steps = 0; ; steps++) {
    const why = whyNotAtRest(run);
    if (why === undefined) return [];
    const { elapsedMs: atMs } = world;
    if (steps > STEPS_MAX) return [{ invariant: 'it comes to rest', text: why, atMs }];
    const nextMs = cluster.members[0]?.doors?.host.nextTimerDueMs() ?? 0;
    const idleMs = nextMs - world.nowMs - STEP_MS;
    // Not during an attempt, whose outcome could not be recorded in time, and not while a row is in
    // flight, which would arrive too late to be evaluated.
    const isUnderWay = isSending(run) || run.outboxes.some(({ isIdle }) => !isIdle);
    if (idleMs > 0 && !isUnderWay) cluster.leap(idleMs);
    await world.pass(STEP_MS);
  }
}

function isSending({ cluster }: Run): boolean {
  return cluster.members.some(({ doors }) =>
    doors?.host.projects().some((project) => {
      const deliveries = doors.host
        .view(project)
        .instances('delivery', { limit: 1000, final: false });
      return deliveries.items.some(({ value }) => value === 'sending');
    }),
  );
}

/** Undefined once every sent sample is decided and every delivery has ended. */
function whyNotAtRest({ cluster, outboxes, server }: Run): string | undefined {
  if (outboxes.some(({ isIdle }) => !isIdle)) return 'Samples wait to be sent';
  const last = server.messages('SAMPLES_0').length;
  for (const { name, doors } of cluster.members) {
    if (!doors) return `${name} is not up`;
    const through = doors.pipeline.throughSequence();
    if (through < last - 4) return `The evaluator of ${name} is at ${through}, the log at ${last}`;
    const why = whyNotDone(doors);
    if (why !== undefined) return `${name}: ${why}`;
  }
  return undefined;
}

/** The first unfinished work, as this member sees it. */
function whyNotDone({ host }: Doors): string | undefined {
  for (const project of host.projects()) {
    const view = host.view(project);
    const rules = view.instances('alertRule', { limit: 1000, final: false }).items;
    const pending = rules.find(({ value }) => value === 'pendingApplication');
    if (pending) return `rule ${pending.instance} is not applied yet`;
    const [open] = view.instances('delivery', { limit: 1, final: false }).items;
    if (open) return `delivery ${open.instance} is ${JSON.stringify(open.value)}`;
  }
  return undefined;
}

function countsOf(run: Run): Record<string, number> {
  const { outside, outboxes, pairs, people, keyHolders, server, cluster } = run;
  const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
  return {
    commits: server.messages('EVENTS').length,
    entries: server.messages('SAMPLES_0').length,
    rows: sum(outboxes.map(({ acknowledged }) => acknowledged.length)),
    'VMs of two hosts': pairs.length,
    actions: sum(people.map(({ done }) => done.length)),
    attempts: outside.received.length,
    revocations: sum(keyHolders.map(({ revoked }) => revoked)),
    'keys accepted': sum(keyHolders.map(({ accepted }) => accepted)),
    [`seeds with ${cluster.members.length} members`]: 1,
  };
}
