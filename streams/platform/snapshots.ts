/**
 * Snapshots of the projection on a stream of their own, for members that join: the compressed file
 * in chunks, and then a manifest. A snapshot exists once its manifest is stored, by compare-and-set
 * on one subject, so that of two writers one wins; then everything before its first chunk is
 * removed.
 *
 *     svc.snapshots.<id>.0 … svc.snapshots.<id>.n, then svc.snapshots.latest {id, digest, position}
 *
 * A snapshot is useless without the tail of EVENTS behind it: `unusable` compares both.
 */
import { createHash } from 'node:crypto';
import type { Stream, StreamMessage, StreamSpec, StreamState } from './stream.ts';

export const SNAPSHOTS_STREAM = 'SNAPSHOTS';

/** The stream of snapshots. */
export function snapshotsStream(): StreamSpec {
  return {
    name: SNAPSHOTS_STREAM,
    subjects: ['svc.snapshots.>'],
    retention: 'log',
    duplicateWindowMs: 120_000,
    whenMissing: 'replace',
  };
}

const LATEST = 'svc.snapshots.latest';
/** Below the smallest `max_payload` that is accepted (512 KiB). */
const CHUNK_BYTES = 256 * 1024;

/** Position of a projection in EVENTS. */
export interface EventsPosition {
  /** Identity of the stream. */
  readonly identity: string;
  /** Sequence of the last judged message. */
  readonly applied: number;
  /** Hash of that message's commit. */
  readonly hash: string;
}

/** Facts about a snapshot and the programs that can read it. */
export interface SnapshotFacts {
  /** Unique; one token of a subject. */
  readonly id: string;
  /** Unix ms. */
  readonly createdMs: number;
  /** Member that wrote it. */
  readonly writer: string;
  readonly position: EventsPosition;
  /** Number of migrations in the projection's schema. */
  readonly schema: number;
  readonly commitFormat: number;
  readonly machineVersions: Readonly<Record<string, number>>;
  /** Size of the file before compression, bytes. */
  readonly bytes: number;
}

export interface SnapshotManifest extends SnapshotFacts {
  /** SHA-256 of all chunks, hex. */
  readonly sha256: string;
  readonly chunks: number;
  readonly compressedBytes: number;
  /** Position of the first chunk in the stream of snapshots. */
  readonly firstSequence: number;
}

/** A snapshot is incomplete or differs from its manifest; a retry may find a newer one. */
export class SnapshotBroken extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SnapshotBroken';
  }
}

/**
 * Writes a snapshot and removes older ones. `superseded`: another one was finished first, so this
 * one does not exist. Throws the errors of the stream; then no snapshot has this id, unless only
 * the last response was lost.
 *
 * @param content compressed bytes, in parts of any size
 */
export async function writeSnapshot(
  stream: Stream,
  facts: SnapshotFacts,
  content: AsyncIterable<Uint8Array>,
): Promise<SnapshotManifest | 'superseded'> {
  await stream.ensure(snapshotsStream());
  const before = await latestMessage(stream);
  const hash = createHash('sha256');
  let [chunks, compressedBytes, firstSequence] = [0, 0, 0];
  for await (const data of inChunks(content)) {
    hash.update(data);
    const subject = `svc.snapshots.${facts.id}.${chunks}`;
    const messageId = `${facts.id} ${chunks}`;
    const outcome = await stream.append({ stream: SNAPSHOTS_STREAM, subject, data, messageId });
    if (outcome.kind === 'wrongLastSequence')
      throw new Error('An unconditional append was refused');
    if (chunks === 0) firstSequence = outcome.sequence;
    chunks++;
    compressedBytes += data.length;
  }
  const sha256 = hash.digest('hex');
  const manifest: SnapshotManifest = { ...facts, sha256, chunks, compressedBytes, firstSequence };
  await stream.append({
    stream: SNAPSHOTS_STREAM,
    subject: LATEST,
    messageId: facts.id,
    data: new TextEncoder().encode(JSON.stringify(manifest)),
    expectedLastSubjectSequence: before?.sequence ?? 0,
  });
  // The response to an append does not show whose snapshot won; the stored manifest does.
  if ((await newestSnapshot(stream))?.id !== facts.id) return 'superseded';
  await stream.truncate({ stream: SNAPSHOTS_STREAM, belowSequence: firstSequence });
  return manifest;
}

/** The newest complete snapshot; undefined if absent, or no such stream. */
export async function newestSnapshot(stream: Stream): Promise<SnapshotManifest | undefined> {
  const found = await latestMessage(stream);
  // Written by the code above, in this or another version.
  return found && (JSON.parse(new TextDecoder().decode(found.data)) as SnapshotManifest);
}

/** Its compressed bytes, in order. Throws `SnapshotBroken` at their end at the latest. */
export async function* readSnapshot(
  stream: Stream,
  manifest: SnapshotManifest,
): AsyncGenerator<Uint8Array, void, void> {
  const { id, chunks, firstSequence, sha256 } = manifest;
  const read = stream.read({
    stream: SNAPSHOTS_STREAM,
    from: { sequence: firstSequence },
    subject: `svc.snapshots.${id}.*`,
    untilEnd: true,
  });
  const hash = createHash('sha256');
  let next = 0;
  try {
    for await (const { subject, data } of read) {
      const place = Number(subject.split('.').at(-1));
      // A chunk whose response was lost is stored twice.
      if (place < next) continue;
      if (place > next) break;
      next++;
      hash.update(data);
      yield data;
    }
  } finally {
    await read.close();
  }
  if (next !== chunks) {
    throw new SnapshotBroken(`Snapshot ${id} has ${next} of ${chunks} chunks: it was replaced`);
  }
  if (hash.digest('hex') === sha256) return;
  throw new SnapshotBroken(`Snapshot ${id} is not as it was written: its SHA-256 differs`);
}

/** Why this EVENTS cannot continue the snapshot, in a sentence; undefined: it can. */
export function unusable(
  { id, position }: Pick<SnapshotFacts, 'id' | 'position'>,
  events: Pick<StreamState, 'identity' | 'firstSequence' | 'lastSequence'>,
): string | undefined {
  const { identity, applied } = position;
  if (identity !== events.identity) {
    return `snapshot ${id} was made from another EVENTS (${identity}, this one is ${events.identity})`;
  }
  if (applied + 1 < events.firstSequence) {
    return (
      `snapshot ${id} ends at ${applied}, and EVENTS begins at ${events.firstSequence}: its tail ` +
      'is gone'
    );
  }
  if (applied <= events.lastSequence) return undefined;
  return `snapshot ${id} ends at ${applied}, and EVENTS at ${events.lastSequence}: EVENTS lost its end`;
}

async function latestMessage(stream: Stream): Promise<StreamMessage | undefined> {
  if ((await stream.compare(snapshotsStream())) === undefined) return undefined;
  const from = { sequence: 1 };
  const read = stream.read({ stream: SNAPSHOTS_STREAM, from, subject: LATEST, untilEnd: true });
  let last: StreamMessage | undefined;
  try {
    for await (const message of read) last = message;
  } finally {
    await read.close();
  }
  return last;
}

async function* inChunks(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of content) {
    for (let from = 0; from < part.length; ) {
      const taken = part.subarray(from, from + CHUNK_BYTES - bytes);
      kept.push(taken);
      bytes += taken.length;
      from += taken.length;
      if (bytes < CHUNK_BYTES) continue;
      yield Buffer.concat(kept);
      kept = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield Buffer.concat(kept);
}
