/**
 * Tokens to a text for the editor's grammar, one word a token: names become `m`, functions `abs`,
 * literals `""` (which takes no sign, as the grammar would fold one), durations `1`. Only what a
 * word is at its place is decided here, by what stands before it; whether it may stand there is
 * the grammar's to say.
 */
import { mayNameMetric, type Token } from './token.ts';

export interface CanonicalText {
  readonly text: string;
  readonly words: readonly string[];
  /** Offsets of each token's word. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** Without the end token. */
export function canonicalText(tokens: readonly Token[]): CanonicalText {
  const writer = new Writer();
  const starts: number[] = [];
  const ends: number[] = [];
  const words: string[] = [];
  let text = '';
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] as Token;
    if (token.kind === 'end') break;
    if (i > 0) text += ' ';
    starts.push(text.length);
    const word = writer.wordFor(token, tokens[i + 1]);
    words.push(word);
    text += word;
    ends.push(text.length);
  }
  return { text, words, starts, ends };
}

/** Keywords that a list of labels in parentheses follows. */
export const LABEL_LISTS: ReadonlySet<string> = new Set([
  'by',
  'without',
  'on',
  'ignoring',
  'group_left',
  'group_right',
]);
const MATCHINGS = new Set(['on', 'ignoring', 'group_left', 'group_right']);
/** Fits nowhere but at the end of a range. */
const MISFIT = ']';

class Writer {
  /** Of each open parenthesis the keyword before it, if it encloses a list of labels. */
  readonly #parens: (string | null)[] = [];
  #inBrackets = false;
  /** After `@` or `offset`, where a number is a time. */
  #awaitsTime = false;
  /** Whether an operand has just ended, so that a keyword is one and no name. */
  #afterOperand = false;
  #previous = '';

  wordFor(token: Token, next: Token | undefined): string {
    const word = this.#choose(token, next);
    this.#advance(token, word);
    return word;
  }

  #choose(token: Token, next: Token | undefined): string {
    const { kind, word } = token;
    if (kind === 'string') return '""';
    if (kind === 'mark') return word;
    const inLabels = (this.#parens.at(-1) ?? null) !== null;
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
    const opened = word === ')' ? this.#parens.pop() : null;
    if (word === '(') {
      this.#parens.push(
        LABEL_LISTS.has(this.#previous) && !this.#awaitsTime ? this.#previous : null,
      );
    }
    if (word === '[' || word === ']') this.#inBrackets = word === '[';
    const isKeyword = chosen === word && (word === '@' || word === 'offset');
    this.#awaitsTime = isKeyword || (this.#awaitsTime && '+-('.includes(word));
    this.#afterOperand =
      kind === 'mark'
        ? ']}'.includes(word) || (word === ')' && !MATCHINGS.has(opened ?? ''))
        : chosen !== word || (kind !== 'operator' && kind !== 'keyword');
    this.#previous = chosen;
  }
}
