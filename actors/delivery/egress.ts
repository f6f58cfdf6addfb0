/**
 * Whether receivers can be reached from this member at all. A member whose network blocks outgoing
 * traffic would take due attempts from the others and fail each of them. It rests while another
 * member can send, and tries again after a while.
 *
 * It rests only if receivers of several projects and destinations fail and none answers, so one
 * receiver, or one tenant's receivers, cannot cause a rest.
 */
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Consumer } from '../../streams/platform/stream.ts';
import type { ReportedAttempt } from './outcome.ts';

/** Attempts of this time count, ms. */
const WINDOW_MS = 60_000;
const FAILURES_MIN = 5;
const DESTINATIONS_MIN = 3;
const PROJECTS_MIN = 2;
/** Time without attempts before the next ones show whether anything has changed, ms. */
const REST_MS = 30_000;
/** Interval between checks that another member still sends, ms. */
const LOOK_MS = 1_000;
/** Maximum failures in memory; more would not change the result. */
const FAILURES_MAX = 100;

/** Pause between two checks whether the rest is over, ms. */
const PAUSE_MS = 250;

export interface EgressOptions {
  readonly clock: Clock;
  /** True if another member sends, and is not resting. */
  readonly isReplaceable: () => boolean;
}

interface Failure {
  readonly project: string;
  readonly destination: string;
  /** Elapsed, ms. */
  readonly atMs: number;
}

export class Egress {
  readonly #clock: Clock;
  readonly #isReplaceable: () => boolean;
  /** Failures since the last answer, oldest first. */
  #failures: Failure[] = [];
  #restsUntilMs = Number.NEGATIVE_INFINITY;
  #listener: () => void = () => {};
  #cancel: CancelWakeUp | undefined;

  constructor({ clock, isReplaceable }: EgressOptions) {
    this.#clock = clock;
    this.#isReplaceable = isReplaceable;
  }

  /** True while this member takes no due attempts. */
  get isResting(): boolean {
    return this.#clock.elapsed() < this.#restsUntilMs;
  }

  /** `listener` is called with each change of `isResting`. */
  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  /** Takes an ended attempt. Mails are left out: they go to one server, often on this network. */
  record({ project, destination, kind, outcome }: ReportedAttempt): void {
    if (kind === 'email' || outcome.kind === 'suppressed') return;
    if (outcome.kind !== 'failed' || outcome.httpStatus !== undefined) {
      this.#failures = [];
      return;
    }
    const atMs = this.#clock.elapsed();
    const recent = this.#failures.filter((failure) => atMs - failure.atMs < WINDOW_MS);
    this.#failures = [...recent.slice(1 - FAILURES_MAX), { project, destination, atMs }];
    if (!this.isResting && this.#nothingArrives() && this.#isReplaceable()) this.#rest();
  }

  close(): void {
    this.#cancel?.();
  }

  #nothingArrives(): boolean {
    const destinations = new Set(this.#failures.map(({ destination }) => destination));
    const projects = new Set(this.#failures.map(({ project }) => project));
    return (
      this.#failures.length >= FAILURES_MIN &&
      destinations.size >= DESTINATIONS_MIN &&
      projects.size >= PROJECTS_MIN
    );
  }

  #rest(): void {
    // Only the attempts after the rest count.
    this.#failures = [];
    this.#restsUntilMs = this.#clock.elapsed() + REST_MS;
    this.#listener();
    this.#look();
  }

  /** Ends the rest when its time is over, or when no other member sends any more. */
  #look(): void {
    if (!this.#isReplaceable()) this.#restsUntilMs = Number.NEGATIVE_INFINITY;
    if (this.isResting) this.#cancel = this.#clock.wakeAfter(LOOK_MS, () => this.#look());
    else this.#listener();
  }
}

/**
 * A consumer that gives up its place during each rest, so that the stream hands its messages to
 * other members. Rejects with the first error of `consume`; later errors only end the iteration.
 */
export async function consumeUnlessResting(parts: {
  readonly clock: Clock;
  readonly egress: Egress;
  readonly consume: () => Promise<Consumer>;
}): Promise<Consumer> {
  const { clock, egress, consume } = parts;
  const stop = new AbortController();
  let current = await consume();
  egress.onChange(() => {
    if (egress.isResting) void current.close();
  });
  return {
    async close() {
      stop.abort();
      egress.close();
      await current.close();
    },
    async *[Symbol.asyncIterator]() {
      while (true) {
        yield* current;
        // It ended by itself, or by `close`.
        if (!egress.isResting || stop.signal.aborted) return;
        while (egress.isResting && !stop.signal.aborted) await pause(clock, PAUSE_MS, stop.signal);
        if (stop.signal.aborted) return;
        current = await consume();
        if (stop.signal.aborted) return current.close();
      }
    },
  };
}
