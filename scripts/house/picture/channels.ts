/**
 * Horizontal lines between two floors of the picture, each on its own track. Lines enter their
 * track from above and leave it downwards. The order of tracks is optimised for the fewest
 * crossings, so that the picture is as calm as its arrows allow.
 */

/** One horizontal line with its vertical ends. */
export interface Line {
  /** Positions where verticals from the top of the channel meet it, and from its bottom. */
  readonly above: readonly number[];
  readonly below: readonly number[];
}

const ROUNDS_MAX = 50;
/** Free pixels between two lines that share a track. */
const APART = 12;

/** Track of each line, from 0 at the top. Lines that are far apart share one. */
export function tracksOf(lines: readonly Line[]): number[] {
  const order = lines.map((_, i) => i);
  for (let round = 0; round < ROUNDS_MAX && improve(order, lines); round++);
  const tracks: number[] = [];
  const ends: { track: number; line: Line }[] = [];
  for (const i of order) {
    const line = lines[i];
    if (line === undefined) continue;
    // Below every earlier line that it would touch.
    const touched = ends.filter(({ line: other }) => touches(line, other));
    const track = Math.max(-1, ...touched.map((end) => end.track)) + 1;
    tracks[i] = track;
    ends.push({ track, line });
  }
  return tracks;
}

/** Moves each line to its best position; false if nothing improved. */
function improve(order: number[], lines: readonly Line[]): boolean {
  let better = false;
  for (const line of [...order]) {
    const without = order.filter((other) => other !== line);
    const costs = order.map((_, at) => crossings(without.toSpliced(at, 0, line), lines));
    const now = costs[order.indexOf(line)] ?? 0;
    const least = Math.min(...costs);
    if (least >= now) continue;
    order.splice(0, order.length, ...without.toSpliced(costs.indexOf(least), 0, line));
    better = true;
  }
  return better;
}

/** Crossings of verticals and lines if the lines are in that order from the top. */
export function crossings(order: readonly number[], lines: readonly Line[]): number {
  let count = 0;
  for (const [upperPlace, upperIndex] of order.entries()) {
    for (const lowerIndex of order.slice(upperPlace + 1)) {
      const [upper, lower] = [lines[upperIndex], lines[lowerIndex]];
      if (upper === undefined || lower === undefined) continue;
      count += lower.above.filter((x) => covers(upper, x)).length;
      count += upper.below.filter((x) => covers(lower, x)).length;
    }
  }
  return count;
}

function span({ above, below }: Line): readonly [number, number] {
  const xs = [...above, ...below];
  return [Math.min(...xs), Math.max(...xs)];
}

function covers(line: Line, x: number): boolean {
  const [left, right] = span(line);
  return left <= x && x <= right;
}

function touches(a: Line, b: Line): boolean {
  const [left, right] = span(a);
  const [otherLeft, otherRight] = span(b);
  return left <= otherRight + APART && otherLeft <= right + APART;
}
