/**
 * Everything on disk, opened in order: the folder's lock, the sealed secrets, the projection, the
 * stream, the once-store, the history. One file each, so that acknowledged data (FULL) and data
 * that can be rebuilt (NORMAL) have their own settings.
 *
 *     secrets.db  sealed values, bodies      control.db  instances, records, timers (from EVENTS)
 *     events.db   EVENTS, DELIVERIES         samples.db  SAMPLES    history.db  chunks
 *     claims.db   one-time keys (on NATS: a stream)
 *
 * On NATS, members also share sealed values on a stream, which `secrets.db` follows.
 */
import { hostname } from 'node:os';
import { join } from 'node:path';
import { deliveriesSpec } from '../../actors/delivery/due-attempts.ts';
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
import type { DamagedRow } from '../../sqlite/platform/row-checksum.ts';
import { openSecretStore } from '../../sqlite/platform/secrets/local-secrets.ts';
import { assertSharedKey, sealedSpec } from '../../sqlite/platform/secrets/sealed-stream.ts';
import type { SecretStore } from '../../sqlite/platform/secrets/secret-store.ts';
import { openSharedSecrets } from '../../sqlite/platform/secrets/shared-secrets.ts';
import { DAY_MS, HISTORY_FILE } from '../../sqlite/telemetry/history/history-file.ts';
import { type History, openHistory } from '../../sqlite/telemetry/history/store/store.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { HistoryMismatch } from '../../streams/platform/commit/chain.ts';
import { EVENTS_MISSING, eventsStream } from '../../streams/platform/commit/events.ts';
import type { JetStream } from '../../streams/platform/jetstream/jetstream-stream.ts';
import { onceSpec, openStreamOnceStore } from '../../streams/platform/jetstream/once-store.ts';
import { joinCluster, type MembershipOptions } from '../../streams/platform/membership/member.ts';
import type { Membership } from '../../streams/platform/membership/membership.ts';
import { clusterSpec } from '../../streams/platform/membership/roster.ts';
import { soleMember } from '../../streams/platform/membership/sole-member.ts';
import type { OnceStore } from '../../streams/platform/once-store.ts';
import { pause } from '../../streams/platform/pause.ts';
import { systemRandom, ulid } from '../../streams/platform/random.ts';
import { newestSnapshot, snapshotsStream } from '../../streams/platform/snapshots.ts';
import type { Stream, StreamState } from '../../streams/platform/stream.ts';
import { observationRange } from '../../streams/telemetry/entry.ts';
import { assertNoUnfinishedRestore } from '../admin/backup/restore.ts';
import {
  type LostEnd,
  lostEnds,
  MARKED_STREAMS,
  MARKS_FILE,
} from '../admin/check/acknowledged-marks.ts';
import type { Closers } from '../platform/closers.ts';
import { DataFolderUnusable, toDataFolderFault } from '../platform/data-folder.ts';
import {
  createDerivedKeys,
  type DerivedKeys,
  keepEarlierKey,
  UNSUBSCRIBE_PURPOSE,
} from '../platform/derived-keys.ts';
import {
  assertHistoryInPlace,
  isHistoryApart,
  recordHistoryFolder,
} from '../platform/history-folder.ts';
import type { Log } from '../platform/log.ts';
import { findMasterKey, loadMasterKey, replaceMasterKey } from '../platform/master-key.ts';
import type { RoomBase, Storage } from '../platform/room-base.ts';
import type { Settings } from '../platform/settings/settings.ts';
import { programVersion } from '../platform/version.ts';
import { reportHistoryGap } from '../telemetry/history-gap.ts';
import { checkAtStart, type StartCheck } from './damage-watch.ts';
import { joinFromSnapshot } from './joining.ts';
import type { ServicePorts } from './running-service.ts';
import { assertStartable, SECRETS_FILE } from './start-checks.ts';
import type { StartWait } from './start-wait.ts';

const HISTORY_SETTING = 'SVC_HISTORY_DATA';

/**
 * Samples have a file and a writer of their own: they are the largest part and are truncated
 * separately.
 */
function fileOf(folder: string, stream: string): string {
  return join(folder, stream === SAMPLES_STREAM ? 'samples.db' : 'events.db');
}

export interface StorageParts {
  readonly base: Omit<RoomBase, 'health' | 'metrics'>;
  /** A stream of the caller, which keeps it, and artificial times. */
  readonly ports: Pick<ServicePorts, 'stream' | 'fsyncDelayMs'>;
  /** Waits for a stream that is not there yet. */
  readonly wait: Pick<StartWait, 'until' | 'over'>;
}

/** The open storage, and the findings of the earlier check of its files. */
export interface OpenStorage extends Storage {
  readonly startCheck: StartCheck;
  /** Streams that end before their last acknowledged entry. */
  readonly lost: readonly LostEnd[];
}

/**
 * Opens everything; `closers` closes it in reverse. Checks whatever may refuse the start before
 * anything is made or written. Throws `DataFolderUnusable` with the file that cannot be used, and
 * the faults of its parts.
 */
export async function openStorage(parts: StorageParts): Promise<OpenStorage> {
  const { settings, clock, random, log, closers } = parts.base;
  const folder = settings.data;
  const lock = await using(folder, () => lockFolder(folder));
  closers.add('folder lock', () => lock.release());
  assertNoUnfinishedRestore(folder);
  assertHistoryInPlace(settings);
  await lockHistory(parts);
  // Checked first: later steps open the files, and SQLite then drops unreadable frames.
  const startCheck = checkAtStart(settings, isShared(parts));
  await assertStartable(settings, random);
  const path = join(folder, 'control.db');
  const damaged: DamagedSamples[] = [];
  let onDamaged: OnDamagedSamples = (found) => void damaged.push(found);
  const { stream, copies } = await openComparedStream(parts, path, (found) => onDamaged(found));
  const member = await openMembership(parts, stream, lock);
  if (isShared(parts)) await assertEventsKnown(stream, member);
  closers.add('membership', () => member.leave());
  const { secrets, keys } = await using(join(folder, SECRETS_FILE), () =>
    openSecrets(parts, stream),
  );
  closers.add('secrets', () => secrets.close());
  if (isShared(parts)) {
    await using(path, () => joinFromSnapshot({ stream, controlPath: path, log }));
  }
  const store = await using(path, () => openProjection(path, closers));
  await untilMadeAgain(stream, member, clock);
  const samples = await using(fileOf(folder, SAMPLES_STREAM), () => stream.ensure(samplesSpec));
  await using(fileOf(folder, deliveriesSpec.name), () => stream.ensure(deliveriesSpec));
  const onceStore = await openOnce(parts, stream);
  const history = await openHistoryOf(parts, samples);
  await reportHistoryGap({ history, stream, samples, nowMs: clock.now() }, log);
  onDamaged = (found) => recordDamagedSamples(parts.base.log, history, found);
  for (const found of damaged) onDamaged(found);
  const lost = isShared(parts) ? [] : await lostEnds(folder, stream, MARKED_STREAMS);
  assertUsableEnds(folder, lost, history);
  await parts.wait.over();
  const opened = { stream, store, secrets, history, onceStore, controlPath: path };
  const masterKey = { keyId: secrets.keyId, changeMasterKey: masterKeyChanges(secrets, keys) };
  const asMember = { member, ownership: member, ...(copies && { copies }) };
  return { ...opened, ...asMember, ...masterKey, deriveKey: keys.derive, startCheck, lost };
}

/**
 * Without its end, EVENTS contradicts answers that callers have received, and a sample log that
 * ends below the floor of the chunks would assign sequences again. Throws `DataFolderUnusable`.
 */
function assertUsableEnds(folder: string, lost: readonly LostEnd[], history: History): void {
  for (const { stream, last, acknowledged } of lost) {
    if (stream === SAMPLES_STREAM && history.newestFloor() <= last) continue;
    const file = fileOf(folder, stream);
    const way =
      stream === SAMPLES_STREAM
        ? `Restore a backup, or move ${file} and ${file}-wal aside: the samples in them are lost`
        : `Restore a backup, or remove ${join(folder, MARKS_FILE)} to continue without them`;
    throw new DataFolderUnusable(
      `SVC_DATA ${folder} is damaged: ${file} ends at ${last} of ${stream}, but ${acknowledged} was ` +
        `acknowledged. Its write-ahead log was cut, or an older copy of the file is in its place. ${way}`,
    );
  }
}

/** A batch of the sample log that cannot be read, and the time at which it was stored, Unix ms. */
interface DamagedSamples {
  readonly damage: DamagedRow;
  readonly timeMs: number;
}

type OnDamagedSamples = (found: DamagedSamples) => void;

/** Responses about that time report `HISTORY_LOST`. */
function recordDamagedSamples(log: Log, history: History, { damage, timeMs }: DamagedSamples) {
  history.recordLost(observationRange(timeMs));
  log.error({ err: damage, part: 'history' }, 'A batch of samples is damaged and was skipped');
}

/** The stream. A shared one is compared with the requirements before anything is made on it. */
async function openComparedStream(
  parts: StorageParts,
  controlPath: string,
  damagedSamples: OnDamagedSamples,
): Promise<Pick<Storage, 'stream' | 'copies'>> {
  const { base, ports, wait } = parts;
  const { settings, random, closers } = base;
  const stream: OnServers =
    ports.stream ?? (await wait.until(() => openStream({ ...parts, damagedSamples })));
  if (!ports.stream) closers.add('stream', () => stream.close());
  if (!isShared(parts)) return { stream };
  const { copies } = stream;
  const where = placeOf(settings);
  const events = await wait.until(() => stream.compare(eventsStream()));
  const specs = [samplesSpec, deliveriesSpec, onceSpec, sealedSpec, snapshotsStream(), clusterSpec];
  for (const spec of specs) await stream.compare(spec);
  await assertSharedKey({ stream, where, random, masterKey: findMasterKey(keyFile(settings)) });
  const bound = await using(controlPath, () => boundStream(controlPath));
  if (bound !== undefined) assertMadeFrom(bound, events?.identity);
  return { stream, ...(copies && { copies }) };
}

/** Its folder is locked like the data folder: two services would write one file. */
async function lockHistory({ base }: StorageParts): Promise<void> {
  const { settings, closers } = base;
  if (!isHistoryApart(settings)) return;
  const { historyData } = settings;
  const lock = await using(
    historyData,
    () => lockFolder(historyData, HISTORY_SETTING),
    HISTORY_SETTING,
  );
  closers.add('history folder lock', () => lock.release());
}

async function openHistoryOf({ base }: StorageParts, samples: StreamState): Promise<History> {
  const { settings, clock, closers } = base;
  const { historyData, retentionDays, flushMinutes, headMib } = settings;
  const setting = isHistoryApart(settings) ? HISTORY_SETTING : 'SVC_DATA';
  const open = () => {
    const history = openHistory({
      folder: historyData,
      clock,
      logIdentity: samples.identity,
      retentionMs: retentionDays * DAY_MS,
      flushAfterMs: flushMinutes * 60_000,
      headBytesMax: headMib * 2 ** 20,
    });
    closers.add('history', () => history.close());
    recordHistoryFolder(settings);
    return history;
  };
  return using(join(historyData, HISTORY_FILE), open, setting);
}

/** Joins the processes that share the stream; a single member on an embedded one. */
async function openMembership(
  parts: StorageParts,
  stream: Stream,
  lock: FolderLock,
): Promise<Membership> {
  const { clock, log } = parts.base;
  // Not the randomness port: services that get one seed are still two.
  const node = `node-${ulid(clock.now(), systemRandom)}`;
  if (!isShared(parts)) return soleMember(node);
  const member: MembershipOptions = {
    stream,
    clock,
    self: {
      node,
      host: hostname(),
      pid: process.pid,
      startedMs: clock.now(),
      version: programVersion,
      ...(lock.identity !== undefined && { lock: lock.identity }),
    },
    onLost: (error) => log.debug({ err: error, part: 'membership' }, 'The roster cannot be read'),
  };
  return parts.wait.until(() => joinCluster(member));
}

/**
 * A new member must not make an EVENTS in the place of one that was deleted. Throws
 * `HistoryMismatch`.
 */
async function assertEventsKnown(stream: Stream, member: Membership): Promise<void> {
  if ((await stream.compare(eventsStream())) !== undefined) return;
  const isApplied = member.members().some(({ applied }) => applied > 0);
  if (isApplied || (await newestSnapshot(stream)) !== undefined) {
    throw new HistoryMismatch('otherStream', EVENTS_MISSING);
  }
}

/** Interval and longest wait for running members to recreate the sample log, ms. */
const MADE_LOOK_MS = 250;
const MADE_MS_MAX = 10_000;

/** Only running members know the sequences with which a sample log that was deleted continues. */
async function untilMadeAgain(stream: Stream, member: Membership, clock: Clock): Promise<void> {
  const isKnown = () =>
    member.members().some(({ node, status }) => node !== member.node && status === 'acting');
  for (let waitedMs = 0; waitedMs < MADE_MS_MAX && isKnown(); waitedMs += MADE_LOOK_MS) {
    if ((await stream.compare(samplesSpec)) !== undefined) return;
    await pause(clock, MADE_LOOK_MS);
  }
}

/** Location of the streams, for messages. */
function placeOf({ natsUrl }: Settings): string {
  return natsUrl ? `NATS at ${natsUrl.servers.join(', ')}` : 'The stream';
}

/**
 * True if several processes could reach it; for an embedded one the data folder's lock excludes all
 * but one.
 */
function isShared({ base, ports }: StorageParts): boolean {
  return base.settings.natsUrl !== null || ports.stream !== undefined;
}

/** The result of `use`; faults of files and databases name the path. */
async function using<T>(path: string, use: () => T | Promise<T>, setting = 'SVC_DATA'): Promise<T> {
  try {
    return await use();
  } catch (error) {
    throw toDataFolderFault(error, path, setting);
  }
}

function openProjection(path: string, closers: Closers): InstanceStore {
  const database = openDatabase({ path, synchronous: 'NORMAL', migrations: [] });
  closers.add('control.db', () => void database.close());
  return openInstanceStore(database);
}

/** Nodes that share a stream share the claims on it; a single node has a file for them. */
async function openOnce(parts: StorageParts, stream: Stream): Promise<OnceStore> {
  const { settings, clock, closers } = parts.base;
  if (isShared(parts)) return openStreamOnceStore({ stream, clock });
  const path = join(settings.data, 'claims.db');
  const store = await using(path, () => openOnceStore({ path, clock }));
  closers.add('once-store', () => store.close());
  return store;
}

/** Nodes that share a stream share the sealed values on it; a single node has its file. */
async function openSecrets(parts: StorageParts, stream: Stream) {
  const { settings, clock, random, log } = parts.base;
  const key = keyFile(settings);
  const path = key.storePath;
  const masterKey = loadMasterKey({ ...key, random, log });
  const keys = createDerivedKeys(masterKey);
  const keep = (next: Uint8Array): boolean => {
    if (!replaceMasterKey(key.file, next)) return false;
    keys.replace(next);
    return true;
  };
  const onFault = (error: unknown): void =>
    log.error(
      { err: error, part: 'secrets' },
      'Secrets that were not kept, shared or deleted as required',
    );
  const secrets = isShared(parts)
    ? await openSharedSecrets({
        path,
        masterKey,
        random,
        stream,
        clock,
        onFault,
        keep,
        where: placeOf(settings),
      })
    : openSecretStore({ path, masterKey, random, later: { clock, onFault }, keep });
  return { secrets, keys };
}

/** A change of the master key, before which the keys that must outlive it are stored. */
function masterKeyChanges(secrets: SecretStore, keys: DerivedKeys): Storage['changeMasterKey'] {
  return async (request) => {
    if (request.next !== undefined) {
      const key = Uint8Array.from(keys.derive(UNSUBSCRIBE_PURPOSE));
      await keepEarlierKey(secrets, UNSUBSCRIBE_PURPOSE, key);
    }
    return secrets.changeKey(request);
  };
}

/** Location of the master key, and of the values sealed under it. */
export function keyFile({ data, masterKeyFile: file, masterKeyFileGiven: mustExist }: Settings) {
  return { file, mustExist, storePath: join(data, SECRETS_FILE) };
}

interface StreamParts extends StorageParts {
  readonly damagedSamples: OnDamagedSamples;
}

/** A stream that may be on servers. */
type OnServers = Stream & Partial<Pick<JetStream, 'copies'>>;

async function openStream({ base, ports, damagedSamples }: StreamParts): Promise<OnServers> {
  const { settings, clock, random } = base;
  const { fsyncDelayMs } = ports;
  if (settings.natsUrl) {
    // The NATS client takes memory and startup time, so it is loaded only if NATS is used.
    const { openNats } = await import('../platform/nats.ts');
    const onMadeAgain = (name: string): void =>
      base.log.warn({ part: 'stream' }, `The stream ${name} was missing and was recreated`);
    return openNats(settings, { clock, random, onMadeAgain });
  }
  return openEmbeddedStream({
    storage: (name) => fileOf(settings.data, name),
    // One damaged batch must not keep the others from being evaluated: it is a gap.
    skipsDamaged: (name, { damage, timeMs }) => {
      if (name !== SAMPLES_STREAM) return false;
      damagedSamples({ damage, timeMs });
      return true;
    },
    clock,
    random,
    ...(fsyncDelayMs === undefined ? {} : { fsyncDelayMs }),
  });
}
