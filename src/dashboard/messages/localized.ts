/**
 * The language of the texts. English is the only one. The pseudo-locale `en-XA` writes it with
 * accents, longer and in brackets, which exposes hard-coded texts and layouts that fit only short
 * words. Select it with `?locale=en-XA`.
 */

type Text = string | ((...values: never[]) => string);
/**
 * Texts of one part of the dashboard: plain strings or functions of their parameters, in arbitrary
 * groups.
 */
export interface Texts {
  readonly [key: string]: Text | Texts;
}

const isPseudo =
  typeof location !== 'undefined' && new URLSearchParams(location.search).get('locale') === 'en-XA';

/** The texts in the language of the page. */
export function localized<T extends Texts>(english: T): T {
  return isPseudo ? pseudoLocalized(english) : english;
}

/** The same texts in `en-XA`. */
export function pseudoLocalized<T extends Texts>(english: T): T {
  const entries = Object.entries(english).map(([key, text]) => {
    if (typeof text === 'string') return [key, pseudo(text)];
    if (typeof text === 'object') return [key, pseudoLocalized(text)];
    return [key, (...values: never[]) => pseudo(text(...values))];
  });
  // Each text is mapped to one of the same kind.
  return Object.fromEntries(entries) as T;
}

const ACCENTS: Readonly<Record<string, string>> = {
  a: 'á',
  e: 'é',
  i: 'í',
  o: 'ö',
  u: 'ü',
  y: 'ý',
  c: 'ç',
  n: 'ñ',
  s: 'š',
  A: 'Á',
  E: 'É',
  I: 'Í',
  O: 'Ö',
  U: 'Ü',
  N: 'Ñ',
  S: 'Š',
};

function pseudo(text: string): string {
  const accented = text.replace(/[a-zA-Z]/g, (letter) => ACCENTS[letter] ?? letter);
  const padding = '·'.repeat(Math.ceil(text.length * 0.3));
  return `[${accented}${padding}]`;
}
