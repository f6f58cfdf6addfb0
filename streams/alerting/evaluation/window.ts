/**
 * The deciding window: the observed values of a run, kept while it lasts so that the incident can
 * show what decided it. Long runs are thinned: first, last, smallest and largest always stay.
 */
import type { ObservedValue } from '../../telemetry/entry.ts';

/** Observed values that an incident stores at most. */
const WINDOW_VALUES_MAX = 512;

/** A run's observed values as they settle; two plain arrays because there may be 10,000 of them. */
export class RunWindow {
  #timesMs: number[] = [];
  #values: number[] = [];

  add(observedMs: number, value: number): void {
    if (this.#timesMs.length >= WINDOW_VALUES_MAX) this.#halve();
    this.#timesMs.push(observedMs);
    this.#values.push(value);
  }

  /** Appends to `to` the values observed in [fromMs, toMs], oldest first. */
  copy(range: { readonly fromMs: number; readonly toMs: number }, to: ObservedValue[]): void {
    for (const [i, observedMs] of this.#timesMs.entries()) {
      if (observedMs < range.fromMs || observedMs > range.toMs) continue;
      to.push({ observedMs, value: this.#values[i] ?? Number.NaN });
    }
  }

  #halve(): void {
    const kept = keptWhenHalved(this.#values);
    this.#timesMs = this.#timesMs.filter((_, i) => kept.has(i));
    this.#values = this.#values.filter((_, i) => kept.has(i));
  }
}

/** `window`, thinned until it has at most `WINDOW_VALUES_MAX` values. */
export function thinWindow(window: ObservedValue[]): ObservedValue[] {
  let thinned = window;
  while (thinned.length > WINDOW_VALUES_MAX) {
    const kept = keptWhenHalved(thinned.map(({ value }) => value));
    thinned = thinned.filter((_, i) => kept.has(i));
  }
  return thinned;
}

/** Every second index, and those of the first, last, smallest and largest value. */
function keptWhenHalved(values: readonly number[]): Set<number> {
  const kept = new Set<number>([values.length - 1]);
  for (let i = 0; i < values.length; i += 2) kept.add(i);
  kept.add(values.indexOf(Math.min(...values)));
  kept.add(values.indexOf(Math.max(...values)));
  return kept;
}
