/**
 * The commit core under random orders of events: two nodes, each with a store, write two projects
 * through a stream that rejects, loses, delays and duplicates messages, while retention empties it.
 * Clients resend unanswered submissions with the same request id, to either node. Both nodes fire
 * all timers.
 *
 * After each run an oracle that knows only the requests and their answers checks the invariants.
 */
import type { Test } from 'tap';
import { runTimers } from '../../../actors/platform/host/timers.ts';
import { soleOwner } from '../../../streams/platform/membership/sole-member.ts';
import { StreamUnavailable } from '../../../streams/platform/stream.ts';
import {
  COUNTER_LIMIT,
  COUNTER_RESET_MS,
  counter,
  counterV2,
} from '../../support/counter-machine.ts';
import {
  add,
  type CountingNode,
  clearPlace,
  countingNode,
  openPlace,
  projectionOf,
} from '../../support/counting-node.ts';
import { type Faults, FaultyLog, World } from '../../support/faulty-stream.ts';

const CLIENTS = 3;
const REQUESTS = 4;
const PROJECTS = ['busy', 'quiet'];

const faults: Faults = {
  refuse: 0.05,
  loseRequest: 0.08,
  loseAnswer: 0.1,
  late: 0.08,
  double: 0.05,
  breakRead: 0.02,
};

/** A client's request and its answer. */
interface Answered {
  readonly requestId: string;
  readonly project: string;
  readonly counter: string;
  readonly count: number;
  readonly sequence: number;
}

type Place = ReturnType<typeof openPlace>;
type Places = readonly [Place, Place];

interface Run {
  readonly world: World;
  readonly log: FaultyLog;
  readonly nodes: readonly [CountingNode, CountingNode];
  readonly answered: Answered[];
  /** The second node runs the next version of the machine. */
  readonly upgrading: boolean;
}

/** Runs the seeds in turn; fails with the list of those that broke an invariant. */
export async function runSeeds(t: Test, seeds: readonly number[]): Promise<void> {
  const places = [openPlace(), openPlace()] as const;
  t.teardown(() => {
    for (const place of places) place.database.close();
  });
  const failed: string[] = [];
  const seen = { conflicts: 0, appendRetries: 0, superseded: 0, unavailable: 0, readFailures: 0 };
  for (const seed of seeds) {
    const run = await modelRun(seed, places, failed).catch((cause: unknown) => {
      throw new Error(`seed ${seed} did not finish`, { cause });
    });
    for (const { host } of run.nodes) {
      const counters = host.counters();
      for (const kind of Object.keys(seen) as (keyof typeof seen)[]) seen[kind] += counters[kind];
    }
    if (failed.length > 3) break;
  }
  t.same(failed, []);
  t.comment(JSON.stringify(seen));
  if (seeds.length > 1) {
    // A model that meets no faults proves nothing.
    t.ok(seen.conflicts > seeds.length / 2, 'commits lost races');
    t.ok(seen.appendRetries > seeds.length, 'appends were repeated');
    t.ok(seen.superseded > seeds.length / 2, 'the log held copies and losing commits');
    t.ok(seen.readFailures > seeds.length / 10, 'reads failed');
  }
}

/** One run from a seed: requests from three clients, a quiet period, the oracle, then timers. */
async function modelRun(seed: number, places: Places, failed: string[]): Promise<Run> {
  const run = createRun(seed, places);
  const { world, nodes } = run;
  await finish(world, Promise.all(nodes.map((node) => node.host.start())));
  const clients = Array.from({ length: CLIENTS }, (_, client) => runClient(run, client));
  await finish(world, Promise.all(clients));
  await settle(run);
  const problems = [...answerProblems(run), ...agreementProblems(run)];
  await passTimers(run);
  problems.push(...timerProblems(run), ...agreementProblems(run));
  await finish(world, Promise.all(nodes.map((node) => node.host.stop())));
  failed.push(...problems.map((problem) => `seed ${seed}: ${problem}`));
  return run;
}

function createRun(seed: number, places: Places): Run {
  const world = new World(seed);
  const { clock, random } = world;
  // Servers differ in which check they do first; every third deployment is being upgraded.
  const log = new FaultyLog({ world, idsBeforeExpected: world.chance(0.5) });
  const upgrading = seed % 3 === 0;
  const node = (name: string, place: Places[0], machine = counter) => {
    clearPlace(place);
    return countingNode({ stream: log.connect(faults), clock, random, name, machine, place });
  };
  const second = node('two', places[1], upgrading ? counterV2 : counter);
  return { world, log, nodes: [node('one', places[0]), second], answered: [], upgrading };
}

/** A client that adds to one of four counters, and resends each request until it is answered. */
async function runClient(run: Run, client: number): Promise<void> {
  const { world, nodes, log, upgrading } = run;
  for (let i = 0; i < REQUESTS; i++) {
    const requestId = `${client}-${i}`;
    const project = world.chance(0.8) ? 'busy' : 'quiet';
    const counter = `${project}-${world.below(2)}`;
    for (let answered = false; !answered; ) {
      // An old node cannot decide on rows of a newer version, and rejects them. During an upgrade
      // each node therefore has counters of its own.
      const own = counter.endsWith('1') ? 1 : 0;
      const { host } = nodes[upgrading ? own : world.below(2) === 0 ? 0 : 1];
      try {
        const { answer, sequence } = await add(host, project, counter, requestId);
        run.answered.push({ requestId, project, counter, count: answer.count, sequence });
        answered = true;
      } catch (error) {
        if (!(error instanceof StreamUnavailable)) throw error;
      }
    }
    // Retention removes what both have applied, often the whole subject of a quiet project.
    if (world.chance(0.3)) {
      log.truncate(Math.min(...nodes.map(({ host }) => host.appliedSequence())) + 1);
    }
  }
}

/** Lets late appends arrive, and both nodes read to the end. */
async function settle({ world, log, nodes }: Run): Promise<void> {
  for (let quiet = 0; quiet < 3; ) {
    const before = log.lastSequence;
    for (let i = 0; i < 10; i++) await world.step();
    const read = nodes.every(({ host }) => host.appliedSequence() === log.lastSequence);
    quiet = read && before === log.lastSequence ? quiet + 1 : 0;
  }
}

/** Advances past the counters' delay while both nodes fire timers. */
async function passTimers(run: Run): Promise<void> {
  const { world, nodes, upgrading } = run;
  const end = new AbortController();
  const onFault = (): never => {
    throw new Error('A timer could not be fired');
  };
  // During an upgrade the new node owns the partition: the old one cannot decide on its rows.
  const firing = upgrading ? nodes.slice(1) : nodes;
  const options = { clock: world.clock, ownership: soleOwner, onFault };
  const parts = firing.map(({ host }) => runTimers({ ...options, host }, end.signal));
  await world.clock.advance(COUNTER_RESET_MS);
  await world.run(() => nodes.every(({ store }) => store.nextTimerDueMs() === undefined));
  end.abort();
  await finish(world, Promise.all(parts));
  await settle(run);
}

async function finish(world: World, work: Promise<unknown>): Promise<void> {
  let done = false;
  const end = (): void => {
    done = true;
  };
  work.then(end, end);
  await world.run(() => done);
  await work;
}

function agreementProblems({ nodes }: Run): string[] {
  const [one, two] = nodes.map(({ database }) => projectionOf(database));
  const foreign = nodes.some(({ host }) => host.counters().foreign > 0);
  return [
    ...(one === two ? [] : ['the projections differ']),
    ...(foreign ? ['a commit followed one outside the chain'] : []),
    ...nodes.flatMap(({ host }) => (host.health().state === 'ready' ? [] : ['a node stopped'])),
  ];
}

/** Every answered request is recorded exactly once, with the content of its answer. */
function answerProblems({ nodes, answered }: Run): string[] {
  const problems: string[] = [];
  const { host, store } = nodes[0];
  if (answered.length !== CLIENTS * REQUESTS) problems.push(`${answered.length} answers`);
  for (const { requestId, project, sequence, count } of answered) {
    const recorded = store.request(project, project, requestId);
    if (recorded?.sequence !== sequence || recorded.answer.count !== count) {
      problems.push(`the record of request ${requestId} differs from its answer`);
    }
  }
  for (const name of new Set(answered.map(({ counter }) => counter))) {
    const requested = answered.filter(({ counter }) => counter === name);
    const view = host.view(requested[0]?.project ?? '');
    const adds = view
      .transitions({ limit: 1000, machine: 'counter', instance: name })
      .items.filter(({ event }) => event.type === 'added').length;
    const counts = requested.map(({ count }) => count).sort((a, b) => a - b);
    const wanted = requested.map((_, i) => Math.min(i + 1, COUNTER_LIMIT));
    if (adds !== Math.min(requested.length, COUNTER_LIMIT)) problems.push(`${name}: ${adds} adds`);
    if (counts.join() !== wanted.join()) problems.push(`${name}: counts ${counts.join()}`);
    if (view.record('counter', name)?.body.count !== adds) problems.push(`${name}: record differs`);
  }
  return problems;
}

/** Every counter was reset by its timer exactly once. */
function timerProblems({ nodes, answered }: Run): string[] {
  const names = new Set(answered.map(({ counter }) => counter));
  const { host } = nodes[0];
  const resets = PROJECTS.flatMap((project) =>
    host
      .view(project)
      .transitions({ limit: 1000 })
      .items.filter(({ event }) => String(event.type).startsWith('xstate.after')),
  );
  const counting = PROJECTS.flatMap((project) =>
    host
      .view(project)
      .instances('counter', { limit: 100 })
      .items.filter((i) => i.value !== 'zero'),
  );
  return [
    ...(resets.length === names.size ? [] : [`${resets.length} resets of ${names.size} counters`]),
    ...(counting.length === 0 ? [] : ['a counter still counts']),
  ];
}
