/**
 * Makes a folder with its parents, and names the real fault. Node's recursive `mkdir` reports ENOENT
 * for a read-only file system and for a full one (nodejs/node#47098), which no remedy fits.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Returns the first folder that was made; undefined if all existed. Throws the error of `mkdir`,
 * such as EROFS, ENOSPC or EACCES. @param mode of made folders
 */
export function makeFolder(path: string, mode?: number): string | undefined {
  const options = mode === undefined ? {} : { mode };
  try {
    return mkdirSync(path, { ...options, recursive: true });
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error;
    const missing = firstMissing(resolve(path));
    // Not recursive, so its error is the system's own.
    mkdirSync(missing, options);
    mkdirSync(path, { ...options, recursive: true });
    return missing;
  }
}

/** The uppermost folder of a path that does not exist. */
function firstMissing(path: string): string {
  const parent = dirname(path);
  return parent === path || existsSync(parent) ? path : firstMissing(parent);
}
