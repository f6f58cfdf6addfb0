/** Searches for leaked secrets: in text, in files as raw bytes, and in the usual encodings. */
import { Buffer } from 'node:buffer';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Shorter parts of a secret could occur by chance. */
const LENGTH_MIN = 12;

/**
 * Possible forms of a secret: the bytes themselves, hex in both cases, base64 at each of its three
 * offsets, and URL-encoded. Throws if the secret is too short to rule out a chance match.
 */
export function formsOf(secret: string | Uint8Array): readonly Buffer[] {
  const bytes = Buffer.from(secret);
  if (bytes.length < LENGTH_MIN)
    throw new Error(`A secret of ${bytes.length} bytes is too short to search for`);
  const hex = bytes.toString('hex');
  const texts = [hex, hex.toUpperCase(), encodeURIComponent(bytes.toString('latin1'))];
  for (const before of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes]);
    // The ends depend on the bytes around the secret; the middle does not.
    const middle = (encoding: 'base64' | 'base64url') => shifted.toString(encoding).slice(4, -4);
    texts.push(middle('base64'), middle('base64url'));
  }
  return [bytes, ...texts.map((text) => Buffer.from(text))];
}

/** All files below a folder, with their content. */
export function filesBelow(folder: string): readonly { path: string; bytes: Buffer }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path, bytes: readFileSync(path) }));
}

/** Names of the secrets that occur in `bytes` in any form. */
export function secretsIn(
  bytes: Buffer,
  secrets: ReadonlyMap<string, readonly Buffer[]>,
): readonly string[] {
  return [...secrets]
    .filter(([, forms]) => forms.some((form) => bytes.includes(form)))
    .map(([name]) => name);
}
