/** Reads a secret from the file that a setting names. */
import { readFileSync } from 'node:fs';
import { ConfigError } from './config.ts';

/**
 * The file's content without blanks and line breaks around it. Throws `ConfigError` if it is
 * unreadable or empty.
 */
export function readSecretFile(setting: string, file: string): string {
  let secret: string;
  try {
    secret = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`${setting} cannot be read: ${cause}`]);
  }
  if (secret !== '') return secret;
  throw new ConfigError([`${setting} ${file} is empty`]);
}
