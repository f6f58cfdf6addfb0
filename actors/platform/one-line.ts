/**
 * Names and sentences of others, in what we show and send: a line break in one begins a header, a
 * line of a log or a paragraph that nobody wrote, and a bidirectional control shows one name as
 * another. What people enter is refused; what comes from elsewhere (names in a token or of a guest,
 * rows from before) is made one line, because a sign-in or a sample must not be lost for it.
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
