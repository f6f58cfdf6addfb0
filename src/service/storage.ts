/**
 * Everything on disk, opened in order: the folder's lock, the sealed secrets, the projection, the
 * stream, the once-store, the history. One file each, so that what is acknowledged (FULL) and what can
 * be rebuilt (NORMAL) have their own settings.
 *
 *     secrets.db  sealed values, bodies      control.db  instances, records, timers (from EVENTS)
 *     events.db   EVENTS, DELIVERIES         samples.db  SAMPLES    history.db  chunks
 *     claims.db   what may happen once (on NATS: a stream)
 */
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { deliveriesSpec } from '../../actors/delivery/wake-ups.ts';
import { SAMPLES_STREAM, samplesSpec } from '../../actors/telemetry/sample-log.ts';
import {
  assertMadeFrom,
  boundStream,
  type InstanceStore,
  openInstanceStore,
} from '../../sqlite/platform/control/instance-store.ts';
import { openDatabase } from '../../sqlite/platform/database.ts';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { type FolderLock, lockFolder } from '../../sqlite/platform/lock-file.ts';
import { openOnceStore } from '../../sqlite/platform/once-store.ts';
import { openSecretStore, type SecretStore } from '../../sqlite/platform/secret-store.ts';
import { HISTORY_FILE } from '../../sqlite/telemetry/history/history-file.ts';
import { type History, openHistory } from '../../sqlite/telemetry/history/store/store.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { eventsStream } from '../../streams/platform/commit/events.ts';
import { onceSpec, openStreamOnceStore } from '../../streams/platform/jetstream/once-store.ts';
import type { OnceStore } from '../../streams/platform/once-store.ts';
import { type Random, systemRandom } from '../../streams/platform/random.ts';
import { becomeSoleProcess } from '../../streams/platform/sole-process.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import type { Closers } from '../platform/closers.ts';
import { toDataFolderFault } from '../platform/data-folder.ts';
import type { Log } from '../platform/log.ts';
import { deriveKey, loadMasterKey } from '../platform/master-key.ts';
import { openNats } from '../platform/nats.ts';
import type { Settings } from '../platform/settings/settings.ts';
import { reportHistoryGap } from '../telemetry/history-gap.ts';
import { assertStartable, SECRETS_FILE } from './start-checks.ts';

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
  /** Resolves when another process has taken over the stream; absent: none can. */
  readonly lost?: Promise<Error>;
  readonly store: InstanceStore;
  readonly secrets: SecretStore;
  /** A key of 32 bytes for one purpose, from the master key. */
  readonly deriveKey: (purpose: string) => Uint8Array;
  readonly history: History;
  readonly onceStore: OnceStore;
  /** The projection's file, for threads that read it themselves. */
  readonly controlPath: string;
}

/**
 * All of it, open; what was opened is closed by `closers`, in reverse. Whatever may refuse the start
 * is looked at before anything is made or written. Throws `DataFolderUnusable` with the file that
 * cannot be used, `StreamsInUse`, and the faults of its parts.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { settings, clock, closers } = options;
  const folder = settings.data;
  const lock = await using(folder, () => lockFolder(folder));
  closers.add('folder lock', () => lock.release());
  await assertStartable(settings, options.random);
  const path = join(folder, 'control.db');
  const { stream, lost } = await openSoleStream(options, lock, path);
  const { secrets, deriveOwn } = await using(join(folder, SECRETS_FILE), () =>
    openSecrets(options),
  );
  closers.add('secrets', () => secrets.close());
  const store = await using(path, () => openProjection(path, closers));
  const samples = await using(fileOf(folder, SAMPLES_STREAM), () => stream.ensure(samplesSpec));
  await using(fileOf(folder, deliveriesSpec.name), () => stream.ensure(deliveriesSpec));
  const onceStore = await openOnce(options, stream);
  const history = await using(join(folder, HISTORY_FILE), () =>
    openHistory({ folder, clock, logIdentity: samples.identity }),
  );
  closers.add('history', () => history.close());
  await reportHistoryGap({ history, stream, samples }, options.log);
  const opened = { stream, store, secrets, history, onceStore, controlPath: path };
  return { ...opened, deriveKey: deriveOwn, ...(lost && { lost }) };
}

/**
 * The stream, for this process alone. Embedded, the folder's lock sees to that; a shared one is
 * compared with what is needed, and taken, before anything is made on it.
 */
async function openSoleStream(
  options: StorageOptions,
  lock: FolderLock,
  controlPath: string,
): Promise<{ readonly stream: Stream; readonly lost?: Promise<Error> }> {
  const { settings, clock, closers, log } = options;
  const stream = options.stream ?? (await openStream(options));
  if (!options.stream) closers.add('stream', () => stream.close());
  if (!isShared(options)) return { stream };
  const events = await stream.compare(eventsStream());
  for (const spec of [samplesSpec, deliveriesSpec, onceSpec]) await stream.compare(spec);
  const bound = await using(controlPath, () => boundStream(controlPath));
  if (bound !== undefined) assertMadeFrom(bound, events?.identity);
  const sole = await becomeSoleProcess({
    // Not the port's: services that are handed one seed are still two.
    ...{ stream, clock, random: systemRandom },
    self: {
      ...{ host: hostname(), pid: process.pid, startedMs: clock.now() },
      ...{ dataFolder: resolve(settings.data), publicUrl: settings.publicUrl },
      ...(lock.identity !== undefined && { lock: lock.identity }),
    },
    where: settings.natsUrl ? `NATS at ${settings.natsUrl.servers.join(', ')}` : 'The stream',
    onWait: (sentence) => log.warn({ part: 'stream' }, sentence),
  });
  closers.add('lease of the stream', () => sole.release());
  return sole;
}

/** Several processes could reach it; embedded, the data folder's lock keeps all but one away. */
function isShared({ settings, stream }: Pick<StorageOptions, 'settings' | 'stream'>): boolean {
  return settings.natsUrl !== null || stream !== undefined;
}

/** The result of `use`; faults of files and databases name the path. */
async function using<T>(path: string, use: () => T | Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    throw toDataFolderFault(error, path);
  }
}

function openProjection(path: string, closers: Closers): InstanceStore {
  const database = openDatabase({ path, synchronous: 'NORMAL', migrations: [] });
  closers.add('control.db', () => void database.close());
  return openInstanceStore(database);
}

/** Where the nodes share a stream they share what is claimed; one alone has a file for it. */
async function openOnce(options: StorageOptions, stream: Stream): Promise<OnceStore> {
  const { settings, clock, closers } = options;
  if (isShared(options)) return openStreamOnceStore({ stream, clock });
  const path = join(settings.data, 'claims.db');
  const store = await using(path, () => openOnceStore({ path, clock }));
  closers.add('once-store', () => store.close());
  return store;
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
  if (settings.natsUrl) return openNats(settings, { clock, random });
  return openEmbeddedStream({
    storage: (name) => fileOf(settings.data, name),
    clock,
    random,
    ...(fsyncDelayMs === undefined ? {} : { fsyncDelayMs }),
  });
}
