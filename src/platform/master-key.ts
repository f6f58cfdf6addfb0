/**
 * The master key: 32 random bytes in base64, in a file of its own. Created at first start, with a
 * warning to keep it apart from the data. For a store that has secrets it is replaced only by
 * `svc admin rekey`, which seals them again; otherwise they would be lost.
 */
import { hkdfSync } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { MASTER_KEY_BYTES } from '../../sqlite/platform/secrets/seal.ts';
import type { Random } from '../../streams/platform/random.ts';
import { writeFileDurably } from './durable-file.ts';
import type { Log } from './log.ts';
import { ConfigError } from './settings/config.ts';

export interface MasterKeyOptions {
  readonly file: string;
  /** true: the operator named the file, so a missing one is a mistake. */
  readonly mustExist: boolean;
  /** Path of the store sealed under it: if that exists, a missing key is a loss. */
  readonly storePath: string;
  readonly random: Random;
  readonly log: Log;
}

/**
 * The current key, without changing anything; undefined if it is missing and may be created. Throws
 * `ConfigError` with what to do.
 */
export function findMasterKey(
  options: Pick<MasterKeyOptions, 'file' | 'mustExist' | 'storePath'>,
): Uint8Array | undefined {
  const { file, mustExist, storePath } = options;
  if (existsSync(file)) return readMasterKey(file);
  if (mustExist) {
    throw new ConfigError([
      `SVC_MASTER_KEY_FILE ${file} does not exist: make it with "head -c 32 /dev/urandom | base64"`,
    ]);
  }
  if (!existsSync(storePath)) return undefined;
  throw new ConfigError([
    `The master key ${file} is missing, and the secrets in ${storePath} cannot be read ` +
      'without it: put it back, name it in SVC_MASTER_KEY_FILE, or move the store away to ' +
      'start without its secrets',
  ]);
}

/** The key, created if allowed. Throws `ConfigError` with what to do. */
export function loadMasterKey(options: MasterKeyOptions): Uint8Array {
  const { file, random, log } = options;
  if (findMasterKey(options) === undefined) {
    create(file, random);
    log.warn(
      { file },
      'A master key was created beside the data: keep a copy elsewhere, and for anything but a trial ' +
        'keep it outside the data folder (SVC_MASTER_KEY_FILE)',
    );
  }
  warnWhenReadable(file, log);
  return readMasterKey(file);
}

/** 32 bytes for this purpose alone, the same on every node (RFC 5869). */
export function deriveKey(masterKey: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', masterKey, '', `svc ${purpose}`, MASTER_KEY_BYTES));
}

/** A new key. @param random must be the system's generator outside tests */
export function newMasterKey(random: Random): Uint8Array {
  return random.bytes(MASTER_KEY_BYTES);
}

/**
 * Replaces the key in the file, atomically. False if the file cannot be written, because it is on a
 * read-only file system or belongs to someone else.
 */
export function replaceMasterKey(file: string, next: Uint8Array): boolean {
  if (existsSync(file) && Buffer.from(readMasterKey(file)).equals(next)) return true;
  try {
    writeFileDurably({ path: file, content: keyText(next), exclusive: false });
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (NOT_WRITABLE.includes(code)) return false;
    throw error;
  }
}

/** EBUSY: the file itself is a mount, as in a container. */
const NOT_WRITABLE = ['EROFS', 'EACCES', 'EPERM', 'EBUSY'];

function keyText(key: Uint8Array): string {
  return `${Buffer.from(key).toString('base64')}\n`;
}

function create(file: string, random: Random): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const content = keyText(newMasterKey(random));
  // Exclusive: if two first starts race, one fails instead of replacing the other's key.
  writeFileDurably({ path: file, content, exclusive: true });
}

/** The key in the file. Throws `ConfigError` if it cannot be read or is invalid. */
export function readMasterKey(file: string): Uint8Array {
  let content: string;
  try {
    content = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`The master key cannot be read: ${cause}`]);
  }
  const bytes = parseMasterKey(content);
  if (bytes === undefined) {
    throw new ConfigError([
      `The master key in ${file} must be ${MASTER_KEY_BYTES} bytes in base64: this is neither`,
    ]);
  }
  return bytes;
}

/** The key in a text; undefined if it has another form. */
export function parseMasterKey(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64');
  const isKey = bytes.length === MASTER_KEY_BYTES && /^[A-Za-z0-9+/]+=*$/.test(text);
  return isKey ? bytes : undefined;
}

function warnWhenReadable(file: string, log: Log): void {
  const others = statSync(file).mode & 0o077;
  if (others !== 0) {
    log.warn(
      { file },
      `The master key is readable by users other than its owner: run chmod 600 ${file}`,
    );
  }
}
