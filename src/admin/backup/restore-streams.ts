/**
 * Restores the streams of a backup onto NATS, with their identities and sequences, so that they
 * match control.db. Existing streams are left unchanged: the member reads from them what followed
 * its backup.
 */
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SAMPLES_STREAM } from '../../../actors/telemetry/sample-log.ts';
import {
  migrateStreamCopy,
  openStreamCopy,
  type StreamCopy,
} from '../../../sqlite/platform/backup/stream-copy.ts';
import { SchemaMismatch } from '../../../sqlite/platform/database.ts';
import type {
  Stream,
  StreamMessage,
  StreamSpec,
  StreamState,
} from '../../../streams/platform/stream.ts';
import { BackupFault } from './manifest.ts';

export interface RestoreStreamsOptions {
  /** Folder of the backup. */
  readonly from: string;
  /** For copies of files that an older program wrote; created if needed, and removed. */
  readonly scratch: string;
  readonly stream: Stream;
  /** In the order of restoring: EVENTS last, whose end shows that all are restored. */
  readonly specs: readonly StreamSpec[];
}

/**
 * Subject of messages at the sequences that the sample log has lost, because it is cut partition by
 * partition. They are removed before the streams that show that a restore is complete.
 */
const GAP_SUBJECT = 'svc.samples.gap';
const NOTHING = new Uint8Array(0);

/** Maximum appends in progress at a time. The server keeps the order of one connection. */
const UNDER_WAY_MAX = 64;

/** File of a backup that contains the stream. */
export function streamFileOf(stream: string): string {
  return stream === SAMPLES_STREAM ? 'samples.db' : 'events.db';
}

/**
 * Restores the streams. An interrupted one continues where it was. Throws `BackupFault` if NATS has
 * streams of another deployment, before anything is changed, and the errors of the stream.
 */
export async function restoreStreams(options: RestoreStreamsOptions): Promise<void> {
  const copies: { readonly spec: StreamSpec; readonly copy: StreamCopy }[] = [];
  try {
    for (const spec of options.specs) {
      const copy = openCopy(options, spec.name);
      if (copy === undefined) continue;
      copies.push({ spec, copy });
      assertSame(spec, copy.state, await options.stream.compare(spec));
    }
    for (const { spec, copy } of copies) {
      await (spec.lastOfSubject ? restoreTable : restoreOne)(options, spec, copy);
    }
  } finally {
    for (const { copy } of copies) copy.close();
    rmSync(options.scratch, { recursive: true, force: true });
  }
}

/** A file of an older schema is copied and migrated, since a backup is never changed. */
function openCopy({ from, scratch }: RestoreStreamsOptions, stream: string) {
  const file = streamFileOf(stream);
  try {
    return openStreamCopy(join(from, file), stream);
  } catch (error) {
    if (!(error instanceof SchemaMismatch)) throw error;
  }
  mkdirSync(scratch, { recursive: true, mode: 0o700 });
  const path = join(scratch, file);
  if (!existsSync(path)) copyFileSync(join(from, file), path);
  migrateStreamCopy(path);
  return openStreamCopy(path, stream);
}

function assertSame({ name }: StreamSpec, copy: StreamState, found: StreamState | undefined): void {
  if (found === undefined || found.identity === copy.identity) return;
  throw new BackupFault(
    `NATS has a stream ${name} of another deployment (${found.identity}; that of the backup is ` +
      `${copy.identity}). Name an empty NATS, or an account of it, in SVC_NATS_URL`,
  );
}

/** Existing rows are newer, so only missing ones are written. */
async function restoreTable(
  { stream }: RestoreStreamsOptions,
  spec: StreamSpec,
  { state, messages }: StreamCopy,
): Promise<void> {
  await stream.ensure(spec, { identity: state.identity, firstSequence: 1 });
  for (const { subject, data } of messages(0)) {
    const row = { stream: spec.name, subject, data };
    await stream.append({ ...row, expectedLastSubjectSequence: 0 });
  }
}

async function restoreOne(
  { stream }: RestoreStreamsOptions,
  spec: StreamSpec,
  { state, messages }: StreamCopy,
): Promise<void> {
  const { name } = spec;
  const { lastSequence } = await stream.ensure(spec, state);
  const underWay: Promise<void>[] = [];
  let next = lastSequence + 1;
  const append = async (message: Pick<StreamMessage, 'subject' | 'data' | 'messageId'>) => {
    const sequence = next++;
    underWay.push(
      stream.append({ stream: name, ...message }).then((outcome) => {
        const stored = outcome.kind === 'wrongLastSequence' ? 0 : outcome.sequence;
        if (stored !== sequence) throw misplaced(name, sequence, stored);
      }),
    );
    if (underWay.length >= UNDER_WAY_MAX) await Promise.all(underWay.splice(0));
  };
  for (const { sequence, subject, data, messageId } of messages(lastSequence)) {
    if (sequence !== next && name !== SAMPLES_STREAM) throw gap(name, next, sequence);
    while (next < sequence) await append({ subject: GAP_SUBJECT, data: NOTHING });
    await append({ subject, data, ...(messageId !== undefined && { messageId }) });
  }
  await Promise.all(underWay);
  if (name !== SAMPLES_STREAM) return;
  await stream.truncate({ stream: name, subject: GAP_SUBJECT, belowSequence: next });
}

function gap(name: string, next: number, sequence: number): BackupFault {
  return new BackupFault(
    `${name} of the backup has no messages from ${next} to ${sequence - 1}: it cannot be restored ` +
      'onto NATS. Restore the backup without SVC_NATS_URL',
  );
}

function misplaced(name: string, sequence: number, stored: number): BackupFault {
  return new BackupFault(
    `Message ${sequence} of ${name} was stored at ${stored}: another program writes there. Stop it, or ` +
      'name an empty account of NATS in SVC_NATS_URL, and run "svc restore" again',
  );
}
