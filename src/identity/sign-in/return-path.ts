/**
 * Where to go after a sign-in. Only to this service: a path that another address can be made of is
 * how a sign-in page is used to send people away (CWE-601).
 */
import { Refusal } from '../../../streams/platform/refusal.ts';

const PATH_CHARS_MAX = 1024;

/** Printable ASCII after one slash; `//` and `/\` begin an address. */
const LOCAL = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;

/** Where those go who did not say. */
export const SIGNED_IN_PATH = '/auth/signed-in';

/** The path, if it is a local one; undefined = not said. Throws INVALID_FIELD. */
export function validateReturnPath(given: unknown): string {
  if (given === undefined || given === '') return SIGNED_IN_PATH;
  if (typeof given === 'string' && given.length <= PATH_CHARS_MAX && LOCAL.test(given)) {
    return given;
  }
  const message = 'return must be a path of this service that begins with one slash';
  throw new Refusal('INVALID_FIELD', message, { field: 'return' });
}

/**
 * The whole address for a Location header: a path alone would be read anew by the browser, and
 * `/.//host` is one that becomes an address when it is.
 */
export function locationOf(origin: string, path: string): string {
  return new URL(path, origin).href;
}
