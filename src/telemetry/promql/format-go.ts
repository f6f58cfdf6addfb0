/** Numbers and texts as they stand in Prometheus's messages, which clients compare. */
import { goQuote } from './parse/go-quote.ts';

export { goQuote as quoteGo };

/** Characters of a text that a message shows: more than any real label needs. */
export const SHOWN_TEXT_MAX = 256;

/** Quoted; what is too long for a message ends in `...` behind the quote. */
export function quoteGoCut(text: string): string {
  if (text.length <= SHOWN_TEXT_MAX) return goQuote(text);
  // A surrogate pair cut in two is no character.
  return `${goQuote(text.slice(0, SHOWN_TEXT_MAX).replace(/[\uD800-\uDBFF]$/, ''))}...`;
}

/** `%g`: the shortest digits that tell the number; an exponent from 1e+06 up and below 0.0001. */
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
