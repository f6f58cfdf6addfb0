/** Steps in which a limit on a chart moves: round numbers, about a hundred of them on the chart. Pure. */

/** The values that a chart shows. */
export interface Domain {
  readonly least: number;
  readonly greatest: number;
}

/** A power of ten, or 1 where nothing is shown. */
export function limitStep({ least, greatest }: Domain): number {
  const length = greatest - least;
  return length > 0 ? 10 ** Math.round(Math.log10(length / 100)) : 1;
}

/** The nearest value that is a whole number of steps. */
export function roundedLimit(value: number, domain: Domain): number {
  return steps(Math.round(value / limitStep(domain)), domain);
}

/** Where a key moves a limit: one step, or ten by Page Up and Page Down; undefined = another key. */
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
  // From a value between two steps to the next one, not past it.
  return steps((move > 0 ? Math.floor(at + 1e-9) : Math.ceil(at - 1e-9)) + move, domain);
}

/** Without the noise of binary fractions: 0.3, not 0.30000000000000004. */
function steps(count: number, domain: Domain): number {
  return Number((count * limitStep(domain)).toPrecision(12));
}
