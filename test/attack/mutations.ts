/**
 * Mutations of a valid request, from a seed: values, structure and types of its JSON, bytes of its
 * body, its encoding, headers, method and path. Most requests get a single mutation, so that they
 * pass the first check and reach the next.
 */
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { Dice } from '../simulation/dice.ts';
import { mutatedHeaders } from './header-mutations.ts';
import { type Json, type JsonObject, withValue } from './requests.ts';
import type { Header, WireRequest } from './wire.ts';

/** A request before it is serialized: kept as JSON until its bytes are mutated. */
export interface Draft {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly Header[];
  readonly json?: Json;
  readonly body?: Buffer;
  /** Set if its first line, headers or framing may end the connection. */
  readonly isRaw?: boolean;
}

export function mutated(draft: Draft, dice: Dice): Draft {
  const times = dice.pick([0, 1, 1, 1, 1, 1, 2, 2, 3]);
  let result = draft;
  for (let i = 0; i < times; i++) result = mutateOnce(result, dice);
  return result;
}

function mutateOnce(draft: Draft, dice: Dice): Draft {
  const roll = dice.roll();
  if (draft.json !== undefined && roll < 0.6)
    return { ...draft, json: mutatedJson(draft.json, dice) };
  if (roll < 0.72) return mutatedBytes(draft, dice);
  if (roll < 0.78) return mutatedEncoding(draft, dice);
  if (roll < 0.9) return mutatedHeaders(draft, dice);
  return mutatedLine(draft, dice);
}

/** The serialized request. */
export function written({ method, path, headers, json, body }: Draft): WireRequest {
  const content = body ?? (json === undefined ? undefined : Buffer.from(JSON.stringify(json)));
  return { method, path, headers, ...(content !== undefined && { body: content }) };
}

const LONG = 'A'.repeat(5_000);
const TEXTS: readonly string[] = [
  '',
  ' ',
  '\u0000',
  '\n',
  '\r\n',
  '\t',
  '\u202e',
  '\ufeff',
  '\ud800',
  'ß',
  'ﬁ',
  '𝒳',
  '👩‍👩‍👧‍👦',
  '\u0301',
  'null',
  'undefined',
  'NaN',
  '-0',
  '1e309',
  '0x10',
  '9223372036854775808',
  '-1',
  '00',
  '1_000',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '../../etc/passwd',
  '%00',
  '%2e%2e',
  '$' + '{7*7}',
  "' OR 1=1 --",
  '"; DROP TABLE x;--',
  '<script>alert(1)</script>',
  '{{7*7}}',
  '$(id)',
  '`id`',
  '\\',
  '\\u0000',
  'projects/',
  'projects//',
  'projects/acme',
  'projects/acme/',
  'projects/acme/vms/',
  'projects/*',
  'people/x',
  '2026-01-01T00:00:00Z',
  'https://[::1]/',
  'http://127.0.0.1:1/',
  'file:///etc/passwd',
  'javascript:1',
  LONG,
];
const NUMBERS: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.5,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 32,
  2 ** 53,
  2 ** 63,
  2 ** 64,
  1e-320,
  1.7976931348623157e308,
  -1e308,
  90,
  3600,
  86_400,
  86_401,
  31_536_000,
  31_536_001,
  1000,
  1001,
];

function someJson(dice: Dice, depth = 0): Json {
  const roll = dice.below(depth > 2 ? 6 : 9);
  if (roll < 3) return dice.pick(TEXTS);
  if (roll < 5) return dice.pick(NUMBERS);
  if (roll === 5) return dice.pick([null, true, false]);
  if (roll === 6) return String(dice.pick(NUMBERS));
  if (roll === 7) return Array.from({ length: dice.below(4) }, () => someJson(dice, depth + 1));
  return Object.fromEntries(
    Array.from({ length: dice.below(4) }, () => [dice.pick(TEXTS), someJson(dice, depth + 1)]),
  );
}

/** Every path in a document, the root first. */
function placesOf(
  json: Json,
  path: readonly (string | number)[] = [],
): (readonly (string | number)[])[] {
  const inner = Array.isArray(json)
    ? json.flatMap((each, i) => placesOf(each, [...path, i]))
    : typeof json === 'object' && json !== null
      ? Object.entries(json).flatMap(([name, each]) => placesOf(each, [...path, name]))
      : [];
  return [path, ...inner];
}

function mutatedJson(json: Json, dice: Dice): Json {
  const path = dice.pick(placesOf(json));
  const at = path.reduce<Json>(
    (found, part) => (found as JsonObject)?.[part as string] ?? null,
    json,
  );
  const roll = dice.below(12);
  if (path.length === 0 && roll > 2)
    return { ...(at as JsonObject), [dice.pick(TEXTS)]: someJson(dice) };
  if (roll < 5) return withValue(json, path, someJson(dice));
  if (roll < 7) return withValue(json, path, undefined);
  if (roll === 7) return withValue(json, path, [at, at, at]);
  if (roll === 8) return withValue(json, path, { value: at });
  if (roll === 9 && typeof at === 'string') return withValue(json, path, spoilt(at, dice));
  if (roll === 10 && typeof at === 'number') return withValue(json, path, String(at));
  if (roll === 11 && Array.isArray(at))
    return withValue(
      json,
      path,
      Array.from({ length: 400 }, () => at[0] ?? null),
    );
  return withValue(json, path, dice.pick(TEXTS));
}

/** The text with one letter inserted, removed or replaced. */
export function spoilt(text: string, dice: Dice): string {
  const at = dice.below(text.length + 1);
  const letter = dice.pick([...'aZ0/._-%{}[]()"\'\\ \n=~!*+@:,', '\u0000', 'é', '／', '\u202e']);
  const cut = dice.below(3);
  return text.slice(0, at) + (cut < 2 ? letter : '') + text.slice(at + (cut > 0 ? 1 : 0));
}

function bodyOf({ json, body }: Draft): Buffer {
  return body ?? Buffer.from(json === undefined ? '' : JSON.stringify(json));
}

function mutatedBytes(draft: Draft, dice: Dice): Draft {
  const body = Buffer.from(bodyOf(draft));
  const { json: _, ...rest } = draft;
  const at = dice.below(body.length + 1);
  switch (dice.below(8)) {
    case 0:
      for (let i = 0; i < 1 + dice.below(4); i++)
        if (body.length > 0) body[dice.below(body.length)] = dice.below(256);
      return { ...rest, body };
    case 1:
      return { ...rest, body: body.subarray(0, at) };
    case 2:
      return {
        ...rest,
        body: Buffer.concat([
          body.subarray(0, at),
          Buffer.from(dice.bytes(1 + dice.below(9))),
          body.subarray(at),
        ]),
      };
    case 3:
      return { ...rest, body: Buffer.concat([body, body]) };
    case 4:
      return { ...rest, body: Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]) };
    case 5:
      return { ...rest, body: Buffer.from(body.toString('utf8'), 'utf16le') };
    case 6:
      // A duplicated field: which of the two counts, and do all parsers agree?
      return {
        ...rest,
        body: Buffer.from(body.toString('utf8').replace(/("(\w+)":("[^"]*"|\d+))/, '$1,$1')),
      };
    default:
      return { ...rest, body: Buffer.from('['.repeat(1 + dice.below(2_000))) };
  }
}

const PACK = [
  ...([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const),
] as const;

function mutatedEncoding(draft: Draft, dice: Dice): Draft {
  const { json: _, ...rest } = draft;
  const [name, pack] = dice.pick(PACK);
  const packed = pack(bodyOf(draft));
  const body = dice.pick([
    packed,
    packed,
    packed.subarray(0, dice.below(packed.length)),
    bodyOf(draft),
    Buffer.from(dice.bytes(20)),
  ]);
  const said = dice.pick([
    name,
    name,
    name,
    name.toUpperCase(),
    `${name}, ${name}`,
    'identity',
    'x-gzip',
    'compress',
  ]);
  return { ...rest, body, headers: [...draft.headers, ['content-encoding', said]] };
}

const METHODS = [
  'GET',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'HEAD',
  'TRACE',
  'PROPFIND',
  'post',
  'QUERY',
];

function mutatedLine(draft: Draft, dice: Dice): Draft {
  const { path } = draft;
  const [before = '', query] = path.split('?', 2);
  switch (dice.below(9)) {
    case 0:
    case 1:
      return { ...draft, method: dice.pick(METHODS), isRaw: true };
    case 2:
      return {
        ...draft,
        path: `${path}${path.includes('?') ? '&' : '?'}${dice.pick(['a=1', 'query=1', 'limit=-1', 'time=NaN', '%zz', '&&', 'match[]=', 'x[]=1&x[y]=2', 'step=0', 'timeout=1ms', 'shard=9'])}`,
      };
    case 3:
      return {
        ...draft,
        path: `${before}${dice.pick(['/', '/.', '/..', '//', '%2f', '%00', '%', '%zz', ';x', '/../..', '%c0%af'])}${query ? `?${query}` : ''}`,
      };
    case 4:
      return { ...draft, path: before.toUpperCase() + (query ? `?${query}` : '') };
    case 5:
      return {
        ...draft,
        path: spoilt(before, dice).replaceAll(/[^!-~]/g, '') + (query ? `?${query}` : ''),
        isRaw: true,
      };
    case 6:
      return {
        ...draft,
        path:
          query === undefined
            ? `${before}?${encodeURIComponent(dice.pick(TEXTS).slice(0, 500).toWellFormed())}`
            : `${before}?${spoilt(query, dice).replaceAll(/[^!-~]/g, '')}`,
        isRaw: true,
      };
    case 7:
      return { ...draft, path: `http://other.example${path}`, isRaw: true };
    default:
      return {
        ...draft,
        path: `${path}${path.includes('?') ? '&' : '?'}x=${'y'.repeat(dice.pick([10, 2_000, 20_000]))}`,
      };
  }
}
