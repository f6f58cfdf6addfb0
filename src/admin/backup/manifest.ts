/**
 * `manifest.json` of a backup: the copied files with their sizes and digests, its position in the
 * streams, and the requirements to use it. It is written last, so that a folder without one is not
 * a backup, whatever it contains.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Formats, newerFormats } from '../../../actors/platform/host/formats.ts';

export const MANIFEST_FILE = 'manifest.json';
const KIND = 'svc-backup';
/**
 * Format of the manifest and the set of files. A change that an older `svc restore` would misread
 * increases it.
 */
const FORMAT = 1;

export interface BackupFile {
  readonly name: string;
  readonly bytes: number;
  /** SHA-256, hex. */
  readonly sha256: string;
}

/** A stream whose messages are in the backup. */
export interface BackupStream {
  readonly name: string;
  readonly identity: string;
  readonly lastSequence: number;
  readonly messages: number;
}

export interface BackupManifest extends Formats {
  /** Version of the program that made it. */
  readonly program: string;
  /** Time of the state in the backup, Unix ms. */
  readonly createdMs: number;
  /** Location of the streams: in the data folder, or on NATS. */
  readonly form: 'embedded' | 'nats';
  /** Id of the master key that opens its secrets. The key is not in the backup. */
  readonly keyId: string;
  /** The position of control.db in EVENTS: identity of the stream, sequence, hash of the commit. */
  readonly position: {
    readonly identity: string;
    readonly applied: number;
    readonly hash: string;
  };
  readonly streams: readonly BackupStream[];
  readonly files: readonly BackupFile[];
}

/** A backup that cannot be made or used. The message names a remedy. */
export class BackupFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'BackupFault';
  }
}

/** The text of `manifest.json`. */
export function manifestText(manifest: BackupManifest): string {
  return `${JSON.stringify({ kind: KIND, format: FORMAT, ...manifest }, null, 2)}\n`;
}

/** Throws `BackupFault` if there is none, or none that this program can use. */
export function loadManifest(folder: string): BackupManifest {
  const path = join(folder, MANIFEST_FILE);
  if (!existsSync(path)) {
    throw new BackupFault(
      `${folder} contains no finished backup, because it has no ${MANIFEST_FILE}, which is written last`,
    );
  }
  const manifest = parse(path);
  if (manifest.format > FORMAT) {
    throw new BackupFault(
      `${path} has format ${manifest.format}, but this program reads up to ${FORMAT}. Restore it with ` +
        `svc ${manifest.program} or newer`,
    );
  }
  const newer = newerFormats(manifest);
  if (newer.length > 0) {
    throw new BackupFault(
      `The backup was made by svc ${manifest.program}, which is newer than this program ` +
        `(${newer.join(', ')}). Restore it with that version or a newer one`,
    );
  }
  return manifest;
}

function parse(path: string): BackupManifest & { readonly format: number } {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new BackupFault(`${path} cannot be read. Take another copy of the backup`, {
      cause: error,
    });
  }
  if (isManifest(value)) return value;
  throw new BackupFault(`${path} is not the manifest of a backup of this service`);
}

function isManifest(value: unknown): value is BackupManifest & { readonly format: number } {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  const isPlainName = (file: unknown): boolean => {
    const { name, sha256 } = file as Partial<BackupFile>;
    return (
      typeof sha256 === 'string' && typeof name === 'string' && /^[a-z-]+\.(db|json)$/.test(name)
    );
  };
  return (
    fields.kind === KIND &&
    typeof fields.format === 'number' &&
    typeof fields.keyId === 'string' &&
    typeof fields.commitFormat === 'number' &&
    typeof fields.machineVersions === 'object' &&
    fields.machineVersions !== null &&
    typeof fields.position === 'object' &&
    Array.isArray(fields.streams) &&
    Array.isArray(fields.files) &&
    fields.files.every(isPlainName)
  );
}

/** Reads every file. Throws `BackupFault` for the first one that differs from what was written. */
export async function assertUndamaged(
  folder: string,
  { files }: BackupManifest,
  onBytes: (bytes: number) => void = () => {},
): Promise<void> {
  for (const { name, bytes, sha256 } of files) {
    const path = join(folder, name);
    const size = statSync(path, { throwIfNoEntry: false })?.size;
    if (size === undefined) throw new BackupFault(`${path} is missing: the backup is incomplete`);
    if (size === bytes && (await digestOf(path, onBytes)) === sha256) continue;
    throw new BackupFault(
      `${path} is damaged (its SHA-256 differs). Take another copy of the backup`,
    );
  }
}

/** SHA-256 of a file, hex. */
export async function digestOf(
  path: string,
  onBytes: (bytes: number) => void = () => {},
): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of createReadStream(path)) {
    const bytes = part as Buffer;
    hash.update(bytes);
    onBytes(bytes.length);
  }
  return hash.digest('hex');
}
