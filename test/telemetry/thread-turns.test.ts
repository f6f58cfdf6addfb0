/**
 * Turns at the threads, over synthetic queries in virtual time: how thread time is shared, how long
 * a project with little use waits, and that no project starves. The simulation runs the structure
 * as `QueryThreads` does.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { QUERY_MS_MAX, RUN_MS, SLICE_MS } from '../../src/telemetry/query/threads/limits.ts';
import { ThreadTurns, type Turn } from '../../src/telemetry/query/threads/thread-turns.ts';
import { tries } from '../support/tries.ts';

/** One query that a project sends. */
interface Query {
  readonly requestedMs: number;
  readonly needsMs: number;
  startedMs: number | undefined;
}

/** A project that sends queries, `width` at once: the next one when one has ended. */
interface Client {
  readonly project: string;
  readonly fromMs: number;
  readonly width: number;
  /** Pause between the end of a query and the next one, ms. */
  readonly pauseMs: number;
  readonly needsMs: () => number;
}

interface Outcome {
  /** Thread time of each project, ms. */
  readonly usedMs: Map<string, number>;
  /** Longest wait of the project's queries for their first thread, ms. */
  readonly waitedMs: Map<string, number>;
  /** Longest time from a query to its answer, ms. */
  readonly tookMs: Map<string, number>;
  readonly answered: Map<string, number>;
  readonly ended: Map<string, number>;
  readonly moved: Map<string, number>;
}

/** Time for which an abandoned query holds its thread, ms. */
const STOP_MS = SLICE_MS - RUN_MS;

function simulate(threads: number, clients: readonly Client[], untilMs: number): Outcome {
  return new Simulation(threads, clients).run(untilMs);
}

/** One thread's work for a query. */
interface Run {
  readonly fromMs: number;
  isCancelled: boolean;
}

class Simulation {
  readonly #turns: ThreadTurns<Query>;
  readonly #clients: readonly Client[];
  readonly #events: { readonly atMs: number; readonly act: () => void }[] = [];
  readonly #runs = new Map<Turn<Query>, Run>();
  readonly #unstarted = new Set<Turn<Query>>();
  readonly #outcome: Outcome = {
    usedMs: new Map(),
    waitedMs: new Map(),
    tookMs: new Map(),
    answered: new Map(),
    ended: new Map(),
    moved: new Map(),
  };
  #nowMs = 0;

  constructor(threads: number, clients: readonly Client[]) {
    this.#turns = new ThreadTurns(threads);
    this.#clients = clients;
  }

  run(untilMs: number): Outcome {
    for (const client of this.#clients) {
      for (let i = 0; i < client.width; i++) this.#at(client.fromMs, () => this.#ask(client));
    }
    while (this.#nowMs < untilMs) {
      const lookMs = this.#turns.lookAgainMs(this.#nowMs) ?? Infinity;
      this.#nowMs = Math.min(...this.#events.map(({ atMs }) => atMs), this.#nowMs + lookMs);
      const due = this.#events.filter(({ atMs }) => atMs <= this.#nowMs);
      for (const event of due) this.#events.splice(this.#events.indexOf(event), 1);
      for (const { act } of due) act();
      this.#settle();
    }
    for (const { project, payload } of this.#unstarted) {
      raise(this.#outcome.waitedMs, project, this.#nowMs - payload.requestedMs);
    }
    return this.#outcome;
  }

  #at(atMs: number, act: () => void): void {
    this.#events.push({ atMs, act });
  }

  #ask(client: Client): void {
    const query = { requestedMs: this.#nowMs, needsMs: client.needsMs(), startedMs: undefined };
    this.#unstarted.add(this.#turns.add(client.project, query, this.#nowMs));
    this.#settle();
  }

  #askAgain(project: string): void {
    const client = this.#clients.find((one) => one.project === project);
    if (client) this.#at(this.#nowMs + client.pauseMs, () => this.#ask(client));
  }

  #settle(): void {
    this.#makeRoom();
    for (let turn = this.#turns.start(this.#nowMs); turn; turn = this.#turns.start(this.#nowMs)) {
      this.#begin(turn);
    }
  }

  #makeRoom(): void {
    const { moved, ended } = this.#outcome;
    for (;;) {
      const given = this.#turns.giveUp(this.#nowMs);
      if (!given) return;
      const { turn, how } = given;
      const run = this.#runs.get(turn);
      if (run) run.isCancelled = true;
      add(how === 'moved' ? moved : ended, turn.project, 1);
      this.#at(this.#nowMs + STOP_MS, () => {
        this.#end(turn);
        if (how === 'ended') this.#askAgain(turn.project);
      });
    }
  }

  #begin(turn: Turn<Query>): void {
    const { payload: query, project } = turn;
    if (query.startedMs === undefined) {
      query.startedMs = this.#nowMs;
      this.#unstarted.delete(turn);
      raise(this.#outcome.waitedMs, project, this.#nowMs - query.requestedMs);
    }
    const run = { fromMs: this.#nowMs, isCancelled: false };
    this.#runs.set(turn, run);
    this.#at(this.#nowMs + Math.min(query.needsMs, QUERY_MS_MAX), () => {
      if (run.isCancelled) return;
      this.#end(turn);
      add(this.#outcome.answered, project, 1);
      raise(this.#outcome.tookMs, project, this.#nowMs - query.requestedMs);
      this.#askAgain(project);
    });
  }

  #end(turn: Turn<Query>): void {
    const fromMs = this.#runs.get(turn)?.fromMs ?? this.#nowMs;
    add(this.#outcome.usedMs, turn.project, this.#nowMs - fromMs);
    this.#turns.end(turn, this.#nowMs);
  }
}

function add(counts: Map<string, number>, project: string, by: number): void {
  counts.set(project, (counts.get(project) ?? 0) + by);
}

function raise(longest: Map<string, number>, project: string, ms: number): void {
  longest.set(project, Math.max(ms, longest.get(project) ?? 0));
}

/** A backlogged project whose queries take this long. */
const backlogged = (project: string, needsMs: () => number): Client => ({
  project,
  fromMs: 0,
  width: 6,
  pauseMs: 0,
  needsMs,
});

const hostile = (count: number, needsMs = () => QUERY_MS_MAX) =>
  Array.from({ length: count }, (_, i) => backlogged(`hostile ${i}`, needsMs));

const range = fc
  .tuple(fc.integer({ min: 50, max: 9_000 }), fc.integer({ min: 50, max: 9_000 }))
  .map(([one, other]) => [Math.min(one, other), Math.max(one, other)] as const);

test('TEN-21: backlogged projects get equal shares of thread time, whatever their queries', async () => {
  fc.assert(
    fc.property(
      fc.array(range, { minLength: 2, maxLength: 5 }),
      fc.constantFrom(2, 3),
      fc.integer({ min: 1 }),
      (ranges, threads, seed) => {
        let state = seed;
        const random = () => {
          state = (state * 48_271) % 2_147_483_647;
          return state / 2_147_483_647;
        };
        const clients = ranges.map(([least, most], i) =>
          backlogged(`p${i}`, () => least + random() * (most - least)),
        );
        const { usedMs, ended } = simulate(threads, clients, 200_000);
        const shares = clients.map(({ project }) => usedMs.get(project) ?? 0);
        const fair = shares.reduce((sum, share) => sum + share, 0) / shares.length;
        for (const share of shares) {
          if (Math.abs(share - fair) > 0.2 * fair) throw new Error(`${shares} of ${fair}`);
        }
        if (ended.size > 0) throw new Error(`a query of equals was ended: ${[...ended]}`);
      },
    ),
    { numRuns: tries(25) },
  );
});

test('TEN-21: a project with little use waits for at most one slice', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      range,
      fc.constantFrom(2, 3),
      // At most two hundredths of a thread: less than a second recently.
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1_000, max: 3_000 }),
      (count, [, mostMs], threads, needsMs, pauseMs) => {
        const third = {
          project: 'third',
          fromMs: 20_000,
          width: 1,
          pauseMs,
          needsMs: () => needsMs,
        };
        const clients = [...hostile(count, () => mostMs), third];
        const { waitedMs, answered, ended } = simulate(threads, clients, 60_000);
        const waited = waitedMs.get('third') ?? Infinity;
        if (waited > SLICE_MS) throw new Error(`it waited ${waited} ms`);
        if ((answered.get('third') ?? 0) < 10) throw new Error(`${answered.get('third')} answers`);
        if (ended.has('third')) throw new Error('a query of the third was ended');
      },
    ),
    { numRuns: tries(100) },
  );
});

test('TEN-21: a project with little use waits for no thread while the others run theirs', async (t) => {
  const third = { project: 'third', fromMs: 20_000, width: 1, pauseMs: 40, needsMs: () => 5 };
  const { waitedMs } = simulate(3, [...hostile(2), third], 60_000);
  t.equal(waitedMs.get('third'), 0);
});

test('TEN-21: every project is served, even long queries beside a steady project', async (t) => {
  const third = { project: 'third', fromMs: 0, width: 1, pauseMs: 40, needsMs: () => 30 };
  const clients = [...hostile(8), third];
  const { answered, waitedMs } = simulate(3, clients, 400_000);
  for (const { project } of hostile(8)) {
    t.ok((answered.get(project) ?? 0) >= 5, `${project}: ${answered.get(project)} answers`);
    t.ok((waitedMs.get(project) ?? Infinity) < 8 * 6 * QUERY_MS_MAX, `${waitedMs.get(project)} ms`);
  }
});

test('TEN-21: short queries get as much thread time as long ones beside them', async (t) => {
  let count = 0;
  const clients = [
    backlogged('short', () => 5),
    backlogged('long', () => 5 + ((count++ * 137) % 1_063)),
  ];
  const { usedMs } = simulate(2, clients, 60_000);
  const [short = 0, long = 0] = [usedMs.get('short'), usedMs.get('long')];
  t.ok(Math.abs(short - long) < 0.2 * long, `${short} and ${long} ms`);
});

test('TEN-21: a project without earlier queries has no credit', async (t) => {
  const early = { project: 'early', fromMs: 0, width: 2, pauseMs: 0, needsMs: () => 1_000 };
  const late = { ...early, project: 'late', fromMs: 120_000, width: 6 };
  const { waitedMs } = simulate(3, [early, late], 180_000);
  t.ok((waitedMs.get('early') ?? Infinity) <= 2_000, `it waited ${waitedMs.get('early')} ms`);
});

test('TEN-21: a long query yields once, and ends one of a project with far more use', async (t) => {
  const rare = {
    project: 'rare',
    fromMs: 60_000,
    width: 1,
    pauseMs: 60_000,
    needsMs: () => 3_000,
  };
  const third = { project: 'third', fromMs: 0, width: 1, pauseMs: 40, needsMs: () => 5 };
  const { tookMs, answered, moved, ended, waitedMs } = simulate(
    3,
    [...hostile(2), third, rare],
    400_000,
  );
  t.equal(answered.get('rare'), 6);
  t.equal(moved.get('rare'), 6, 'the third arrives while it runs');
  t.ok(
    (tookMs.get('rare') ?? Infinity) <= 3_000 + 2 * (SLICE_MS + STOP_MS),
    `${tookMs.get('rare')}`,
  );
  t.ok((waitedMs.get('third') ?? Infinity) <= SLICE_MS, `${waitedMs.get('third')} ms`);
  t.same([...ended.keys()].sort(), ['hostile 0', 'hostile 1']);
});

test('TEN-21: a query whose client leaves is never started, even if it was moved', async (t) => {
  const turns = new ThreadTurns<string>(2);
  const long = turns.add('a', 'long', 0);
  const later = turns.add('a', 'later', 0);
  t.equal(turns.start(0), long);
  t.equal(turns.start(0), undefined, 'one project leaves a thread to the others');
  const other = turns.add('b', 'other', 0);
  t.equal(turns.start(0), other);
  turns.add('c', 'third', 10);
  t.equal(turns.giveUp(RUN_MS - 1), undefined);
  t.equal(turns.lookAgainMs(RUN_MS - 1), 1);
  const given = turns.giveUp(RUN_MS);
  if (!given) throw new Error('Nothing makes room');
  t.equal(given.how, 'moved');
  t.equal(turns.giveUp(RUN_MS), undefined, 'one is enough');
  t.ok(turns.leave(later), 'it waited');
  t.equal(turns.waiting, 1);
  t.ok(turns.leave(given.turn), 'it would have waited again');
  turns.end(given.turn, RUN_MS);
  t.match(turns.start(RUN_MS), { payload: 'third' });
  t.same([turns.waiting, turns.running], [0, 2]);
  const kept = given.turn === long ? other : long;
  t.notOk(turns.leave(kept), 'it runs');
  turns.end(kept, 2 * RUN_MS);
  turns.end(kept, 2 * RUN_MS);
  t.equal(turns.running, 1, 'a thread is returned once');
});

test('TEN-21: with one thread, a project with little use is next', async (t) => {
  const turns = new ThreadTurns<string>(1);
  for (const payload of ['a1', 'a2', 'a3']) turns.add('a', payload, 0);
  const order: string[] = [];
  let nowMs = 0;
  const serve = (forMs: number) => {
    const turn = turns.start(nowMs);
    if (!turn) throw new Error('Nothing starts');
    order.push(turn.payload);
    nowMs += forMs;
    return () => turns.end(turn, nowMs);
  };
  const first = serve(900);
  turns.add('b', 'b1', nowMs);
  turns.add('b', 'b2', nowMs);
  first();
  serve(10)();
  serve(10)();
  serve(10)();
  t.same(order, ['a1', 'b1', 'b2', 'a2']);
});
