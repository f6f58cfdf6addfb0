/**
 * The shape of a VM's readings: levels that last for a while, above, between and below the
 * thresholds of rules, so that runs of every length meet durations of every length.
 */
import type { Dice } from './dice.ts';

/** Rules breach above 90 and recover at or below 80, if they define a recovery. */
export const BREACH_ABOVE = 90;
export const GOOD_UP_TO = 80;

const LEVELS = {
  breach: [91, 99],
  between: [82, 89],
  good: [5, 70],
} as const;

/** One reading over time, a percentage. */
export class Signal {
  readonly #dice: Dice;
  #level: keyof typeof LEVELS = 'good';
  #untilMs = 0;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** Must be called with increasing times. */
  at(elapsedMs: number): number {
    const dice = this.#dice;
    if (elapsedMs >= this.#untilMs) {
      this.#level = dice.pick(['breach', 'breach', 'good', 'good', 'good', 'between'] as const);
      this.#untilMs = elapsedMs + dice.pick([20_000, 60_000, 150_000, 400_000]) * dice.roll() * 2;
    }
    const [from, to] = LEVELS[this.#level];
    return Math.round(dice.between(from, to));
  }
}

/** A condition that begins now and then and lasts for a while. */
export class Spells {
  readonly #dice: Dice;
  readonly #everyMs: number;
  readonly #lastsMs: number;
  #changesMs: number;
  #isOn = false;

  constructor(dice: Dice, { everyMs, lastsMs }: { everyMs: number; lastsMs: number }) {
    this.#dice = dice;
    this.#everyMs = everyMs;
    this.#lastsMs = lastsMs;
    this.#changesMs = 2 * everyMs * dice.roll();
  }

  /** True if the condition holds now. Must be called with increasing times. */
  isOn(elapsedMs: number): boolean {
    while (elapsedMs >= this.#changesMs) {
      this.#isOn = !this.#isOn;
      this.#changesMs += 2 * (this.#isOn ? this.#lastsMs : this.#everyMs) * this.#dice.roll();
    }
    return this.#isOn;
  }
}
