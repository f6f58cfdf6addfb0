/**
 * Arbitrary text of any Unicode characters, as `fc.string({ unit: 'binary' })` generates it. That
 * unit makes a table of all 1.1 million characters first, which takes 2 s of CPU time and 150 MB in
 * each process.
 */
import fc from 'fast-check';

/** Surrogates are no characters, so the codes above them follow directly. */
const SURROGATES = { first: 0xd800, count: 0x800 };
const CHARACTERS = 0x110000 - SURROGATES.count;

/** Any one character. */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(CHARACTERS - 1).map(
  (index) => String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count),
  (value) => {
    const code = typeof value === 'string' ? value.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== value || !value.isWellFormed()) {
      throw new Error('not one character');
    }
    return code < SURROGATES.first ? code : code - SURROGATES.count;
  },
);

/** Any text within these lengths, in characters. */
export function anyText(lengths: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ unit: anyCharacter, ...lengths });
}
