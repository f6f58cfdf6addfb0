/** Random choices, repeatable from a seed. */
import { fraction, type Random, seededRandom } from '../../../../streams/platform/random.ts';

export class Dice {
  readonly #random: Random;

  constructor(seed: number) {
    // A multiplicative hash of the seed, so that neighbouring seeds do not begin alike.
    this.#random = seededRandom(Math.imul(seed + 1, 0x9e3779b1) >>> 0);
  }

  /** In [0, 1). */
  fraction(): number {
    return fraction(this.#random);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** An integer in [from, to]. */
  between(from: number, to: number): number {
    return from + Math.floor(this.fraction() * (to - from + 1));
  }

  pick<T>(list: readonly T[]): T {
    const found = list[this.between(0, list.length - 1)];
    if (found === undefined) throw new Error('There is nothing to pick from');
    return found;
  }

  /** A random part of the list, each element with the probability, in the list's order. */
  some<T>(list: readonly T[], probability: number): T[] {
    return list.filter(() => this.chance(probability));
  }

  /** One of the makers, with a frequency that follows its weight. */
  weighted<T>(makers: readonly (readonly [weight: number, make: () => T])[]): T {
    let left = this.fraction() * makers.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, make] of makers) {
      left -= weight;
      if (left < 0) return make();
    }
    return this.pick(makers)[1]();
  }
}
