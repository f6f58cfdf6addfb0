/**
 * How many queries of one project are under way at once (interface, section 7: concurrency is
 * limited per project), how many wait and for how long, and how long each may take. A project that
 * asks too much is told so. Who of them has a thread is decided behind it (`QueryThreads`).
 */
import type { Clock } from '../../streams/clock.ts';
import { Refusal } from '../../streams/refusal.ts';
import { QUERY_MS_MAX } from './limits.ts';

const RUNNING_MAX = 8;
const WAITING_MAX = 64;
const WAIT_MS_MAX = 5_000;

interface Lane {
  running: number;
  /** Oldest first. Each lets one query go. */
  readonly waiting: Set<() => void>;
}

export interface QueryGate {
  /**
   * Runs `work` when it is its turn. `signal`: the asker has gone. The signal handed to `work`
   * aborts then, and after `timeoutMs`, 10 s by default. Throws a `Refusal` TOO_MANY_REQUESTS or
   * QUERY_TIMEOUT, what `work` throws, or the reason of `signal`.
   */
  run<T>(
    project: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
    timeoutMs?: number,
  ): Promise<T>;
}

export function createQueryGate(clock: Clock): QueryGate {
  const lanes = new Map<string, Lane>();
  return {
    async run(project, signal, work, timeoutMs = QUERY_MS_MAX) {
      const lane = lanes.get(project) ?? { running: 0, waiting: new Set() };
      lanes.set(project, lane);
      if (lane.running >= RUNNING_MAX) await turn(lane, clock, signal);
      else lane.running++;
      try {
        signal.throwIfAborted();
        return await withDeadline({ clock, timeoutMs, signal }, work);
      } finally {
        release(lane);
        if (lane.running === 0) lanes.delete(project);
      }
    },
  };
}

/** Hands the place on to the query that waits longest, or gives it back. */
function release(lane: Lane): void {
  const [next] = lane.waiting;
  if (next === undefined) lane.running--;
  else next();
}

/** Resolves with a place taken over from a query that ended. */
async function turn(lane: Lane, clock: Clock, signal: AbortSignal): Promise<void> {
  if (lane.waiting.size >= WAITING_MAX) throw tooMany();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const enter = () => {
    lane.waiting.delete(enter);
    resolve();
  };
  const leave = (reason: unknown) => {
    // Whoever is no longer in the queue has been given a place already.
    if (lane.waiting.delete(enter)) reject(reason);
  };
  lane.waiting.add(enter);
  const cancel = clock.wakeAfter(WAIT_MS_MAX, () => leave(tooMany()));
  const onAbort = () => leave(signal.reason);
  signal.addEventListener('abort', onAbort);
  try {
    await promise;
  } finally {
    cancel();
    signal.removeEventListener('abort', onAbort);
  }
}

/** The work may be slow to notice that it is over; its asker is told at once. */
async function withDeadline<T>(
  { clock, timeoutMs, signal }: { clock: Clock; timeoutMs: number; signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const { promise: end, reject } = Promise.withResolvers<never>();
  ended.signal.addEventListener('abort', () => reject(ended.signal.reason));
  const cancel = clock.wakeAfter(timeoutMs, () => ended.abort(timedOut(timeoutMs)));
  const onAbort = () => ended.abort(signal.reason);
  signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([end, work(ended.signal)]);
  } finally {
    cancel();
    signal.removeEventListener('abort', onAbort);
  }
}

function timedOut(timeoutMs: number): Refusal {
  const message = `The query took longer than ${timeoutMs / 1000} seconds: ask for less`;
  return new Refusal('QUERY_TIMEOUT', message);
}

function tooMany(): Refusal {
  const message = `${RUNNING_MAX} queries of the project run and others wait: ask again later`;
  return new Refusal('TOO_MANY_REQUESTS', message, { retryAfterSeconds: '2' });
}
