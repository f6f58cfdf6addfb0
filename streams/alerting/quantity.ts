/**
 * Quantities with their units: readings with six significant digits, thresholds as they were typed,
 * and a reading beside its threshold, which never looks like the threshold if it differs.
 */

const DIGITS = 6;
/** Digits that distinguish any two numbers (IEEE 754 doubles). */
const DIGITS_MAX = 17;

const BINARY_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;
const DECIMAL_UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** A unit of one kind, such as MiB, and its size in the metric's unit. */
interface Scale {
  readonly size: number;
  /** Follows the number. */
  readonly suffix: string;
}

const BINARY: readonly Scale[] = BINARY_UNITS.map((suffix, i) => ({ size: 1024 ** i, suffix }));
const DECIMAL: readonly Scale[] = DECIMAL_UNITS.map((suffix, i) => ({ size: 1000 ** i, suffix }));

/** A value with its unit, with six significant digits. */
export function quantity(value: number, unit: string): string {
  const scale = scaleOf(value, unit, BINARY);
  return withUnit(rounded(value / scale.size, DIGITS), unit, scale);
}

/**
 * A threshold as it was typed: without rounding, and in the unit that needs the fewest digits. So
 * 2147483648 is `2 GiB`, and 2000000000 is `2 GB`.
 */
export function exactQuantity(value: number, unit: string): string {
  const scale = exactScaleOf(value, unit);
  return withUnit(value / scale.size, unit, scale);
}

/**
 * A reading beside its threshold, in the threshold's unit. If the two differ, the reading has as
 * many digits as it needs to be on its own side of the threshold.
 */
export function readingBeside(value: number, threshold: number, unit: string): string {
  const exact = exactScaleOf(threshold, unit);
  const isNear = exact.size <= Math.abs(value) && Math.abs(value) < exact.size * 1_000_000;
  const family = DECIMAL.includes(exact) ? DECIMAL : BINARY;
  const scale = isNear ? exact : scaleOf(value, unit, family);
  const side = Math.sign(value - threshold);
  for (let digits = DIGITS; digits < DIGITS_MAX; digits++) {
    const displayed = rounded(value / scale.size, digits);
    if (Math.sign(displayed * scale.size - threshold) === side)
      return withUnit(displayed, unit, scale);
  }
  return withUnit(value / scale.size, unit, scale);
}

const NUMBER = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-z%/]*)$/i;

/**
 * Parses a number, or a number with a unit: `2GiB`, `1.5 GB`, `90 %`, `12 MiB/s`, `5 s`. Undefined
 * if it is neither. The metric decides whether the unit fits; see `unit`.
 */
export function parseQuantity(text: string): { value: number; unit: string } | undefined {
  const [, number = '', suffix = ''] = NUMBER.exec(text.trim()) ?? [];
  if (number === '') return undefined;
  const isRate = suffix.endsWith('/s');
  const name = isRate ? suffix.slice(0, -2) : suffix;
  const scale = [...BINARY, ...DECIMAL].find((one) => isSpelling(name, one.suffix));
  const value = Number(number) * (scale?.size ?? 1);
  if (!Number.isFinite(value)) return undefined;
  if (scale) return { value, unit: isRate ? 'bytes_per_second' : 'bytes' };
  if (name === '') return { value, unit: isRate ? 'operations_per_second' : '' };
  if (suffix === '%') return { value, unit: 'percent' };
  return suffix === 's' ? { value, unit: 'seconds' } : undefined;
}

/** `kB` and `KB` are 1,000 bytes; all other prefixes are written as the standards do. */
function isSpelling(name: string, suffix: string): boolean {
  return name === suffix || (suffix === 'kB' && name === 'KB');
}

const SUFFIXES: Readonly<Record<string, string>> = {
  percent: ' %',
  operations_per_second: '/s',
  seconds: ' s',
};

function withUnit(scaled: number, unit: string, { suffix }: Scale): string {
  if (!isOfBytes(unit)) return `${scaled}${SUFFIXES[unit] ?? ''}`;
  return `${scaled} ${suffix}${unit === 'bytes' ? '' : '/s'}`;
}

const ONE: Scale = { size: 1, suffix: '' };

function isOfBytes(unit: string): boolean {
  return unit === 'bytes' || unit === 'bytes_per_second';
}

const BYTE: Scale = { size: 1, suffix: 'B' };

function scaleOf(value: number, unit: string, family: readonly Scale[]): Scale {
  if (!isOfBytes(unit)) return ONE;
  return family.findLast(({ size }) => size <= Math.abs(value)) ?? BYTE;
}

/** Maximum digits of a number that has a unit. */
const TYPED_DIGITS_MAX = 6;

/**
 * The unit with the fewest digits, and the largest one of those; bytes for a number with many
 * digits, which has no shorter form.
 */
function exactScaleOf(value: number, unit: string): Scale {
  if (!isOfBytes(unit)) return ONE;
  const fitting = [...BINARY, ...DECIMAL].filter(
    ({ size }) =>
      size <= Math.abs(value) &&
      (value / size) * size === value &&
      digitsOf(value / size) <= TYPED_DIGITS_MAX,
  );
  const [first = BYTE] = fitting.toSorted(
    (a, b) => digitsOf(value / a.size) - digitsOf(value / b.size) || b.size - a.size,
  );
  return first;
}

/** Significant digits of a number as printed. */
function digitsOf(value: number): number {
  const [digits = ''] = String(Math.abs(value)).split('e', 1);
  const plain = digits.replace('.', '').replace(/^0+/, '');
  return digits.includes('.') ? plain.length : plain.replace(/0+$/, '').length;
}

function rounded(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}
