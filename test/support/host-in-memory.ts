/**
 * A real host with the real machines on an embedded stream in memory, under a virtual clock, and an
 * authenticator over it.
 */
import type { Test } from 'tap';
import { createHost, type RunningHost } from '../../actors/platform/host/host.ts';
import type { ChangeAdmission } from '../../actors/platform/host/host-port.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { openInstanceStore } from '../../sqlite/platform/control/instance-store.ts';
import { openDatabase } from '../../sqlite/platform/database.ts';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import {
  type AuthenticatorOptions,
  createAuthenticator,
} from '../../src/identity/auth/authenticator.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { type Random, seededRandom } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import { openMigratedInMemory } from './migrated-databases.ts';

export const START_MS = Date.UTC(2026, 0, 1);
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
export const tester: Actor = { kind: 'operator', name: 'test' };

export interface World {
  readonly host: RunningHost;
  readonly clock: VirtualClock;
  readonly random: Random;
}

/** A world with the stream that further nodes can share. */
export interface StreamWorld extends World {
  readonly stream: Stream;
}

interface StartOptions {
  readonly path?: string;
  readonly seed?: number;
  /** Admission of changes. Default: every change may be committed. */
  readonly admission?: (clock: VirtualClock) => ChangeAdmission;
}

/**
 * Starts a world that ends with the test. `beside`: as a second node on that world's stream.
 * `path`: file of a database that outlives it; default: in memory. A world that reopens it takes
 * another seed, so that ids are not repeated.
 */
export async function startWorld(
  t: Test,
  beside?: StreamWorld,
  { path, seed = 42, admission }: StartOptions = {},
): Promise<StreamWorld> {
  const { clock, random } = beside ?? {
    clock: new VirtualClock(START_MS),
    random: seededRandom(seed),
  };
  const database =
    path === undefined
      ? openMigratedInMemory()
      : openDatabase({ path, synchronous: 'NORMAL', migrations: [] });
  const stream = beside?.stream ?? openEmbeddedStream({ storage: database, clock, random });
  const host = createHost({
    stream,
    store: openInstanceStore(database),
    clock,
    random,
    machines: machineDefinitions,
    expand: () => {},
    node: beside ? 'beside' : 'test',
    ...(admission && { admission: admission(clock) }),
  });
  await host.start();
  t.teardown(async () => {
    await host.stop();
    if (!beside) await stream.close();
    database.close();
  });
  return { host, stream, clock, random };
}

/** `authenticate` takes a key; `used` has the ids of accepted keys, in order. */
export function authenticator(
  t: Test,
  world: World,
  host: AuthenticatorOptions['host'] = world.host,
) {
  const used: string[] = [];
  const made = createAuthenticator({
    host,
    clock: world.clock,
    recordUse: (credential) => void used.push(credential),
  });
  t.teardown(() => made.close());
  return { used, authenticate: (key: string) => made.authenticateKey(`Bearer ${key}`), made };
}

/** The refusal's reason, or `accepted`. */
export function reasonOf(attempt: () => unknown): string {
  try {
    attempt();
  } catch (error) {
    if (error instanceof Refusal) return error.reason;
    throw error;
  }
  return 'accepted';
}
