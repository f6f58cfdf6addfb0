/**
 * Watches the clock of this machine. If it was set back, readiness reports when, by how much, and
 * which times were moved to the present. Nothing waits until the clock has caught up, but earlier
 * records have wrong times, and a clock that steps once will step again.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { type HealthCheck, type PartHealth, ready } from './health.ts';

/** Smaller steps back are usual corrections, ms; members of a cluster differ by no more. */
const STEP_MS_MIN = 10_000;
/** Time for which a step is reported, ms of elapsed time. */
const REPORTED_MS = 15 * 60_000;

/** Counts of moved times since the start, by name in the plural. */
export type RebasedCounts = () => Readonly<Record<string, number>>;

export class ClockWatch {
  readonly #clock: Clock;
  readonly #counts: RebasedCounts;
  /** Calendar time minus elapsed time at the last look; a lower one now means a step back. */
  #offsetMs: number;
  /** Counts when the first step of the current report was noticed. */
  #before: Readonly<Record<string, number>>;
  #seen: Readonly<Record<string, number>>;
  #step: { atMs: number; byMs: number; noticedMs: number } | undefined;

  /** @param counts read at each look, so it must be cheap */
  constructor({ clock, counts }: { readonly clock: Clock; readonly counts: RebasedCounts }) {
    this.#clock = clock;
    this.#counts = counts;
    this.#offsetMs = clock.now() - clock.elapsed();
    this.#before = counts();
    this.#seen = this.#before;
  }

  /** Degraded for a while after a step back, or after times were moved. */
  readonly check: HealthCheck = () => {
    this.#look();
    const step = this.#step;
    if (step === undefined) return ready;
    if (this.#clock.elapsed() - step.noticedMs < REPORTED_MS) return this.#report(step);
    this.#step = undefined;
    this.#before = this.#seen;
    return ready;
  };

  #look(): void {
    const nowMs = this.#clock.now();
    const noticedMs = this.#clock.elapsed();
    const offsetMs = nowMs - noticedMs;
    const byMs = this.#offsetMs - offsetMs;
    this.#offsetMs = offsetMs;
    const counts = this.#counts();
    const isRebased = Object.entries(counts).some(
      ([name, count]) => count > (this.#seen[name] ?? 0),
    );
    this.#seen = counts;
    if (byMs < STEP_MS_MIN && !isRebased) return;
    const known = this.#step;
    // Times are moved over the next seconds, and belong to the same step.
    this.#step = {
      atMs: byMs >= STEP_MS_MIN || !known ? nowMs : known.atMs,
      byMs: Math.max(byMs >= STEP_MS_MIN ? byMs : 0, known?.byMs ?? 0),
      noticedMs,
    };
  }

  #report({ atMs, byMs }: { atMs: number; byMs: number }): PartHealth {
    const summary = 'The clock was set back: future times were moved to the present';
    const by = byMs === 0 ? '' : ` by ${Math.round(byMs / 1000)} s`;
    const time = new Date(atMs).toISOString().slice(0, 19);
    const moved = Object.entries(this.#seen)
      .map(([name, count]) => [name, count - (this.#before[name] ?? 0)] as const)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${name}: ${count}`);
    const list = moved.length === 0 ? 'nothing' : moved.join('; ');
    const reason = `The clock of this machine was set back${by}, noticed at ${time}Z. Moved to the present: ${list}. Times recorded before stay wrong. Check NTP`;
    return { state: 'degraded', reason, summary };
  }
}
