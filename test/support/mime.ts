/**
 * Reads a mail as a client does (RFC 2045, 2046, 2047), for tests of composed mails. Shares no code
 * with the composer.
 */

export class MimePart {
  /** By lower-case name, unfolded, encoded words decoded. */
  readonly headers: ReadonlyMap<string, string>;
  readonly parts: readonly MimePart[];
  readonly #body: string;

  constructor(source: string) {
    const end = source.indexOf('\n\n');
    const head = end < 0 ? source : source.slice(0, end);
    this.#body = end < 0 ? '' : source.slice(end + 2);
    const lines = head.replaceAll(/\n[ \t]+/g, ' ').split('\n');
    this.headers = new Map(lines.map(headerOf));
    const boundary = /boundary="?([^";]+)"?/.exec(this.headers.get('content-type') ?? '')?.[1];
    this.parts = boundary === undefined ? [] : partsOf(this.#body, boundary);
  }

  get type(): string {
    return /^[^;]*/.exec(this.headers.get('content-type') ?? 'text/plain')?.[0].trim() ?? '';
  }

  /** Types of this part and of the parts in it, in the order of the mail. */
  types(): string[] {
    return [this.type, ...this.parts.flatMap((part) => part.types())];
  }

  find(type: string): MimePart | undefined {
    if (this.type === type) return this;
    return this.parts.map((part) => part.find(type)).find((part) => part !== undefined);
  }

  /** Content after decoding its transfer encoding. */
  bytes(): Buffer {
    const encoding = this.headers.get('content-transfer-encoding')?.toLowerCase();
    if (encoding === 'base64') return Buffer.from(this.#body, 'base64');
    if (encoding === 'quoted-printable') return quotedPrintable(this.#body.replaceAll('=\n', ''));
    return Buffer.from(this.#body, 'utf8');
  }

  text(): string {
    return this.bytes().toString('utf8');
  }
}

/** Parses a mail whose lines end in `\n`. */
export function parseMail(source: string): MimePart {
  return new MimePart(source);
}

function headerOf(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), decodeWords(line.slice(colon + 1).trim())];
}

function partsOf(body: string, boundary: string): MimePart[] {
  const [, ...pieces] = `\n${body}`.split(`\n--${boundary}`);
  return pieces
    .filter((piece) => !piece.startsWith('--'))
    .map((piece) => new MimePart(piece.slice(1)));
}

/** `=?UTF-8?Q?Gr=C3=B6=C3=9Fe?=`; white space between two such words is not part of the text. */
function decodeWords(value: string): string {
  const WORD = /=\?utf-8\?([bq])\?([^?]*)\?=/gi;
  return value
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(WORD, (_, kind: string, word: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(word, 'base64').toString('utf8')
        : quotedPrintable(word.replaceAll('_', ' ')).toString('utf8'),
    );
}

function quotedPrintable(text: string): Buffer {
  const bytes: Buffer[] = [];
  for (const [piece] of text.matchAll(/=[0-9A-F]{2}|[^=]+|=/g)) {
    const isByte = piece.length === 3 && piece.startsWith('=');
    bytes.push(isByte ? Buffer.from(piece.slice(1), 'hex') : Buffer.from(piece, 'utf8'));
  }
  return Buffer.concat(bytes);
}
