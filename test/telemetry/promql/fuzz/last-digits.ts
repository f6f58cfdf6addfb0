/**
 * Checks that answers differ only where the last digits of a function decide. Sine, logarithm,
 * power and spread are rounded differently between platforms, and a comparison, a remainder or a
 * sine of a large number magnifies this. Our own engine evaluates the expression with the values of
 * those functions moved within their allowed error. If its answer does not change, nothing is
 * explained.
 */
import { type Answer, isClose, type Tolerance } from '../answer.ts';
import { isPiece, type Piece, textOf } from './piece.ts';

const INEXACT =
  /\b(a?(sin|cos|tan)h?|exp|ln|log2|log10|atan2|deg|rad|(stddev|stdvar|quantile)(_over_time)?)\b|\^/;
/** Relative and absolute size of the moves. The largest still count as equal. */
const SIZES = [
  [1e-15, 1e-15],
  [1e-13, 1e-13],
  [1e-7, 1e-9],
] as const;
/** Number of different moves, each varying between steps and functions. */
const WAYS = 4;

/** `ask` evaluates an expression for the times of `ours`. */
export function differInLastDigits(
  piece: Piece,
  { prometheus, ours }: { readonly prometheus: Answer; readonly ours: Answer },
  tolerance: Tolerance,
  ask: (expression: string) => Answer,
): boolean {
  if (prometheus.kind === 'error' || ours.kind === 'error') return false;
  if (textOf(moved(piece, [0, 0], 0)) === textOf(piece)) return false;
  const places = differingPoints(prometheus, ours, tolerance);
  const still = ask(textOf(moved(piece, [0, 0], 0)));
  // Brackets were added. An expression whose meaning they change cannot be tested.
  if (differingPoints(still, ours, tolerance).size > 0) return false;
  for (const size of SIZES) {
    for (let way = 0; way < WAYS; way++) {
      const answer = ask(textOf(moved(piece, size, way)));
      for (const place of differingPoints(answer, ours, tolerance)) places.delete(place);
      if (places.size === 0) return true;
    }
  }
  return false;
}

/** The same expression with the value of each inexact function moved; `way` selects how. */
function moved(piece: Piece, [relative, absolute]: readonly [number, number], way: number): Piece {
  let count = 0;
  const move = (one: Piece): Piece => {
    const parts = one.parts.map((part) => (isPiece(part) ? move(part) : part));
    const own = one.parts.filter((part) => typeof part === 'string').join(' ');
    const inner = { ...one, parts };
    if (!INEXACT.test(own) || (one.type !== 'vector' && one.type !== 'scalar')) return inner;
    // A scalar between -1 and 1, because the trigonometric functions take vectors.
    const noise = `((${++count * 0.37 + way * 0.17} + time() * 0.618) % 1 * 2 - 1)`;
    const by = ` * (1 + ${relative} * ${noise}) + ${absolute} * ${noise})`;
    return { ...one, parts: ['((', inner, `)${by}`] };
  };
  return move(piece);
}

/** Series and times at which the two differ; all of them if one has no values. */
function differingPoints(a: Answer, b: Answer, tolerance: Tolerance): Set<string> {
  const [left, right] = [pointsOf(a), pointsOf(b)];
  const places = new Set<string>();
  for (const place of new Set([...left.keys(), ...right.keys()])) {
    const [one, other] = [left.get(place), right.get(place)];
    const isSame = one !== undefined && other !== undefined && isClose(one, other, tolerance);
    if (!isSame) places.add(place);
  }
  return places;
}

/** Values by series and time; the message of an error. */
export function pointsOf(answer: Answer): Map<string, number | string> {
  if (answer.kind === 'error') return new Map([['error', answer.message]]);
  return new Map(
    answer.series.flatMap(({ labels, points }) =>
      points.map(({ timeMs, value }) => [`${labels.key} ${timeMs}`, value] as const),
    ),
  );
}
