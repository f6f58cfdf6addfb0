/**
 * Names and sentences of others, in what we show and send: a line break in one begins a header, a
 * line of a log or a paragraph that nobody wrote. What people enter is refused; what comes from
 * elsewhere (names in a certificate, rows from before) is made one line.
 */

/** Control characters, line and paragraph separators, and what turns the direction of text. */
const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

/** May it stand inside a line of ours as it is? */
export function isOneLine(text: string): boolean {
  return !BREAKS.test(text);
}

/** The same without breaks, controls and runs of blanks, at most `charsMax` characters of it. */
export function oneLine(text: string, charsMax: number): string {
  return text
    .replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
    .trim()
    .slice(0, charsMax)
    .toWellFormed();
}
