/**
 * The machine under a process: the disk, which outlives it, and the clock, which may be wrong. The
 * disk can fail, and a process can die at a write: before it, or right after.
 */
import Database from 'better-sqlite3';
import type { HistoryWriter } from '../../actors/alerting/evaluator/evaluator.ts';
import type { SealedValues } from '../../actors/delivery/sealed-values.ts';
import {
  type InstanceStore,
  openInstanceStore,
} from '../../sqlite/platform/control/instance-store.ts';
import type { SqliteDatabase } from '../../sqlite/platform/database.ts';
import type { BodyStore } from '../../sqlite/platform/secret-store.ts';
import type { Wire } from './connection.ts';
import { DiskError, ProcessDied } from './faults.ts';
import type { Owner, World } from './world.ts';

/** An empty projection, copied for each seed: its migrations take longer than a short run. */
let empty: Buffer | undefined;

/** An empty projection in memory. The caller closes it. */
export function emptyProjection(): SqliteDatabase {
  if (!empty) {
    const made = new Database(':memory:');
    openInstanceStore(made);
    empty = made.serialize();
    made.close();
  }
  return new Database(empty);
}

/** A process that may die while it writes. */
export interface Mortal extends Owner {
  kill(): void;
}

export class Machine {
  readonly database = emptyProjection();
  /** What its calendar time is ahead of the true one, ms. */
  readonly skew = { ms: 0 };
  /** Sequences of SAMPLES that history was given. */
  readonly stored = new Set<number>();
  readonly #wire: Wire;
  readonly #dice: World['dice'];
  readonly #sealed = new Map<string, string>();
  readonly #bodies = new Map<string, Uint8Array>();

  constructor(wire: Wire) {
    this.#wire = wire;
    this.#dice = wire.world.dice.fork('disk');
  }

  /** The projection, as a process sees it. */
  store(owner: Mortal): InstanceStore {
    const store = openInstanceStore(this.database);
    return {
      ...store,
      apply: (encoded, sequence) => this.#write(owner, () => store.apply(encoded, sequence)),
    };
  }

  sealed(owner: Mortal): SealedValues {
    return {
      put: (id, value) => void this.#write(owner, () => this.#sealed.set(id, value)),
      get: (id) => this.#sealed.get(id),
      delete: (id) => void this.#write(owner, () => this.#sealed.delete(id)),
    };
  }

  bodies(owner: Mortal): BodyStore {
    const putMissing: BodyStore['putMissing'] = (bodies) =>
      this.#write(owner, () => {
        for (const { deliveryId, body } of bodies) {
          if (!this.#bodies.has(deliveryId)) this.#bodies.set(deliveryId, body);
        }
      });
    return {
      putMissing,
      get: (id) => this.#bodies.get(id),
      ids: () => [...this.#bodies.keys()],
      delete: (ids) => this.#write(owner, () => ids.forEach((id) => void this.#bodies.delete(id))),
    };
  }

  readonly history: HistoryWriter = {
    append: (_, { sequence }) => void this.stored.add(sequence),
    pass: ({ sequence }) => void this.stored.add(sequence),
    floor: () => 0,
  };

  close(): void {
    this.database.close();
  }

  #write<T>(owner: Mortal, write: () => T): T {
    if (!owner.isAlive) throw new ProcessDied();
    const { faults, world } = this.#wire;
    if (this.#dice.chance(faults.diskError)) {
      world.count('disk error');
      throw new DiskError();
    }
    if (!this.#dice.chance(faults.dieAtWrite)) return write();
    world.count('died at a write');
    if (this.#dice.chance(0.5)) write();
    owner.kill();
    throw new ProcessDied();
  }
}
