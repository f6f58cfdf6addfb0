/**
 * Translates tokens to words for the editor's grammar, one per token: names become `m`, functions
 * `abs`, durations `1`, and literals `""`, which takes no sign (the grammar would fold one). Only
 * the role of a word is decided here, from the tokens before it; the grammar decides whether it is
 * valid there.
 */
import { LEVEL_OF, mayNameMetric, type Token } from './token.ts';

/** Role of a token in the expression around it. */
export type Place =
  | 'operand'
  /** A binary operator, or one of the keywords and labels of its matching. */
  | 'operator'
  | 'matching'
  | 'sign'
  /** Opens an expression in parentheses, or several separated by commas. */
  | 'opening'
  | 'comma'
  | 'closing';

/** One token as the grammar reads it, and its role. */
export interface CanonicalToken {
  readonly word: string;
  readonly place: Place;
}

/** Excludes the end token. */
export function canonicalTokens(tokens: readonly Token[]): CanonicalToken[] {
  const writer = new Writer();
  const canonical: CanonicalToken[] = [];
  for (const [i, token] of tokens.entries()) {
    if (token.kind !== 'end') canonical.push(writer.next(token, tokens[i + 1]));
  }
  return canonical;
}

/** Keywords followed by a list of labels in parentheses. */
export const LABEL_LISTS: ReadonlySet<string> = new Set([
  'by',
  'without',
  'on',
  'ignoring',
  'group_left',
  'group_right',
]);
const MATCHINGS = new Set(['on', 'ignoring', 'group_left', 'group_right']);
/** Invalid everywhere except at the end of a range. */
const MISFIT = ']';

/** Content of a parenthesis: labels after this keyword, a time (or nothing), or expressions. */
type Paren = { readonly keyword: string } | 'time' | 'expression';

class Writer {
  readonly #parens: Paren[] = [];
  #inBraces = false;
  #inBrackets = false;
  /** True after `@` or `offset`, where a number is a time. */
  #awaitsTime = false;
  /** True if an operand has just ended, so that a keyword is a keyword and not a name. */
  #afterOperand = false;
  /** True after a binary operator, before its right side. */
  #inOperator = false;
  #previous = '';

  next(token: Token, next: Token | undefined): CanonicalToken {
    const word = this.#choose(token, next);
    const place = this.#place(token, word);
    this.#advance(token, word);
    this.#inOperator = place === 'operator' || place === 'matching';
    return { word, place };
  }

  #place({ kind, word }: Token, chosen: string): Place {
    const paren = this.#parens.at(-1) ?? 'expression';
    if (word === ')' && paren === 'expression') return 'closing';
    const isPlain = !this.#inBraces && !this.#inBrackets && !this.#awaitsTime;
    if (isPlain && paren === 'expression') {
      if (word === '(' && this.#opened() === 'expression') return 'opening';
      if (word === ',' && this.#parens.length > 0) return 'comma';
      if (kind === 'operator' && this.#afterOperand && LEVEL_OF.has(word)) return 'operator';
      if (kind === 'operator' && !this.#afterOperand && '+-'.includes(word)) return 'sign';
    }
    if (!this.#inOperator) return 'operand';
    const inLabels = typeof paren === 'object' || (word === '(' && this.#opened() !== 'expression');
    return inLabels || chosen === 'bool' || MATCHINGS.has(chosen) ? 'matching' : 'operand';
  }

  /** The content of a parenthesis that opened here. */
  #opened(): Paren {
    const isInner = (this.#parens.at(-1) ?? 'expression') !== 'expression';
    if (isInner || this.#awaitsTime || this.#inBrackets) return 'time';
    if (this.#previous === 'start' || this.#previous === 'end') return 'time';
    return LABEL_LISTS.has(this.#previous) ? { keyword: this.#previous } : 'expression';
  }

  #choose(token: Token, next: Token | undefined): string {
    const { kind, word } = token;
    if (kind === 'string') return '""';
    if (kind === 'mark') return word;
    const inLabels = typeof this.#parens.at(-1) === 'object';
    if (kind === 'number' || kind === 'duration') {
      return this.#inBrackets || this.#awaitsTime || inLabels ? '1' : '""';
    }
    // The only keyword that may not name a label in 3.5.
    if (inLabels && word === 'without') return MISFIT;
    if (inLabels) return /[\w:]/.test(word) ? 'm' : word;
    if (kind === 'preprocessor') return this.#previous === '@' ? word : 'm';
    if (kind === 'identifier' || kind === 'metricIdentifier') {
      return kind === 'identifier' && next?.word === '(' ? 'abs' : 'm';
    }
    if (this.#afterOperand || kind === 'aggregator') return word;
    if (mayNameMetric(token)) return 'm';
    return word === 'atan2' ? MISFIT : word;
  }

  #advance({ kind, word }: Token, chosen: string): void {
    const closed = word === ')' ? this.#parens.pop() : undefined;
    if (word === '(') this.#parens.push(this.#opened());
    if (word === '{' || word === '}') this.#inBraces = word === '{';
    if (word === '[' || word === ']') this.#inBrackets = word === '[';
    const isKeyword = chosen === word && (word === '@' || word === 'offset');
    this.#awaitsTime = isKeyword || (this.#awaitsTime && '+-('.includes(word));
    const ofMatching = typeof closed === 'object' && MATCHINGS.has(closed.keyword);
    this.#afterOperand =
      kind === 'mark'
        ? ']}'.includes(word) || (word === ')' && !ofMatching)
        : chosen !== word || (kind !== 'operator' && kind !== 'keyword');
    this.#previous = chosen;
  }
}
