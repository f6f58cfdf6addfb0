/**
 * The fields of a small request, sent as a form or as JSON: each once, each text or a switch, none
 * that is not known. What is not understood is refused, never skipped.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { isJson } from './same-site.ts';

/** The largest is a form with a link's token: some 200 bytes. */
const BODY_BYTES_MAX = 8 * 1024;

const TYPES = ['application/x-www-form-urlencoded', 'application/json'] as const;

/** Takes bodies as text, of the two types alone, at most `BODY_BYTES_MAX`. */
export function readSmallBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  const options = { parseAs: 'string', bodyLimit: BODY_BYTES_MAX } as const;
  scope.addContentTypeParser([...TYPES], options, (_request, body, done) => done(null, body));
}

/** The known fields that were sent; of a form's checkbox `true`. Throws INVALID_FIELD. */
export function fieldsOf<N extends string>(
  request: FastifyRequest,
  known: readonly N[],
): Partial<Record<N, string | true>> {
  const body = typeof request.body === 'string' ? request.body : '';
  const entries = isJson(request.headers['content-type']) ? jsonEntries(body) : formEntries(body);
  const fields: Partial<Record<N, string | true>> = {};
  for (const [name, value] of entries) {
    const field = known.find((one) => one === name);
    if (field === undefined) throw invalid('', `A field is not one of ${known.join(', ')}`);
    if (fields[field] !== undefined) throw invalid(field, `${field} was sent more than once`);
    if (value === false) continue;
    if (value !== true && typeof value !== 'string') {
      throw invalid(field, `${field} must be text`);
    }
    fields[field] = value === 'on' ? true : value;
  }
  return fields;
}

/** The text of a field that must be there. Throws INVALID_FIELD. */
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
    // The parser's message would repeat a part of the body, which may be a secret.
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
