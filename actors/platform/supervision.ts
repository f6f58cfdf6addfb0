/**
 * Keeps the running parts running: each part is an xstate actor that runs it, waits after a failure
 * (longer each time, with jitter), runs it again, and knows its state. A part that fails never
 * takes down another one.
 */
import { type ActorRefFrom, assign, createActor, fromPromise, setup } from 'xstate';
import type { Clock } from '../../streams/platform/clock.ts';
import { fraction, type Random } from '../../streams/platform/random.ts';

/** A part: runs until `signal` aborts, then finishes its work and resolves. */
export interface Part {
  readonly name: string;
  /** A rejection, or a resolution without a stop, is a failure, and the part runs again. */
  run(signal: AbortSignal): Promise<void>;
}

/** State of a part. */
export interface PartHealth {
  readonly name: string;
  readonly state: 'running' | 'restarting' | 'stopping' | 'stopped';
  /** Start of this state, Unix ms. */
  readonly sinceMs: number;
  /** Restarts since the start of the service. */
  readonly restarts: number;
  /** Failures since the part last ran for a minute without one. */
  readonly failures: number;
  readonly lastError: string | null;
}

/** The parts, in the order in which they start. */
export interface SupervisionOptions {
  readonly parts: readonly Part[];
  readonly clock: Clock;
  readonly random: Random;
  /** Called with every failure, before the wait. */
  readonly onFailure: (part: PartHealth, error: unknown) => void;
}

/** The running parts. Restarts continue until `stop`. */
export interface Supervision {
  /** One per part, in the given order. */
  health(): PartHealth[];
  /** The part with this name; undefined: no part has it. */
  healthOf(name: string): PartHealth | undefined;
  /** Stops the parts, last one first, and waits for each. Harmless on a second call. */
  stop(): Promise<void>;
}

const BACKOFF_MS_MIN = 100;
const BACKOFF_MS_MAX = 30_000;
/** Running time that clears earlier failures, ms. */
const HEALTHY_MS = 60_000;
/** Stop timeout, ms. A part that exceeds it is abandoned. */
const STOP_MS_MAX = 10_000;

/** Starts all parts, in order. */
export function supervise(options: SupervisionOptions): Supervision {
  const actors = options.parts.map((part) => startPart(part, options));
  const byName = new Map(options.parts.map(({ name }, i) => [name, actors[i]]));
  return {
    health: () => actors.map(healthOf),
    healthOf(name) {
      const actor = byName.get(name);
      return actor && healthOf(actor);
    },
    async stop() {
      for (const actor of actors.toReversed()) await stopPart(actor);
    },
  };
}

interface PartContext {
  readonly name: string;
  readonly restarts: number;
  readonly failures: number;
  readonly lastError: string | null;
  /** Original error behind `lastError`, for the log. */
  readonly cause: unknown;
  readonly sinceMs: number;
  /** Ends the current run. */
  readonly ending: AbortController;
}

/** Actions of a part's statechart, over the part itself, the clock and the jitter. */
function partSetup(part: Part, { clock, random }: SupervisionOptions) {
  return setup({
    types: { context: {} as PartContext, events: {} as { type: 'stop' } },
    actors: {
      run: fromPromise<void, AbortSignal>(async ({ input }) => {
        await part.run(input);
        if (!input.aborted) throw new Error(`${part.name} ended by itself`);
      }),
    },
    actions: {
      begin: assign({ ending: () => new AbortController(), sinceMs: () => clock.now() }),
      end: ({ context }) => context.ending.abort(),
      mark: assign({ sinceMs: () => clock.now() }),
      fail: assign({
        failures: ({ context }) => context.failures + 1,
        cause: (_, { error }: { error: unknown }) => error,
        lastError: (_, { error }: { error: unknown }) => messageOf(error),
      }),
      restart: assign({ restarts: ({ context }) => context.restarts + 1 }),
      recover: assign({ failures: 0 }),
      leaveBehind: assign({ lastError: `${part.name} did not end within ${STOP_MS_MAX} ms` }),
    },
    guards: { stopRequested: ({ context }) => context.ending.signal.aborted },
    delays: {
      backoff: ({ context }) => backoffMs(context.failures, random),
      healthy: HEALTHY_MS,
      patience: STOP_MS_MAX,
    },
  });
}

/** The statechart of a part. */
function partMachine(part: Part, options: SupervisionOptions) {
  return partSetup(part, options).createMachine({
    id: 'part',
    context: {
      name: part.name,
      restarts: 0,
      failures: 0,
      lastError: null,
      cause: undefined,
      sinceMs: options.clock.now(),
      ending: new AbortController(),
    },
    initial: 'running',
    states: {
      running: {
        description: 'The part runs',
        entry: 'begin',
        invoke: {
          src: 'run',
          input: ({ context }) => context.ending.signal,
          onDone: 'stopped',
          onError: [
            { guard: 'stopRequested', target: 'stopped', actions: failWith },
            { target: 'restarting', actions: failWith },
          ],
        },
        initial: 'steady',
        states: {
          steady: {
            description: 'No stop was requested',
            on: { stop: 'ending' },
            after: { healthy: { actions: 'recover' } },
          },
          ending: {
            description: 'It finishes what it has started',
            entry: ['mark', 'end'],
            after: { patience: { target: '#part.stopped', actions: 'leaveBehind' } },
          },
        },
      },
      restarting: {
        description: 'It failed and is run again after a wait',
        entry: 'mark',
        on: { stop: 'stopped' },
        after: { backoff: { target: 'running', actions: 'restart' } },
      },
      stopped: { description: 'A stop was requested', type: 'final', entry: 'mark' },
    },
  });
}

const failWith = {
  type: 'fail',
  params: ({ event }: { event: { error: unknown } }) => ({ error: event.error }),
} as const;

type PartActor = ActorRefFrom<ReturnType<typeof partMachine>>;

function startPart(part: Part, options: SupervisionOptions): PartActor {
  const actor = createActor(partMachine(part, options), { clock: timersOf(options.clock) });
  let failures = 0;
  actor.subscribe((snapshot) => {
    if (snapshot.matches('restarting') && snapshot.context.failures > failures) {
      options.onFailure(healthOf(actor), snapshot.context.cause);
    }
    failures = snapshot.context.failures;
  });
  actor.start();
  return actor;
}

function stopPart(actor: PartActor): Promise<void> {
  return new Promise((resolve) => {
    if (actor.getSnapshot().status === 'done') return resolve();
    actor.subscribe({ complete: resolve });
    actor.send({ type: 'stop' });
  });
}

function healthOf(actor: PartActor): PartHealth {
  const snapshot = actor.getSnapshot();
  const { name, restarts, failures, lastError, sinceMs } = snapshot.context;
  const state = snapshot.matches({ running: 'ending' })
    ? 'stopping'
    : snapshot.matches('running')
      ? 'running'
      : snapshot.matches('restarting')
        ? 'restarting'
        : 'stopped';
  return { name, state, sinceMs, restarts, failures, lastError };
}

/** Doubles with each failure; random between half of it and all of it. */
function backoffMs(failures: number, random: Random): number {
  const fullMs = Math.min(BACKOFF_MS_MIN * 2 ** (failures - 1), BACKOFF_MS_MAX);
  return fullMs * (0.5 + fraction(random) / 2);
}

/** xstate's clock over ours. */
function timersOf(clock: Clock) {
  return {
    setTimeout: (wake: () => void, ms: number): unknown => clock.wakeAfter(ms, wake),
    clearTimeout: (cancel: unknown): void => (cancel as ReturnType<Clock['wakeAfter']>)(),
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
