/**
 * The folder of checkpoints on a machine's disk. Each step takes time, and a process that dies
 * during it leaves the disk as it was before. Now and then a file is damaged.
 */
import type { CheckpointStore } from '../../actors/alerting/evaluator/checkpoints.ts';
import type { Dice } from './dice.ts';
import type { Owner, World } from './world.ts';

/** Time of one step on the disk, ms. */
const STEP_MS_MAX = 2_000;
/** Share of files whose bytes change after they were written. */
const DAMAGED = 0.02;

export class SimulatedCheckpoints {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #files = new Map<string, readonly Uint8Array[]>();
  readonly #damaged = new Set<string>();
  #index: string | undefined;

  constructor(world: World, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
  }

  /** Replaces the disk by an empty one. */
  lose(): void {
    this.#files.clear();
    this.#damaged.clear();
    this.#index = undefined;
  }

  /** The folder, as a process sees it. */
  of(owner: Owner): CheckpointStore {
    const step = () => this.#world.wait(this.#dice.between(0, STEP_MS_MAX), owner);
    return {
      index: async () => (this.#index === undefined ? undefined : JSON.parse(this.#index)),
      saveIndex: async (index, named) => {
        const text = JSON.stringify(index);
        await step();
        this.#index = text;
        for (const name of this.#files.keys()) if (!named.has(name)) this.#files.delete(name);
      },
      write: async (name, blocks) => {
        const written = [...blocks];
        await step();
        this.#files.set(name, written);
        if (this.#dice.chance(DAMAGED)) this.#damaged.add(name);
      },
      read: (name) => this.#read(name),
    };
  }

  async *#read(name: string): AsyncGenerator<Uint8Array> {
    this.#world.count('a checkpoint read');
    const blocks = this.#files.get(name);
    if (blocks === undefined) throw new Error(`${name} is missing`);
    const [first, ...others] = blocks;
    if (first) yield first;
    if (this.#damaged.has(name)) throw new Error(`${name} is damaged`);
    yield* others;
  }
}
