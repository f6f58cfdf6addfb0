/**
 * Fields of a sign-in request: a form or JSON with known fields only, each sent once, each a text
 * or a switch, and the return path. Unknown fields are rejected, never ignored.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import { isJson } from './same-site.ts';

/** The largest body is a form with a link's token, about 200 bytes. */
const BODY_BYTES_MAX = 8 * 1024;

const TYPES = ['application/x-www-form-urlencoded', 'application/json'] as const;

/** Accepts only bodies of the two types, as text, up to `BODY_BYTES_MAX`. */
export function readSmallBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  const options = { parseAs: 'string', bodyLimit: BODY_BYTES_MAX } as const;
  scope.addContentTypeParser([...TYPES], options, (_request, body, done) => done(null, body));
}

/** The fields that were sent; `true` for a form's checkbox. Throws INVALID_FIELD. */
export function fieldsOf<N extends string>(
  request: FastifyRequest,
  known: readonly N[],
): Partial<Record<N, string | true>> {
  const body = typeof request.body === 'string' ? request.body : '';
  const entries = isJson(request.headers['content-type']) ? jsonEntries(body) : formEntries(body);
  const fields: Partial<Record<N, string | true>> = {};
  for (const [name, value] of entries) {
    const field = known.find((one) => one === name);
    if (field === undefined)
      throw invalid('', `The request has an unknown field. Allowed fields: ${known.join(', ')}`);
    if (fields[field] !== undefined) throw invalid(field, `${field} was sent more than once`);
    if (value === false) continue;
    if (value !== true && typeof value !== 'string') {
      throw invalid(field, `${field} must be text`);
    }
    fields[field] = value === 'on' ? true : value;
  }
  return fields;
}

/** The text of a required field. Throws INVALID_FIELD. */
export function textField<N extends string>(
  fields: Partial<Record<N, string | true>>,
  name: N,
): string {
  const value = fields[name];
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  throw invalid(name, `${name} is missing`);
}

function formEntries(body: string): [string, unknown][] {
  return [...new URLSearchParams(body)];
}

function jsonEntries(body: string): [string, unknown][] {
  if (body === '') return [];
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    // The parser's message would quote the body, which may hold a secret.
    throw invalid('', 'The body is not JSON');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw invalid('', 'The body is not a JSON object');
  }
  return Object.entries(parsed);
}

function invalid(field: string, message: string): Refusal {
  return new Refusal('INVALID_FIELD', message, field === '' ? {} : { field });
}

const PATH_CHARS_MAX = 1024;

/** Printable ASCII after one slash, because `//` and `/\` begin an address. */
const LOCAL = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;

/** Default return path: the dashboard. */
export const START_PATH = '/';

/**
 * The path to return to after a sign-in, by default the start page. It must be local: a path that
 * can become another address makes a sign-in page an open redirect (CWE-601). Throws INVALID_FIELD.
 */
export function validateReturnPath(given: unknown): string {
  if (given === undefined || given === '') return START_PATH;
  if (typeof given === 'string' && isReturnPath(given)) return given;
  const message = 'return must be a path of this service that begins with exactly one slash';
  throw invalidField('return', message);
}

export function isReturnPath(text: string): boolean {
  return text.length <= PATH_CHARS_MAX && LOCAL.test(text);
}

/** The address of a page with a return path, such as `/auth/sign-in?return=%2Fprojects`. */
export function withReturn(path: string, returnPath: string): string {
  return returnPath === START_PATH
    ? path
    : `${path}?${new URLSearchParams({ return: returnPath })}`;
}

/** Path of the page that asks a signed-in person to sign in again. */
export function signInAgainPath(returnPath: string): string {
  return `/auth/sign-in?${new URLSearchParams({ again: '1', return: returnPath })}`;
}

/** True for a switch in a query, such as `again=1`. */
export function isSet(value: unknown): boolean {
  return value === '1';
}

/**
 * The whole address for a Location header. Browsers resolve a mere path again, so `/.//host` would
 * become another address.
 */
export function locationOf(origin: string, path: string): string {
  return new URL(path, origin).href;
}
