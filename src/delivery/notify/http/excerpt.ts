/**
 * The beginning of an endpoint's answer, redacted for people to read. An endpoint may echo the
 * request, so the URL's path and query (for chats they are the password) and the signing secrets
 * are removed first, then everything that looks like a credential.
 */
import { scrubSecrets } from '../../../platform/log.ts';
import { requestTarget } from './request-target.ts';

export const EXCERPT_BYTES_MAX = 4 * 1024;

/** Secrets the excerpt must not show. */
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

/** Redacted text of at most 4 KiB. `isCut`: the answer was longer than these bytes. */
export function excerptOf(answer: Uint8Array, redactions: Redactions, isCut: boolean): string {
  const text = redact(Buffer.from(answer).toString('utf8'), redactions);
  const kept = cutBytes(text, EXCERPT_BYTES_MAX);
  // At the cut a secret may have lost its end, so that no pattern recognizes it.
  return isCut && kept.length === text.length ? withoutLastWord(kept) : kept;
}

/** The longest prefix of a text that is at most `max` bytes of UTF-8. */
export function cutBytes(text: string, max: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= max) return text.toWellFormed();
  let end = max;
  // A byte 10xxxxxx continues a code point that began before it.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

/** Longer words are cut in the middle: no secret is that long. */
const LAST_WORD_CHARS_MAX = 2_048;

function withoutLastWord(text: string): string {
  const endMin = Math.max(0, text.length - LAST_WORD_CHARS_MAX);
  let end = text.length;
  while (end > endMin && /\S/.test(text.charAt(end - 1))) end--;
  return end === text.length ? text : `${text.slice(0, end)}…`;
}

/** The text without secrets and without invisible characters. Never throws. */
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

/** True for a long run of letters and digits that nobody types and that is not a UUID. */
function isOpaque(word: string): boolean {
  const isMixed = /\d/.test(word) && /[a-z]/i.test(word);
  return word.length >= OPAQUE_CHARS_MIN && isMixed && !UUID.test(word);
}

/**
 * Replaces every occurrence of each part, ignoring case. Searches by index, not by a pattern built
 * from the parts: the error of a pattern that does not compile quotes it in full.
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

/** Folds ASCII only, so that every character keeps its index. */
function foldCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Path and query of a URL, whole and in parts; the whole text when it is not a URL. */
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

/** The forms in which an answer may contain the part: as it is, encoded, decoded, JSON, HTML. */
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
    // A stray % is not an encoding.
    return part;
  }
}
