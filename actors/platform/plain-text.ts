/**
 * Names and sentences of others, made fit for what we show and send: plain, on one line, and cut to a
 * limit. A line break in one begins a header, a line of a log or a paragraph that nobody wrote, and a
 * bidirectional control shows one name as another. What people enter is refused; what comes from
 * elsewhere (names in a token or of a guest, rows from before) is made one line, because a sign-in or
 * a sample must not be lost for it. Texts are cut between code points: half a surrogate pair is
 * invalid text, and a receiver may refuse the whole message for it.
 */

/**
 * Controls, line and paragraph separators, bidirectional controls, halves of surrogate pairs, and
 * what draws nothing (Unicode's default ignorables, the "tags" among them). Allowed of those: the
 * joiners that Persian, Indic scripts and emoji are written with, and variation selectors.
 */
const HIDDEN =
  /[[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]--[\u200c\u200d\ufe00-\ufe0f]]/v;
const HIDDEN_RUNS = new RegExp(`(?:${HIDDEN.source}|\\p{Z}|\\p{Co}|\\p{Cn})+`, 'gv');
/** Nearly all names: nothing to look for. */
const PLAIN = /^[ -~]*$/;

/** How a refusal goes on after the field that is not one line. */
export const NOT_ONE_LINE =
  'holds line breaks, controls or invisible characters: one line of plain text is needed';

/** May it stand inside a line of ours as it is? */
export function isOneLine(text: string): boolean {
  return PLAIN.test(text) || !HIDDEN.test(text);
}

/** May it stand in a text of several lines? Breaks and tabs are all that it may have more. */
export function isPlainText(text: string): boolean {
  return isOneLine(text.replaceAll(/[\t\n]/g, ' '));
}

/** The same without breaks, controls and runs of blanks, at most `charsMax` characters of it. */
export function oneLine(text: string, charsMax: number): string {
  return text.toWellFormed().replaceAll(HIDDEN_RUNS, ' ').trim().slice(0, charsMax).toWellFormed();
}

/** What a guest or a hypervisor says of itself: as it is, or one line. */
export function asOneLine(text: string): string {
  return isOneLine(text) ? text : oneLine(text, text.length);
}

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
