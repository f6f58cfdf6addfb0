/**
 * Texts cut to fit a limit, always between code points: half a surrogate pair is invalid text, and
 * a receiver may refuse the whole message for it.
 */

const ELLIPSIS = '…';

/** At most `max` code points; a longer text ends in an ellipsis, which counts. */
export function cutText(text: string, max: number): string {
  // A text has at most as many code points as code units: no need to count those of short ones.
  if (text.length <= max) return text.toWellFormed();
  const points = [...text.toWellFormed()];
  return points.length <= max ? points.join('') : points.slice(0, max - 1).join('') + ELLIPSIS;
}

/**
 * The longest prefix whose `measure` is at most `max`, followed by the number of characters left
 * out: `cutTo(text, 100, (t) => escape(t).length)`. A binary search: `measure` must grow with the
 * text.
 */
export function cutTo(text: string, max: number, measure: (text: string) => number): string {
  const whole = text.toWellFormed();
  if (measure(whole) <= max) return whole;
  const points = [...whole];
  const kept = (count: number) => points.slice(0, count).join('') + leftOut(points.length - count);
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(kept(middle)) <= max) low = middle;
    else high = middle - 1;
  }
  return measure(kept(low)) <= max ? kept(low) : '';
}

/** In words, so that nobody takes a cut text for a whole one. */
function leftOut(count: number): string {
  return `${ELLIPSIS} (${count} more ${count === 1 ? 'character' : 'characters'})`;
}
