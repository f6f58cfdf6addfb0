/** A scale from a domain to pixels. */

/** From a domain to pixels. */
export interface Scale {
  readonly from: number;
  readonly to: number;
  readonly fromPx: number;
  readonly toPx: number;
}

/** Position of a value, px; the middle of the axis if the domain has no length. */
export function position(scale: Scale, value: number): number {
  const length = scale.to - scale.from;
  const part = length === 0 ? 0.5 : (value - scale.from) / length;
  return Math.round((scale.fromPx + part * (scale.toPx - scale.fromPx)) * 10) / 10;
}

/** Value at a position, clamped to the domain. */
export function valueAt(scale: Scale, px: number): number {
  const length = scale.toPx - scale.fromPx;
  const part = length === 0 ? 0 : (px - scale.fromPx) / length;
  return scale.from + Math.min(1, Math.max(0, part)) * (scale.to - scale.from);
}

/** Round values within a domain of this unit, about `count` of them. */
export function roundMarks(from: number, to: number, count: number, unit: string): number[] {
  const length = to - from;
  if (!(length > 0)) return [from];
  const rough = length / count;
  const step = roundSteps(unit, from, to).find((size) => size >= rough) ?? rough;
  return marksFrom(from, to, step);
}

/**
 * Distances between marks, ascending: 1, 2 or 5 times a power of ten. For bytes, they are multiples
 * of the binary unit in which the greatest value is formatted.
 */
export function roundSteps(unit: string, from: number, to: number): number[] {
  const greatest = Math.max(1, Math.abs(from), Math.abs(to));
  const one = unit.startsWith('bytes') ? 1024 ** Math.floor(Math.log2(greatest) / 10) : 1;
  const power = Math.floor(Math.log10((to - from) / one));
  const powers = [power - 2, power - 1, power, power + 1];
  return powers.flatMap((exponent) => [1, 2, 5].map((times) => times * one * 10 ** exponent));
}

const TIME_STEPS_SECONDS = [
  1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
];

/** Round times within a range of Unix ms, at most `count` + 1. */
export function timeMarks(fromMs: number, toMs: number, count: number): number[] {
  const rough = (toMs - fromMs) / 1_000 / count;
  const seconds = TIME_STEPS_SECONDS.find((step) => step >= rough) ?? 86_400;
  return toMs > fromMs ? marksFrom(fromMs, toMs, seconds * 1_000) : [fromMs];
}

function marksFrom(from: number, to: number, step: number): number[] {
  const marks: number[] = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i += 1) {
    marks.push(Number((i * step).toPrecision(15)));
  }
  return marks;
}

/** Domain with some margin around its values; percentages stay within 0 to 100. */
export function domainOf(values: readonly number[], unit: string): readonly [number, number] {
  const least = Math.min(...values);
  const greatest = Math.max(...values);
  if (!Number.isFinite(least)) return [0, 1];
  const air = (greatest - least || Math.abs(greatest) || 1) * 0.12;
  const isShare = unit === 'percent' && least >= 0 && greatest <= 100;
  return isShare
    ? [Math.max(0, least - air), Math.min(100, greatest + air)]
    : [least >= 0 ? Math.max(0, least - air) : least - air, greatest + air];
}
