/**
 * The actor that fires timers: watches the earliest due time of the projects this node owns, and
 * submits due timers like any other change, earliest first. A timer is a row. The commit that fires
 * it also removes it, so firing it twice, on two nodes or after a restart has the same result.
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Actor, Commit } from '../../../streams/platform/commit/commit.ts';
import type { DueTimer } from '../../../streams/platform/commit/projection.ts';
import type { Ownership } from '../../../streams/platform/membership/membership.ts';
import { pause, Sleep } from '../../../streams/platform/pause.ts';
import { isRetryable } from '../retryable.ts';
import type { RunningHost } from './host.ts';
import { type Delays, keyOf, SetBackTimers } from './set-back-timers.ts';

/** The host that fires timers, and the projects that this node owns. */
export interface TimersOptions {
  readonly host: Pick<
    RunningHost,
    'dueTimers' | 'nextTimerDueMs' | 'fireTimer' | 'onApplied' | 'timersSetAfter'
  >;
  readonly clock: Clock;
  readonly ownership: Ownership;
  /** A timer could not be fired because of a fault of ours; it is retried at growing intervals. */
  readonly onFault: (timer: DueTimer, error: unknown) => void;
  /** Timers that measure a delay; default: those of all machines. */
  readonly delays?: Delays;
  /** Called after the clock was set back, with the number of delays that began before. */
  readonly onSetBack?: (count: number, byMs: number) => void;
}

/** Maximum number fired together; the committer spreads them over commits. */
const FIRED_MAX = 500;
/** Longest sleep, ms: calendar time may be set, and ownership may change. */
const SLEEP_MS_MAX = 5_000;
/** Wait before a retry if the stream does not respond, ms. */
const UNAVAILABLE_MS = 500;
const FAULT_MS_MIN = 1_000;
const FAULT_MS_MAX = 300_000;

const timersActor: Actor = { kind: 'service', name: 'timers' };

interface Fault {
  /** Time of the next try, elapsed ms. */
  readonly againMs: number;
  readonly delayMs: number;
}

/** Fires timers until `signal` aborts; then resolves when none is in progress. */
export async function runTimers(options: TimersOptions, signal: AbortSignal): Promise<void> {
  const { host, clock } = options;
  const faults = new Map<string, Fault>();
  const alarm = new Alarm(clock);
  const { delays, onSetBack: onFound } = options;
  const setBack = new SetBackTimers({
    host,
    clock,
    ...(delays && { delays }),
    ...(onFound && { onFound }),
  });
  const undo = [
    host.onApplied(({ commit }) => alarm.notice(commit)),
    options.ownership.onChange(() => alarm.wake()),
  ];
  try {
    while (!signal.aborted) {
      setBack.look();
      const { owns } = options.ownership;
      const due = dueNow(options, faults, setBack);
      if (due.length === 0) {
        const longestMs = setBack.leftMs(owns) ?? SLEEP_MS_MAX;
        await alarm.sleep(Math.min(sleepMs(options, faults), Math.max(1, longestMs)), signal);
      } else if (!(await fireAll(options, due, { faults, setBack }))) {
        await pause(clock, UNAVAILABLE_MS, signal);
      }
    }
  } finally {
    for (const end of undo) end();
  }
}

function dueNow(
  { host, clock, ownership }: TimersOptions,
  faults: Map<string, Fault>,
  setBack: SetBackTimers,
): DueTimer[] {
  const due = host.dueTimers(clock.now(), FIRED_MAX + faults.size, ownership.owns);
  return [...setBack.dueNow(ownership.owns), ...due]
    .filter((timer) => (faults.get(keyOf(timer))?.againMs ?? 0) <= clock.elapsed())
    .slice(0, FIRED_MAX);
}

function sleepMs({ host, clock, ownership }: TimersOptions, faults: Map<string, Fault>): number {
  const now = clock.now();
  // Faulty timers stay the earliest ones, so skip them here and retry them soon.
  const next =
    faults.size === 0
      ? host.nextTimerDueMs(ownership.owns)
      : host
          .dueTimers(now + FAULT_MS_MIN, faults.size + 1, ownership.owns)
          .find((timer) => !faults.has(keyOf(timer)))?.dueMs;
  const longestMs = faults.size === 0 ? SLEEP_MS_MAX : FAULT_MS_MIN;
  return next === undefined ? longestMs : Math.min(Math.max(1, next - now), longestMs);
}

/** Fires them in order. @returns false if the node or the stream could not accept them now */
async function fireAll(
  options: TimersOptions,
  due: readonly DueTimer[],
  { faults, setBack }: { readonly faults: Map<string, Fault>; readonly setBack: SetBackTimers },
): Promise<boolean> {
  const { host, clock, onFault } = options;
  const results = await Promise.allSettled(due.map((timer) => host.fireTimer(timer, timersActor)));
  let taken = true;
  for (const [i, timer] of due.entries()) {
    const result = results[i];
    if (result?.status !== 'rejected') {
      faults.delete(keyOf(timer));
      setBack.forget(timer);
    } else if (isRetryable(result.reason)) taken = false;
    else {
      const before = faults.get(keyOf(timer))?.delayMs ?? 0;
      const delayMs = Math.min(Math.max(FAULT_MS_MIN, before * 2), FAULT_MS_MAX);
      faults.set(keyOf(timer), { againMs: clock.elapsed() + delayMs, delayMs });
      onFault(timer, result.reason);
    }
  }
  return taken;
}

/** Sleeps until a time that an applied commit can bring forward. */
class Alarm {
  readonly #clock: Clock;
  readonly #sleep: Sleep;
  #wakesMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sleep = new Sleep(clock);
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    this.#wakesMs = this.#clock.now() + ms;
    return this.#sleep.pause(ms, signal);
  }

  wake(): void {
    this.#sleep.wake();
  }

  notice({ decisions }: Commit): void {
    const timers = decisions.flatMap(({ steps }) => steps).flatMap((step) => step.timers);
    if (timers.some(({ dueMs }) => dueMs < this.#wakesMs)) this.#sleep.wake();
  }
}
