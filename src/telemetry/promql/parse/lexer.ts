/**
 * Splits text into tokens by the rules of Prometheus 3.5 (`promql/parser/lex.go`), which differ
 * from an editor's: `5.`, `0X1F` and `1_000` are numbers, a string must end on its line, and
 * keywords depend on braces and brackets. It stops at the first fault and keeps the tokens before
 * it, because an earlier token may already be misplaced.
 */
import { goCodePoint, goQuote } from '../format-go.ts';
import { kindOfWord, type Token, type TokenKind } from './token.ts';

/** All tokens up to the end of the text or the first fault. */
export interface Lexed {
  readonly tokens: readonly Token[];
  /** Reason and position of the fault; null if the whole text was read. */
  readonly fault: { readonly message: string; readonly at: number } | null;
}

/**
 * Splits a text into tokens. It never throws: the parser decides whether the fault or an earlier
 * token is reported.
 */
export function lex(text: string): Lexed {
  return new Lexer(text).run();
}

const SPACE = /[ \t\n\r]*/y;
const COMMENT = /#[^\r\n]*/y;
const WORD = /[A-Za-z_:][A-Za-z0-9_:]*/y;
const LABEL = /[A-Za-z_][A-Za-z0-9_]*/y;
const TWO_CHARACTERS = ['==', '!=', '<=', '>='];
const OPERATORS = '*/%+-^<>@';
const ARITHMETIC = '*/%+-^';
const REPLACED = '\uFFFD';

/** A character that is invalid at its position. */
class Fault extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

class Lexer {
  readonly #text: string;
  readonly #tokens: Token[] = [];
  #at = 0;
  #parenDepth = 0;
  #inBraces = false;
  #inBrackets = false;
  /** True between `[` and its first number, where words mean nothing. */
  #awaitsDuration = false;
  #sawDuration = false;
  #sawColon = false;

  constructor(text: string) {
    this.#text = text;
  }

  run(): Lexed {
    try {
      for (;;) {
        this.#skip();
        if (this.#at >= this.#text.length) break;
        this.#next();
      }
      this.#finish();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { tokens: this.#tokens, fault: { message: error.message, at: error.at } };
    }
    this.#add('end', '');
    return { tokens: this.#tokens, fault: null };
  }

  #finish(): void {
    if (this.#inBraces) this.#fail('unexpected end of input inside braces');
    if (this.#awaitsDuration) this.#fail('unexpected end of input in duration expression');
    if (this.#parenDepth !== 0) this.#fail('unclosed left parenthesis');
    if (this.#inBrackets) this.#fail('unclosed left bracket');
  }

  #next(): void {
    const character = this.#character();
    if (this.#awaitsDuration) this.#durationStart(character);
    else if (`"'\``.includes(character)) this.#string(character);
    else if (this.#inBraces) this.#insideBraces(character);
    else this.#statement(character);
  }

  #statement(character: string): void {
    const two = this.#text.slice(this.#at, this.#at + 2);
    if (TWO_CHARACTERS.includes(two)) this.#add('operator', two);
    else if (OPERATORS.includes(character)) this.#add('operator', character);
    else if (character === '=' || character === '!') this.#loneEqualsOrBang(character);
    else if (startsNumber(two)) this.#number();
    else if (/[A-Za-z_:]/.test(character)) this.#wordOrColon(character);
    else if (character === ',') this.#add('mark', ',');
    else if ('()'.includes(character)) this.#parenthesis(character);
    else if ('[]'.includes(character)) this.#bracket(character);
    else if (character === '{') {
      this.#add('mark', '{');
      this.#inBraces = true;
    } else this.#fail(`unexpected character: ${goQuote(character, "'")}`);
  }

  #loneEqualsOrBang(character: string): void {
    const after = this.#character(1);
    if (character === '=' && after !== '~') this.#add('mark', '=');
    else this.#fail(`unexpected character after '${character}': ${runeQuote(after)}`);
  }

  #wordOrColon(character: string): void {
    if (!this.#inBrackets) {
      const word = this.#match(WORD);
      this.#add(kindOfWord(word), word);
      return;
    }
    if (this.#sawColon) this.#fail(`unexpected colon ${goQuote(character, "'")}`);
    if (character !== ':') this.#fail(`unexpected character: ${goQuote(character, "'")}`);
    this.#sawColon = true;
    this.#add('mark', ':');
  }

  #parenthesis(character: string): void {
    this.#parenDepth += character === '(' ? 1 : -1;
    if (this.#parenDepth < 0) this.#fail(`unexpected right parenthesis ')'`, this.#at + 1);
    this.#add('mark', character);
  }

  #bracket(character: string): void {
    const opens = character === '[';
    if (opens === this.#inBrackets) {
      this.#fail(`unexpected ${opens ? 'left' : 'right'} bracket '${character}'`);
    }
    this.#add('mark', character);
    this.#inBrackets = opens;
    this.#awaitsDuration = opens;
    this.#sawColon = false;
  }

  /** After `[`: arithmetic in front of the first number. */
  #durationStart(character: string): void {
    if (startsNumber(this.#text.slice(this.#at, this.#at + 2))) {
      this.#awaitsDuration = false;
      this.#sawDuration = true;
      this.#number();
    } else if (character === ']') this.#bracket(character);
    else if ('()'.includes(character)) this.#parenthesis(character);
    else if (ARITHMETIC.includes(character)) this.#add('operator', character);
    else if (character === ':') {
      const problem = this.#sawDuration ? 'repeated colon' : 'colon before duration';
      if (!this.#sawDuration || this.#sawColon) {
        this.#fail(`unexpected ${problem} in duration expression`, this.#at + 1);
      }
      this.#add('mark', ':');
      this.#sawColon = true;
    } else this.#fail(`unexpected character in duration expression: ${goQuote(character, "'")}`);
  }

  #insideBraces(character: string): void {
    const two = this.#text.slice(this.#at, this.#at + 2);
    if (two === '=~' || two === '!~' || two === '!=') this.#add('operator', two);
    else if (character === '=' || character === ',') this.#add('mark', character);
    else if (/[A-Za-z_]/.test(character)) this.#add('identifier', this.#match(LABEL));
    else if (character === '}') {
      this.#add('mark', '}');
      this.#inBraces = false;
    } else if (character === '!') {
      const after = runeQuote(this.#character(1));
      this.#fail(`unexpected character after '!' inside braces: ${after}`);
    } else if (character === '{') this.#fail(`unexpected left brace '{'`);
    else this.#fail(`unexpected character inside braces: ${goQuote(character, "'")}`);
  }

  #number(): void {
    const number = scanNumber(this.#text, this.#at);
    if (number.ok) {
      this.#add('number', this.#text.slice(this.#at, number.to));
      return;
    }
    const duration = scanDuration(this.#text, number.to);
    const text = this.#text.slice(this.#at, duration.to);
    if (!duration.ok) this.#fail(`bad number or duration syntax: ${goQuote(text)}`);
    this.#add('duration', text);
  }

  #string(quote: string): void {
    let end = this.#at + 1;
    for (;;) {
      const character = characterAt(this.#text, end);
      if (character === REPLACED) this.#fail('invalid UTF-8 rune');
      if (character === quote) break;
      if (character === '' || (character === '\n' && quote !== '`')) {
        this.#fail(`unterminated ${quote === '`' ? 'raw' : 'quoted'} string`);
      }
      if (character === '\\' && quote !== '`') end = this.#escape(end + 1, quote);
      else end += character.length;
    }
    this.#add('string', this.#text.slice(this.#at, end + 1));
  }

  /** The offset after an escape; `start` is the one after its backslash. */
  #escape(start: number, quote: string): number {
    const character = characterAt(this.#text, start);
    if (character === '') this.#fail('escape sequence not terminated');
    if (`abfnrtv\\${quote}`.includes(character)) return start + 1;
    const isOctal = /[0-7]/.test(character);
    const count = isOctal ? 3 : HEX_DIGITS[character];
    if (count === undefined) this.#fail(`unknown escape sequence ${goCodePoint(character)}`);
    const from = isOctal ? start : start + 1;
    for (let i = from; i < from + count; i++) {
      const digit = characterAt(this.#text, i);
      if (digit === '') this.#fail('escape sequence not terminated');
      if (!(isOctal ? /[0-7]/ : /[\da-fA-F]/).test(digit)) {
        this.#fail(`illegal character ${goCodePoint(digit)} in escape sequence`);
      }
    }
    const code = Number.parseInt(this.#text.slice(from, from + count), isOctal ? 8 : 16);
    const max = isOctal || character === 'x' ? 0xff : 0x10ffff;
    if (code > max || (code >= 0xd800 && code < 0xe000)) {
      this.#fail('escape sequence is an invalid Unicode code point');
    }
    return from + count;
  }

  #skip(): void {
    for (;;) {
      const start = this.#at;
      this.#at += this.#match(SPACE).length;
      this.#at += this.#match(COMMENT).length;
      if (this.#at === start) return;
    }
  }

  #add(kind: TokenKind, text: string): void {
    const named = kind !== 'string' && kind !== 'identifier' && kind !== 'metricIdentifier';
    const word = named ? text.toLowerCase() : text;
    const from = this.#at;
    this.#at += text.length;
    this.#tokens.push({ kind, word, text, from, to: this.#at });
  }

  #character(ahead = 0): string {
    return characterAt(this.#text, this.#at + ahead);
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text)?.[0] ?? '';
  }

  #fail(message: string, at = this.#at): never {
    throw new Fault(message, at);
  }
}

/** Number of digits after `\x`, `\u` and `\U`. */
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

function startsNumber(two: string): boolean {
  return /^\.?[0-9]/.test(two);
}

/** The whole character at an offset, '' past the end. Half a surrogate pair is unreadable. */
function characterAt(text: string, at: number): string {
  const code = text.codePointAt(at);
  if (code === undefined) return '';
  return code >= 0xd800 && code < 0xe000 ? REPLACED : String.fromCodePoint(code);
}

/**
 * The character in Go's quotes; Go's reader returns a special character at the end of the input.
 */
function runeQuote(character: string): string {
  return character === '' ? "'\uFFFD'" : goQuote(character, "'");
}

/** Result of scanning a number or duration at one place. */
export interface Scanned {
  readonly ok: boolean;
  /** Offset after the last character accepted. */
  readonly to: number;
}

const DECIMAL = /[0-9]/;
const HEXADECIMAL = /[0-9a-fA-F]/;

function scanNumber(text: string, from: number): Scanned {
  let at = from;
  let digits = DECIMAL;
  const accept = (pattern: RegExp) => {
    if (!pattern.test(text.charAt(at))) return false;
    at++;
    return true;
  };
  if (accept(/0/) && accept(/[xX]/)) {
    accept(/_/);
    digits = HEXADECIMAL;
  }
  accept(/\./);
  accept(digits);
  let sawDot = false;
  let sawExponent = false;
  for (;;) {
    if (accept(/\./)) {
      if (sawDot || accept(/[_.]/) || digits === HEXADECIMAL) return { ok: false, to: at };
      sawDot = true;
    } else if (accept(/[eE]/)) {
      if (sawExponent) return { ok: false, to: at };
      sawExponent = true;
      accept(/[+-]/);
      if (accept(/[._eE]/) || at >= text.length) return { ok: false, to: at };
    } else if (accept(/_/)) {
      if (accept(/[._eE]/) || at >= text.length) return { ok: false, to: at };
    } else if (accept(digits)) {
      // Rest of a run of digits; `e` is a digit if they are hexadecimal.
      while (accept(digits));
    } else break;
  }
  return { ok: !/\w/.test(text.charAt(at)), to: at };
}

/** Rest of a duration whose first digits were read. Units in the wrong order are reported later. */
function scanDuration(text: string, from: number): Scanned {
  const match = /[smhdwy]s?(?:[0-9]+[smhdw]s?)*/y;
  match.lastIndex = from;
  const taken = match.exec(text)?.[0].length ?? 0;
  const to = from + taken;
  if (taken === 0) return { ok: false, to };
  return /\w/.test(text.charAt(to)) ? { ok: false, to: to + 1 } : { ok: true, to };
}
