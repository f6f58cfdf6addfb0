/**
 * The session of a signed-in person, in `$XDG_CONFIG_HOME/svc/session.json` (or `~/.config`):
 * folder 0700, file 0600, written atomically. A file that others could have read or created is
 * rejected, as ssh rejects such a key.
 */
import { chmodSync, lstatSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../../sqlite/platform/make-folder.ts';
import { writeFileDurably } from '../../platform/durable-file.ts';
import type { Surroundings } from '../command.ts';
import { Fault } from './faults.ts';

export interface StoredSession {
  /** Origin of the service that issued the session; sent back as `Origin`. */
  readonly endpoint: string;
  readonly cookieName: string;
  /** The session secret: anyone who reads it can act as this person until it ends. */
  readonly secret: string;
  readonly expiresUnix: number;
  /** `people/<id>`. */
  readonly person: string;
}

/** Path of the session file. */
export function sessionPath(environment: Surroundings['environment'], homeFolder: string): string {
  const given = environment.XDG_CONFIG_HOME;
  // The base directory specification requires ignoring a relative path.
  const base = given?.startsWith('/') ? given : join(homeFolder, '.config');
  return join(base, 'svc', 'session.json');
}

/** The stored session; undefined if absent. Throws `Fault` if it must not be used. */
export function readSession(path: string): StoredSession | undefined {
  const problem = protectionProblem(path);
  if (problem === 'missing') return undefined;
  if (problem !== undefined) {
    throw new Fault(`The session in ${path} cannot be used: ${problem}`, {
      hint: `Sign in again: rm ${path}; svc login`,
    });
  }
  const parsed = parse(readFileSync(path, 'utf8'));
  if (parsed) return parsed;
  throw new Fault(`${path} is not a valid session file`, {
    hint: `Sign in again: rm ${path}; svc login`,
  });
}

/** Durable when it returns. Throws the errors of the file system. */
export function writeSession(path: string, session: StoredSession): void {
  makeFolder(dirname(path), 0o700);
  // The folder may have existed before, with a mode from its creator's umask.
  chmodSync(dirname(path), 0o700);
  const content = `${JSON.stringify(session, null, 2)}\n`;
  writeFileDurably({ path, content, exclusive: false });
}

/** Does nothing if there is none. */
export function removeSession(path: string): void {
  rmSync(path, { force: true });
}

function protectionProblem(path: string): string | undefined {
  const file = lstatSync(path, { throwIfNoEntry: false });
  if (!file) return 'missing';
  const folder = lstatSync(dirname(path));
  if (!file.isFile()) return 'it is not a regular file';
  if (file.mode & 0o077) return `other users can read it (mode ${octal(file.mode)}, not 0600)`;
  if (folder.mode & 0o022)
    return `other users can write to its folder (mode ${octal(folder.mode)})`;
  const user = process.getuid?.();
  if (user !== undefined && file.uid !== user) return 'it belongs to another user';
  return undefined;
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

function parse(text: string): StoredSession | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { endpoint, cookieName, secret, expiresUnix, person } = value as Record<string, unknown>;
  if (typeof endpoint !== 'string' || typeof cookieName !== 'string') return undefined;
  if (typeof secret !== 'string' || typeof person !== 'string') return undefined;
  return { endpoint, cookieName, secret, expiresUnix: Number(expiresUnix), person };
}
