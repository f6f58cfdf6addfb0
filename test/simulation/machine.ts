/**
 * The machine under a process: the disk, which outlives it, and the clock, which may be wrong. The
 * disk can fail, and a process can die before or right after a write. Rows of history stay in
 * memory until they are flushed; the next process reads the rest from the log again.
 */
import Database from 'better-sqlite3';
import type { SealedValues } from '../../actors/delivery/sealed-values.ts';
import {
  type InstanceStore,
  openInstanceStore,
} from '../../sqlite/platform/control/instance-store.ts';
import type { SqliteDatabase } from '../../sqlite/platform/database.ts';
import type { BodyStore } from '../../sqlite/platform/secrets/secret-store.ts';
import { SimulatedCheckpoints } from './checkpoints.ts';
import type { Wire } from './connection.ts';
import { DiskError, ProcessDied } from './faults.ts';
import { SimulatedHistory } from './history.ts';
import { OLDER, type Program } from './programs.ts';
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

/** Sealed values and bodies, shared by all members: how they reach each member is not simulated. */
export interface Vault {
  readonly sealed: Map<string, string>;
  readonly bodies: Map<string, Uint8Array>;
}

export class Machine {
  /** The projection. */
  database = emptyProjection();
  /** Offset of its wall clock from true time, ms. */
  readonly skew = { ms: 0 };
  readonly history: SimulatedHistory;
  readonly checkpoints: SimulatedCheckpoints;
  /** Program of its next process. */
  program: Program = OLDER;
  readonly #wire: Wire;
  readonly #dice: World['dice'];
  /** Projections of ended processes, which may still query them. */
  readonly #discarded: SqliteDatabase[] = [];
  readonly #sealed: Vault['sealed'];
  readonly #bodies: Vault['bodies'];
  #opened: InstanceStore | undefined;

  constructor(wire: Wire, { sealed, bodies }: Vault) {
    this.#wire = wire;
    this.#sealed = sealed;
    this.#bodies = bodies;
    this.#dice = wire.world.dice.fork(`disk of ${wire.name}`);
    this.history = new SimulatedHistory(wire.world, wire.world.dice.fork(`rows of ${wire.name}`));
    const dice = wire.world.dice.fork(`checkpoints of ${wire.name}`);
    this.checkpoints = new SimulatedCheckpoints(wire.world, dice);
  }

  /** Replaces the disk by an empty one. */
  loseDisk(): void {
    this.history.lose();
    this.checkpoints.lose();
    this.#replace(emptyProjection());
  }

  /** Replaces this projection by a snapshot of another member's. */
  install(projection: Uint8Array): void {
    this.#replace(new Database(Buffer.from(projection)));
  }

  #replace(database: SqliteDatabase): void {
    this.#discarded.push(this.database);
    this.database = database;
    this.#opened = undefined;
  }

  /**
   * The projection, without disk faults. All processes use one object, one after another: it keeps
   * no state, and preparing its statements takes longer than most work of a process.
   */
  opened(): InstanceStore {
    this.#opened ??= openInstanceStore(this.database);
    return this.#opened;
  }

  /** The projection, as a process sees it. */
  store(owner: Mortal): InstanceStore {
    const store = this.opened();
    return {
      ...store,
      apply: (encoded, sequence) => this.#write(owner, () => store.apply(encoded, sequence)),
    };
  }

  sealed(owner: Mortal): SealedValues {
    return {
      put: async (id, value) => void this.#write(owner, () => this.#sealed.set(id, value)),
      get: (id) => this.#sealed.get(id),
      delete: async (id) => void this.#write(owner, () => this.#sealed.delete(id)),
      caughtUp: async () => {},
    };
  }

  bodies(owner: Mortal): BodyStore {
    const putMissing: BodyStore['putMissing'] = async (bodies) =>
      this.#write(owner, () => {
        const kept = bodies.filter(({ deliveryId }) => this.#bodies.has(deliveryId));
        for (const { deliveryId, body } of bodies) {
          if (!this.#bodies.has(deliveryId)) this.#bodies.set(deliveryId, body);
        }
        return kept.map(({ deliveryId }) => deliveryId);
      });
    return {
      putMissing,
      get: (id) => this.#bodies.get(id),
      ids: () => [...this.#bodies.keys()],
      delete: async (ids) =>
        this.#write(owner, () => ids.forEach((id) => void this.#bodies.delete(id))),
    };
  }

  close(): void {
    for (const database of [this.database, ...this.#discarded]) database.close();
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
