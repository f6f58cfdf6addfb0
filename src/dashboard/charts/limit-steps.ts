/** Steps in which a limit on a chart moves: round numbers, about a hundred per chart. Pure. */

/** Range of values on a chart. */
export interface Domain {
  readonly least: number;
  readonly greatest: number;
}

/** A power of ten, or 1 for an empty domain. */
export function limitStep({ least, greatest }: Domain): number {
  const length = greatest - least;
  return length > 0 ? 10 ** Math.round(Math.log10(length / 100)) : 1;
}

/** The nearest multiple of the step. */
export function roundedLimit(value: number, domain: Domain): number {
  return steps(Math.round(value / limitStep(domain)), domain);
}

/**
 * New value of a limit after a key press: one step, or ten with Page Up and Page Down. Returns
 * undefined for other keys.
 */
export function limitAfterKey(key: string, value: number, domain: Domain): number | undefined {
  const moves: Readonly<Record<string, number>> = {
    ArrowUp: 1,
    ArrowRight: 1,
    PageUp: 10,
    ArrowDown: -1,
    ArrowLeft: -1,
    PageDown: -10,
  };
  const move = moves[key];
  if (move === undefined) return undefined;
  const at = value / limitStep(domain);
  // A value between two steps moves to the next step, not past it.
  return steps((move > 0 ? Math.floor(at + 1e-9) : Math.ceil(at - 1e-9)) + move, domain);
}

/** Removes the noise of binary fractions: 0.3, not 0.30000000000000004. */
function steps(count: number, domain: Domain): number {
  return Number((count * limitStep(domain)).toPrecision(12));
}
