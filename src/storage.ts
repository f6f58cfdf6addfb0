/**
 * Everything on disk, opened in order: the folder's lock, the sealed secrets, the projection, the
 * stream, the claims, the history. One file each, so that what is acknowledged (FULL) and what can
 * be rebuilt (NORMAL) have their own settings.
 *
 *     secrets.db  sealed values, bodies      control.db  instances, records, timers (from EVENTS)
 *     events.db   EVENTS, DELIVERIES         samples.db  SAMPLES    history.db  chunks
 *     claims.db   what may happen once (on NATS: a stream)
 */
import { join } from 'node:path';
import { deliveriesSpec } from '../actors/delivery/wake-ups.ts';
import { SAMPLES_STREAM, samplesSpec } from '../actors/sample-log.ts';
import { openClaimStore } from '../sqlite/claim-store.ts';
import { openDatabase } from '../sqlite/database.ts';
import { openEmbeddedStream } from '../sqlite/embedded-stream.ts';
import { HISTORY_FILE } from '../sqlite/history/history-file.ts';
import { type History, openHistory } from '../sqlite/history/store.ts';
import { type InstanceStore, openInstanceStore } from '../sqlite/instance-store.ts';
import { lockFolder } from '../sqlite/lock-file.ts';
import { openSecretStore, type SecretStore } from '../sqlite/secret-store.ts';
import type { Claims } from '../streams/claims.ts';
import type { Clock } from '../streams/clock.ts';
import { openStreamClaims } from '../streams/jetstream/claims.ts';
import { openJetStream } from '../streams/jetstream/jetstream-stream.ts';
import type { Random } from '../streams/random.ts';
import type { Stream } from '../streams/stream.ts';
import type { Closers } from './closers.ts';
import { asDataFolderFault } from './data-folder.ts';
import { tellHistoryGap } from './history-gap.ts';
import type { Log } from './log.ts';
import { deriveKey, loadMasterKey } from './master-key.ts';
import type { Settings } from './settings.ts';

const SECRETS_FILE = 'secrets.db';

/** Samples have a file, and a writer, of their own: the largest part, truncated by itself. */
function fileOf(folder: string, stream: string): string {
  return join(folder, stream === SAMPLES_STREAM ? 'samples.db' : 'events.db');
}

export interface StorageOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly closers: Closers;
  /** A stream of the caller's, in place of the one the settings name; it stays the caller's. */
  readonly stream?: Stream;
  /** Artificial time of each embedded disk write, ms: for measurements. */
  readonly fsyncDelayMs?: number;
}

export interface Storage {
  readonly stream: Stream;
  readonly store: InstanceStore;
  readonly secrets: SecretStore;
  /** A key of 32 bytes for one purpose, from the master key. */
  readonly deriveKey: (purpose: string) => Uint8Array;
  readonly history: History;
  readonly claims: Claims;
  /** The projection's file, for threads that read it themselves. */
  readonly controlPath: string;
}

/**
 * All of it, open; what was opened is closed by `closers`, in reverse. Throws
 * `DataFolderUnusable` with the file that cannot be used, and the faults of its parts.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { settings, clock, closers } = options;
  const folder = settings.data;
  const lock = await using(folder, () => lockFolder(folder));
  closers.add('folder lock', () => lock.release());
  const { secrets, deriveOwn } = await using(join(folder, SECRETS_FILE), () =>
    openSecrets(options),
  );
  closers.add('secrets', () => secrets.close());
  const path = join(folder, 'control.db');
  const store = await using(path, () => openProjection(path, closers));
  const stream = options.stream ?? (await openStream(options));
  if (!options.stream) closers.add('stream', () => stream.close());
  const samples = await using(fileOf(folder, SAMPLES_STREAM), () => stream.ensure(samplesSpec));
  await using(fileOf(folder, deliveriesSpec.name), () => stream.ensure(deliveriesSpec));
  const claims = await openClaims(options, stream);
  const history = await using(join(folder, HISTORY_FILE), () =>
    openHistory({ folder, clock, logIdentity: samples.identity }),
  );
  closers.add('history', () => history.close());
  await tellHistoryGap({ history, stream, samples }, options.log);
  return { stream, store, secrets, deriveKey: deriveOwn, history, claims, controlPath: path };
}

/** What `use` gives, its faults of files and databases told with the path. */
async function using<T>(path: string, use: () => T | Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    throw asDataFolderFault(error, path);
  }
}

function openProjection(path: string, closers: Closers): InstanceStore {
  const database = openDatabase({ path, synchronous: 'NORMAL', migrations: [] });
  closers.add('control.db', () => void database.close());
  return openInstanceStore(database);
}

/** Where the nodes share a stream they share what is claimed; one alone has a file for it. */
async function openClaims(options: StorageOptions, stream: Stream): Promise<Claims> {
  const { settings, clock, closers } = options;
  const isShared = settings.natsUrl !== null || options.stream !== undefined;
  if (isShared) return openStreamClaims({ stream, clock });
  const path = join(settings.data, 'claims.db');
  const claims = await using(path, () => openClaimStore({ path, clock }));
  closers.add('claims', () => claims.close());
  return claims;
}

function openSecrets({ settings, clock, random, log }: StorageOptions) {
  const path = join(settings.data, SECRETS_FILE);
  const masterKey = loadMasterKey({
    file: settings.masterKeyFile,
    mustExist: settings.masterKeyFileGiven,
    storePath: path,
    random,
    log,
  });
  const onFault = (error: unknown): void =>
    log.error({ err: error, part: 'secrets' }, 'What was deleted is still in the log of the file');
  return {
    secrets: openSecretStore({ path, masterKey, random, later: { clock, onFault } }),
    deriveOwn: (purpose: string) => deriveKey(masterKey, purpose),
  };
}

async function openStream(options: StorageOptions): Promise<Stream> {
  const { settings, clock, random, fsyncDelayMs } = options;
  if (settings.natsUrl) return openJetStream({ url: settings.natsUrl, clock, random });
  return openEmbeddedStream({
    storage: (name) => fileOf(settings.data, name),
    clock,
    random,
    ...(fsyncDelayMs === undefined ? {} : { fsyncDelayMs }),
  });
}
