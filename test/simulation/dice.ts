/**
 * Seeded dice: all chance of a simulated run. Each concern rolls dice of its own (`fork`), so its
 * rolls do not change those of the others: a planted bug meets the same people, the same VMs and
 * mostly the same faults as the run without it.
 */
import type { Random } from '../../streams/platform/random.ts';

/** mulberry32, a 32-bit generator that passes the usual tests; never for secrets. */
export class Dice implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
    // Without warm-up, consecutive seeds would start alike.
    for (let i = 0; i < 4; i++) this.#bits();
  }

  /** Independent dice, the same for the same name in the same run. */
  fork(name: string): Dice {
    let hash = 0x811c9dc5 ^ this.#state;
    for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
    return new Dice(hash);
  }

  /** A number in [0, 1). */
  roll(): number {
    return this.#bits() / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.roll() < probability;
  }

  /** An integer in [0, bound). */
  below(bound: number): number {
    return Math.floor(this.roll() * bound);
  }

  /** A number in [from, to). */
  between(from: number, to: number): number {
    return from + this.roll() * (to - from);
  }

  /** An element of a non-empty list. */
  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('There is nothing to pick from');
    return list[this.below(list.length)] as T;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.#bits() & 0xff);
  }

  #bits(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }
}
