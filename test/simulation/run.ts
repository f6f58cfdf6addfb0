/**
 * One seed: a world is made, lives for a while with its faults, is left in peace until everything
 * has come to rest, is shut down, and judged.
 */
import { Cluster } from './cluster.ts';
import type { Wire } from './connection.ts';
import { Outside } from './endpoints.ts';
import { faultsOf } from './faults.ts';
import { VmFleet } from './fleet.ts';
import { LogServer } from './log-server.ts';
import { Mailbox } from './mailbox.ts';
import { judge } from './oracle/judge.ts';
import type { Problem } from './oracle/problem.ts';
import { People } from './people.ts';
import type { Planted } from './planted.ts';
import { World } from './world.ts';

export interface SeedOptions {
  readonly planted?: Planted | undefined;
  /** Keep a line of everything that happens. */
  readonly isTraced?: boolean;
}

export interface SeedResult {
  readonly seed: number;
  readonly problems: readonly Problem[];
  readonly faults: ReadonlyMap<string, number>;
  readonly virtualMs: number;
  readonly happenings: number;
  readonly lines: World['lines'];
  /** What there was to judge. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Everything of a run that the oracles look at. */
export interface Run {
  readonly world: World;
  readonly server: LogServer;
  readonly outside: Outside;
  readonly cluster: Cluster;
  readonly fleets: readonly VmFleet[];
  readonly people: readonly People[];
}

const PROJECTS = ['alpha', 'beta'];

/** Runs the seed from its begin to its verdict. Rejects only for a fault of the simulation. */
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
  try {
    const run = createRun(world, options.planted, bug);
    problems.push(...(await live(run, bug)));
    problems.push(...(await judge(run)));
    await run.cluster.discard();
    const { faults, lines, happenings, elapsedMs: virtualMs } = world;
    return { seed, problems, faults, virtualMs, happenings, lines, counts: countsOf(run) };
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
}

function createRun(
  world: World,
  planted: Planted | undefined,
  onBug: (what: string, error: unknown) => void,
): Run {
  const server = new LogServer();
  const dice = world.dice.fork('wire');
  const faults = faultsOf(world.dice.fork('faults'));
  const wire: Wire = { world, server, dice, faults, outageUntilMs: 0 };
  const outside = new Outside(world);
  const mailbox = new Mailbox();
  const cluster = new Cluster({ world, wire, outside, mailbox, planted, onBug });
  cluster.start(faults);
  const projects = PROJECTS.slice(0, world.dice.chance(0.3) ? 2 : 1);
  const fleets = projects.map((project) => new VmFleet(world, cluster, project));
  const people = projects.map((project) => new People(world, cluster, { project, mailbox }));
  return { world, server, outside, cluster, fleets, people };
}

/** Samples that decide what is still open come after the last fault, ms. */
const RECOVERY_MS = 7 * 60_000;
/** Steps in which everything comes to rest; those to a timer that is far away are one each. */
const STEPS_MAX = 150;
const STEP_MS = 31_700;

async function live(run: Run, onBug: (what: string, error: unknown) => void): Promise<Problem[]> {
  const { world, cluster, fleets, people } = run;
  for (const fleet of fleets) fleet.start();
  for (const each of people) each.start(1 + world.dice.below(3));
  const minutes = world.dice.chance(0.1) ? world.dice.between(20, 60) : world.dice.between(4, 20);
  await world.pass(minutes * 60_000);
  world.trace(() => 'no more faults from here on');
  for (const each of people) each.rest();
  for (const fleet of fleets) fleet.heal();
  cluster.heal();
  await world.pass(RECOVERY_MS);
  const unrest = await rest(run);
  try {
    await world.until(cluster.shutDown(), 60_000);
  } catch (error) {
    onBug('the last stop', error);
  }
  return unrest;
}

/** Passes time until nothing is outstanding; long waits for timers are skipped. */
async function rest(run: Run): Promise<Problem[]> {
  const { world, cluster } = run;
  for (let steps = 0; ; steps++) {
    const why = whyNotAtRest(run);
    if (why === undefined) return [];
    const { elapsedMs: atMs } = world;
    if (steps > STEPS_MAX) return [{ invariant: 'it comes to rest', text: why, atMs }];
    const nextMs = cluster.doors?.host.nextTimerDueMs() ?? 0;
    const idleMs = nextMs - world.nowMs - STEP_MS;
    if (idleMs > 0) world.leap(idleMs);
    await world.pass(STEP_MS);
  }
}

/** Undefined: everything that was sent in has been decided, and every delivery has ended. */
function whyNotAtRest({ cluster, fleets, server }: Run): string | undefined {
  const { doors } = cluster;
  if (!doors) return 'The service is not up';
  if (fleets.some(({ isIdle }) => !isIdle)) return 'Samples wait to be sent';
  const { host, pipeline } = doors;
  const last = server.messages('SAMPLES_0').length;
  const through = pipeline.throughSequence();
  if (through < last - 4) return `The evaluator has come to ${through}, the log ends at ${last}`;
  for (const project of host.projects()) {
    const view = host.view(project);
    const rules = view.instances('alertRule', { limit: 1000, final: false }).items;
    const pending = rules.find(({ value }) => value === 'pendingApplication');
    if (pending) return `Rule ${pending.instance} waits to be applied`;
    const [open] = view.instances('delivery', { limit: 1, final: false }).items;
    if (open) return `Delivery ${open.instance} is ${JSON.stringify(open.value)}`;
  }
  return undefined;
}

function countsOf({ outside, fleets, people, server }: Run): Record<string, number> {
  const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
  return {
    commits: server.messages('EVENTS').length,
    entries: server.messages('SAMPLES_0').length,
    rows: sum(fleets.map(({ acknowledged }) => acknowledged.length)),
    acts: sum(people.map(({ done }) => done.length)),
    attempts: outside.received.length,
  };
}
