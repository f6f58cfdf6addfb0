/**
 * Makes names and sentences from outside safe to display and send: plain, on one line, and
 * truncated to a limit. A line break could start a forged header, log line or paragraph, and a
 * bidirectional control shows one name as another. Text that people enter is refused; text from
 * elsewhere (names in a token or of a guest, older rows) is reduced to one line, because a sign-in
 * or a sample must not be lost because of it. Texts are truncated between code points: half a
 * surrogate pair is invalid text, and a receiver may refuse the whole message because of it.
 */

/**
 * Controls, line and paragraph separators, bidirectional controls, halves of surrogate pairs, and
 * characters that draw nothing (Unicode's default ignorables, including the "tags"). Of those, the
 * joiners for Persian, Indic scripts and emoji, and variation selectors, are allowed.
 */
const HIDDEN =
  /[[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]--[\u200c\u200d\ufe00-\ufe0f]]/v;
const HIDDEN_RUNS = new RegExp(`(?:${HIDDEN.source}|\\p{Z}|\\p{Co}|\\p{Cn})+`, 'gv');
/** Matches nearly all names, which then need no search. */
const PLAIN = /^[ -~]*$/;

/** End of the refusal of a text that is not one line, after the field's name. */
export const NOT_ONE_LINE =
  'holds line breaks, controls or invisible characters: send one line of plain text';

/** True if it may be part of a line of ours unchanged. */
export function isOneLine(text: string): boolean {
  return PLAIN.test(text) || !HIDDEN.test(text);
}

/** True if it may be part of a text with several lines: breaks and tabs are also allowed. */
export function isPlainText(text: string): boolean {
  return isOneLine(text.replaceAll(/[\t\n]/g, ' '));
}

/** The same without breaks, controls and runs of spaces, truncated to `charsMax` characters. */
export function oneLine(text: string, charsMax: number): string {
  return text.toWellFormed().replaceAll(HIDDEN_RUNS, ' ').trim().slice(0, charsMax).toWellFormed();
}

/** Text that a guest or a hypervisor reports about itself: unchanged, or reduced to one line. */
export function asOneLine(text: string): string {
  return isOneLine(text) ? text : oneLine(text, text.length);
}

const ELLIPSIS = '…';

/** At most `max` code points; a longer text ends in an ellipsis, which counts. */
export function cutText(text: string, max: number): string {
  // A text never has more code points than code units, so short ones need no count.
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

/** In words, so that a truncated text is not mistaken for a complete one. */
function leftOut(count: number): string {
  return `${ELLIPSIS} (${count} more ${count === 1 ? 'character' : 'characters'})`;
}
