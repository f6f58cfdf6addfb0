/**
 * The time at which each destination is tried again, for display: deliveries that are due wait for
 * it. Every member follows the same commits, so every member can answer. The owner's queues decide
 * by their own breakers, which begin anew when the owner changes.
 */
import type { Commit } from '../../streams/platform/commit/commit.ts';
import type { Host } from '../platform/host/host-port.ts';
import { attemptEndOf, Breaker, FIXED } from './breaker.ts';

/** Holds destinations that fail or rest. */
export class DestinationRests {
  readonly #breakers = new Map<string, Breaker>();

  /** Follows the commits of this process. @returns the end of following */
  follow(host: Pick<Host, 'onApplied'>): () => void {
    return host.onApplied(({ commit }) => this.apply(commit));
  }

  /** Time of the next attempt, Unix ms; null = as soon as there is a slot. */
  untilMs(destination: string, nowMs: number): number | null {
    const untilMs = this.#breakers.get(destination)?.closedUntilMs ?? 0;
    return untilMs > nowMs ? untilMs : null;
  }

  /** Applies the ends of attempts in one commit. */
  apply({ decisions }: Pick<Commit, 'decisions'>): void {
    for (const { machine, instance, event, from, final, context } of decisions.flatMap(
      ({ steps }) => steps,
    )) {
      if (machine === 'destination' && (final || FIXED.has(event.type))) {
        this.#breakers.delete(instance);
      }
      if (machine !== 'delivery' || from !== 'sending') continue;
      const destination = String(context.destination);
      const breaker = this.#breakers.get(destination) ?? new Breaker();
      const { result, restMs } = attemptEndOf(event);
      breaker.end(result, Number(event.at), restMs);
      if (breaker.isFailing || breaker.closedUntilMs > Number(event.at)) {
        this.#breakers.set(destination, breaker);
      } else this.#breakers.delete(destination);
    }
  }
}
