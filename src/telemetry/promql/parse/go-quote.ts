/** Text in quotes as Go's `%q` writes it, which Prometheus's messages and printer use throughout. */

const NAMED: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
};
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** `quote` is escaped within: `"` for strings, `'` for a single character. */
export function goQuote(text: string, quote: '"' | "'" = '"'): string {
  let quoted = quote;
  for (const character of text) quoted += escaped(character, quote);
  return quoted + quote;
}

/** A character as Go's `%#U` writes it: `U+0071 'q'`. */
export function goCodePoint(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return PRINTABLE.test(character) ? `U+${code} '${character}'` : `U+${code}`;
}

function escaped(character: string, quote: string): string {
  if (character === quote) return `\\${quote}`;
  const named = NAMED[character];
  if (named !== undefined) return named;
  if (PRINTABLE.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  // A byte that is no text (`stringOf`).
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${hex(code & 0xff, 2)}`;
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, width: number): string {
  return code.toString(16).padStart(width, '0');
}
