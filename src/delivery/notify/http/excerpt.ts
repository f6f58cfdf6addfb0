/**
 * What of an answer is kept for people to read: its beginning, without the things that open a door.
 * An endpoint may echo the request, so the address's path and query (in chats they are the
 * password) and the signing secrets go first, then whatever looks like somebody's credential.
 */
import { scrubSecrets } from '../../../platform/log.ts';
import { cutBytes } from '../cut.ts';
import { requestTarget } from './request-target.ts';

export const EXCERPT_BYTES_MAX = 4 * 1024;

/** What the answer must not show. */
export interface Redactions {
  readonly url?: string;
  readonly secrets?: readonly string[];
}

const REDACTED = '[redacted]';
/** A shorter part of a URL is a word like `api`, not a secret. */
const PATH_PART_CHARS_MIN = 8;
const WHOLE_PATH_CHARS_MIN = 4;
/** As long as the shortest keys in use: 128 bits in hexadecimal. */
const OPAQUE_CHARS_MIN = 32;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Redacted text of at most 4 KiB. `isCut`: the answer went on after these bytes. */
export function excerptOf(answer: Uint8Array, redactions: Redactions, isCut: boolean): string {
  const text = redact(Buffer.from(answer).toString('utf8'), redactions);
  const kept = cutBytes(text, EXCERPT_BYTES_MAX);
  // Where the reading stopped a secret may have lost its end, and with it what tells it.
  return isCut && kept.length === text.length ? withoutLastWord(kept) : kept;
}

/** Longer ones are cut in their middle: no secret is that long. */
const LAST_WORD_CHARS_MAX = 2_048;

function withoutLastWord(text: string): string {
  const endMin = Math.max(0, text.length - LAST_WORD_CHARS_MAX);
  let end = text.length;
  while (end > endMin && /\S/.test(text.charAt(end - 1))) end--;
  return end === text.length ? text : `${text.slice(0, end)}…`;
}

/** The text without secrets, and without characters that draw nothing. Never throws. */
export function redact(text: string, { url, secrets = [] }: Redactions): string {
  const known = [
    ...(url === undefined ? [] : secretParts(url)),
    ...secrets.flatMap((secret) => [secret, secret.slice(6)]),
  ].flatMap(spellings);
  const printable = text.replaceAll(/[^\P{C}\n\t]/gu, ' ');
  const withoutKnown = without(printable, known);
  return scrubSecrets(withoutKnown)
    .replaceAll(/\b(Basic\s{1,4})[^\s"'\\,]{6,}/gi, `$1${REDACTED}`)
    .replaceAll(
      /((?:token|secret|password|api[_-]?key|signature|\bsig)["']?\s{0,4}[:=]\s{0,4}["']?)[^\s"'\\,;&<]{4,}/gi,
      `$1${REDACTED}`,
    )
    .replaceAll(/[\w+=-]+/g, (word) => (isOpaque(word) ? REDACTED : word));
}

/** A long run of letters and digits that no person would write, other than the id of something. */
function isOpaque(word: string): boolean {
  const isMixed = /\d/.test(word) && /[a-z]/i.test(word);
  return word.length >= OPAQUE_CHARS_MIN && isMixed && !UUID.test(word);
}

/**
 * Leaves out each place of each part, in capitals or not. No pattern is made of them: one that
 * cannot be compiled is told in full by its error.
 */
function without(text: string, parts: readonly string[]): string {
  const folded = foldCase(text);
  const isSecret = new Uint8Array(text.length);
  for (const part of new Set(parts.map(foldCase))) {
    if (part === '') continue;
    for (let at = folded.indexOf(part); at >= 0; at = folded.indexOf(part, at + part.length)) {
      isSecret.fill(1, at, at + part.length);
    }
  }
  let kept = '';
  for (let from = 0; from < text.length; ) {
    const start = isSecret.indexOf(1, from);
    if (start < 0) return kept + text.slice(from);
    kept += text.slice(from, start) + REDACTED;
    const end = isSecret.indexOf(0, start);
    from = end < 0 ? text.length : end;
  }
  return kept;
}

/** Of ASCII alone, so that each character stays where it is. */
function foldCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Path and query of an address, whole and in parts; all of what is no address. */
function secretParts(text: string): string[] {
  if (!URL.canParse(text)) return [text];
  const target = requestTarget(text);
  const { pathname, search, searchParams } = new URL(text);
  const [path = ''] = target.split('?', 1);
  const pieces = [...path.split('/'), ...search.slice(1).split(/[&=]/), ...searchParams.values()];
  return [
    ...[target, path, pathname].filter((part) => part.length >= WHOLE_PATH_CHARS_MIN),
    ...pieces.filter((piece) => piece.length >= PATH_PART_CHARS_MIN),
  ];
}

/** As an answer may spell it: as it is, encoded, decoded, in JSON, in HTML. */
function spellings(part: string): string[] {
  return [
    part,
    decoded(part),
    encodeURIComponent(part.toWellFormed()),
    JSON.stringify(part).slice(1, -1),
    part.replaceAll('/', '\\/'),
    part.replaceAll('&', '&amp;'),
  ];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A stray % is no encoding: the text stands for itself.
    return part;
  }
}
