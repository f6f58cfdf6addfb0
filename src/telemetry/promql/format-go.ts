/** Numbers and texts in the format of Prometheus's messages, which clients compare. */

/** Maximum number of characters of a text in a message: more than any real label needs. */
export const SHOWN_TEXT_MAX = 256;

/** The text in quotes; a text that is too long ends in `...` after the quote. */
export function goQuoteCut(text: string): string {
  if (text.length <= SHOWN_TEXT_MAX) return goQuote(text);
  // Drops half of a surrogate pair.
  return `${goQuote(text.slice(0, SHOWN_TEXT_MAX).replace(/[\uD800-\uDBFF]$/, ''))}...`;
}

/** `%g`: the shortest digits that identify the number; an exponent from 1e+06 up and below 0.0001. */
export function formatGo(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return plainDecimal(digits, power);
  const sign = power < 0 ? '-' : '+';
  return `${digits}e${sign}${String(Math.abs(power)).padStart(2, '0')}`;
}

function plainDecimal(mantissa: string, power: number): string {
  const sign = mantissa.startsWith('-') ? '-' : '';
  const digits = mantissa.replace(/[-.]/g, '');
  if (power < 0) return `${sign}0.${'0'.repeat(-power - 1)}${digits}`;
  const whole = digits.slice(0, power + 1).padEnd(power + 1, '0');
  const fraction = digits.slice(power + 1);
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}

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

/** Escapes `quote` in the text: `"` for strings, `'` for a single character. */
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
  // A byte that is not UTF-8 (`stringOf`).
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${hex(code & 0xff, 2)}`;
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, width: number): string {
  return code.toString(16).padStart(width, '0');
}
