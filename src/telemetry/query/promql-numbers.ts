/**
 * Numbers as Prometheus's HTTP API writes them: values as strings, since JSON has no NaN, times as
 * seconds. JavaScript and Go both write the shortest decimal that reads back as the same double,
 * and change to exponents at the same magnitudes; what differs is put right here.
 */

/** From here down to 0, and from 1e21 up, both languages write an exponent. */
const EXPONENT_BELOW = 1e-6;
const EXPONENT_FROM = 1e21;

/** `1.5`, `NaN`, `+Inf`, `-0`, `1e-07`: a value in a vector or a matrix. */
export function valueText(value: number): string {
  // The common case first: this runs for each point of an answer.
  if (value >= EXPONENT_BELOW && value < EXPONENT_FROM) return `${value}`;
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  if (!Number.isFinite(value)) return nonFiniteText(value);
  return `${value}`.replace(ONE_DIGIT_EXPONENT, '$10$2');
}

const ONE_DIGIT_EXPONENT = /(e[+-])(\d)$/;

/** A scalar: as `valueText`, but never with an exponent. */
export function scalarText(value: number): string {
  if (!Number.isFinite(value)) return nonFiniteText(value);
  if (Object.is(value, -0)) return '-0';
  const [digits = '', exponent] = `${value}`.split('e');
  return exponent === undefined ? digits : shifted(digits, Number(exponent));
}

/** Go prints all infinities with their sign. */
function nonFiniteText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}

/** `-1.25` with its point moved: `shifted('-1.25', 3)` is `-1250`. */
function shifted(digits: string, by: number): string {
  const sign = digits.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = digits.slice(sign.length).split('.');
  if (by < 0) return `${sign}0.${'0'.repeat(-by - 1)}${whole}${fraction}`;
  return `${sign}${whole}${fraction.padEnd(by, '0')}`;
}

/** Unix ms as seconds with as many decimals as needed, three at most. Needs whole ms. */
export function secondsText(timeMs: number): string {
  return `${timeMs / 1000}`;
}
