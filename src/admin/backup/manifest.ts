/**
 * `manifest.json` of a backup: the copied files with their sizes and digests, its position in the
 * streams, and the requirements to use it. It is written last, so that a folder without one is not
 * a backup, whatever it contains.
 */
import { createHash, hash } from 'node:crypto';
import { createReadStream, existsSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Formats, newerFormats } from '../../../actors/platform/host/formats.ts';

export const MANIFEST_FILE = 'manifest.json';
const KIND = 'svc-backup';
/** A manifest has a few kilobytes. */
const MANIFEST_BYTES_MAX = 1024 * 1024;
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

/** The text of `manifest.json`. The last field is the SHA-256 of the others, as compact JSON. */
export function manifestText(manifest: BackupManifest): string {
  const fields = { kind: KIND, format: FORMAT, ...manifest };
  return `${JSON.stringify({ ...fields, sha256: digestOfFields(fields) }, null, 2)}\n`;
}

function digestOfFields(fields: object): string {
  return hash('sha256', JSON.stringify(fields));
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
  const newer = newerFormats(manifest);
  if (newer.length > 0) {
    throw new BackupFault(
      `The backup was made by svc ${manifest.program}, which is newer than this program ` +
        `(${newer.join(', ')}). Restore it with that version or a newer one`,
    );
  }
  return manifest;
}

function parse(path: string): BackupManifest {
  const { size, isFile } = plainFile(path) ?? { size: 0, isFile: false };
  if (!isFile) throw notPlain(path);
  if (size > MANIFEST_BYTES_MAX) {
    throw new BackupFault(`${path} has ${size} bytes, so it is not the manifest of a backup`);
  }
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new BackupFault(`${path} cannot be read. Take another copy of the backup`, {
      cause: error,
    });
  }
  if (isOurs(value)) {
    if (value.format > FORMAT) {
      throw new BackupFault(
        `${path} has format ${value.format}, but this program reads up to ${FORMAT}. Restore it with ` +
          `svc ${String(value.program)} or newer`,
      );
    }
    assertUnchanged(path, value);
    if (isManifest(value)) return value;
  }
  throw new BackupFault(`${path} is not the manifest of a backup of this service`);
}

/** Older manifests have no digest. Throws `BackupFault`. */
function assertUnchanged(path: string, manifest: object): void {
  const { sha256, ...fields } = manifest as { readonly sha256?: unknown };
  if (sha256 === undefined || sha256 === digestOfFields(fields)) return;
  throw new BackupFault(
    `${path} is damaged (its SHA-256 differs). Take another copy of the backup, or an earlier one`,
  );
}

/** Size and kind of a path: a link could lead to another place, and a pipe never ends. */
function plainFile(path: string): { readonly size: number; readonly isFile: boolean } | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found && { size: found.size, isFile: found.isFile() };
}

function notPlain(path: string): BackupFault {
  return new BackupFault(
    `${path} is not a plain file. A backup has no links and no devices: copy it with "cp -a" or "rsync -a"`,
  );
}

/** Files that a backup may have. */
const KNOWN_FILES = new Set([
  ...(['control.db', 'events.db', 'samples.db', 'history.db', 'secrets.db', 'claims.db'] as const),
  'audit-export.json',
]);

interface Ours {
  readonly format: number;
  readonly program?: unknown;
}

function isOurs(value: unknown): value is Ours {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, format } = value as Record<string, unknown>;
  return kind === KIND && typeof format === 'number';
}

function isManifest(value: object): value is BackupManifest {
  const fields = value as Record<string, unknown>;
  const isPlainName = (file: unknown): boolean => {
    const { name, sha256, bytes } = (file ?? {}) as Partial<BackupFile>;
    const isSize = Number.isSafeInteger(bytes) && Number(bytes) >= 0;
    return isSize && typeof sha256 === 'string' && KNOWN_FILES.has(String(name));
  };
  return (
    typeof fields.keyId === 'string' &&
    typeof fields.commitFormat === 'number' &&
    typeof fields.machineVersions === 'object' &&
    fields.machineVersions !== null &&
    typeof fields.position === 'object' &&
    Array.isArray(fields.streams) &&
    Array.isArray(fields.files) &&
    fields.files.every(isPlainName) &&
    isSetOfFiles(fields.files as BackupFile[], fields.form)
  );
}

/** Each file once, and those without which a restored service would start anew. */
function isSetOfFiles(files: readonly BackupFile[], form: unknown): boolean {
  const names = new Set(files.map(({ name }) => name));
  const needed = form === 'embedded' ? ['control.db', 'events.db'] : ['control.db'];
  return names.size === files.length && needed.every((name) => names.has(name));
}

/** Reads every file. Throws `BackupFault` for the first one that differs from what was written. */
export async function assertUndamaged(
  folder: string,
  { files }: BackupManifest,
  onBytes: (bytes: number) => void = () => {},
): Promise<void> {
  for (const { name, bytes, sha256 } of files) {
    const path = join(folder, name);
    const { size, isFile } = plainFile(path) ?? {};
    if (isFile === false) throw notPlain(path);
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
