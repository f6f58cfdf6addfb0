/**
 * A node for tests of the host: a store in memory, a host on a given stream, and the toy machine.
 */
import { createHost, type RunningHost } from '../../actors/platform/host/host.ts';
import type { MachineDefinition } from '../../machines/platform/definition.ts';
import {
  type InstanceStore,
  openInstanceStore,
} from '../../sqlite/platform/control/instance-store.ts';
import { openDatabase, type SqliteDatabase } from '../../sqlite/platform/database.ts';
import { type Clock, systemClock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { type Random, systemRandom } from '../../streams/platform/random.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import { counter, expandCounter } from './counter-machine.ts';

export interface CountingNode {
  readonly host: RunningHost;
  readonly store: InstanceStore;
  readonly database: SqliteDatabase;
  close(): Promise<void>;
}

export interface CountingNodeOptions {
  readonly stream: Stream;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly name?: string;
  readonly machine?: MachineDefinition;
  /** See `HostOptions`. */
  readonly isClockWrong?: () => boolean;
  /** Store of its projection. Default: a new one in memory. */
  readonly place?: Place;
}

/** An open store. Its opener closes the database. */
export interface Place {
  readonly database: SqliteDatabase;
  store: InstanceStore;
}

/** A store in a file, or in memory. */
export function openPlace(path = ':memory:'): Place {
  const database = openDatabase({ path, synchronous: 'NORMAL', migrations: [], area: 'test' });
  return { database, store: openInstanceStore(database) };
}

/** Resets a store to its initial state, faster than creating its tables. */
export function clearPlace(place: Place): void {
  const { database } = place;
  for (const table of tables) database.exec(`DELETE FROM ${table[0]}`);
  database.exec(
    "UPDATE position SET stream_identity = '', format = 0, applied = 0, applied_hash = '', gapped = 0, checksum = NULL",
  );
  place.store = openInstanceStore(database);
}

/** Creates a node that is not started. */
export function countingNode(options: CountingNodeOptions): CountingNode {
  const { database, store } = options.place ?? openPlace();
  const machine = options.machine ?? counter;
  const host = createHost({
    stream: options.stream,
    store,
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
    machines: new Map([[machine.name, machine]]),
    expand: expandCounter,
    node: options.name ?? 'node',
    ...(options.isClockWrong && { isClockWrong: options.isClockWrong }),
  });
  return {
    host,
    store,
    database,
    async close() {
      await host.stop();
      if (options.place === undefined) database.close();
    },
  };
}

export const tester: Actor = { kind: 'service', name: 'test' };

/** Starts the counter if needed, and adds one. Resolves with the count. */
export function add(host: RunningHost, project: string, id: string, requestId?: string) {
  const request = requestId && { scope: project, id: requestId, fingerprint: 'add' };
  return host.submit({
    project,
    by: tester,
    ...(request ? { request } : {}),
    decide(draft) {
      if (!draft.instance('counter', id)) draft.start('counter', id, { at: draft.at });
      const { instance } = draft.send('counter', id, { type: 'added', at: draft.at });
      return { count: Number(instance.context.count) };
    },
  });
}

/** Tables of the projection with their order, except positions. */
const tables = [
  ['heads', 'project'],
  ['commits', 'sequence'],
  ['instances', 'project, machine, instance'],
  ['timers', 'project, machine, instance, id'],
  ['machine_versions', 'project, machine'],
  ['set_backs', 'project, number'],
  ['transitions', 'id'],
  ['records', 'project, kind, id'],
  ['requests', 'project, scope, id'],
] as const;

/** Everything that two nodes must agree on, as text. */
export function projectionOf(database: SqliteDatabase): string {
  return tables
    .map(([table, order]) => {
      const rows = database.prepare(`SELECT * FROM ${table} ORDER BY ${order}`).all();
      return `${table}\n${rows.map((row) => JSON.stringify(row)).join('\n')}`;
    })
    .join('\n');
}
