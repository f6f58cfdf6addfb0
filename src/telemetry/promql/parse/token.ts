/**
 * The words of PromQL, as Prometheus 3.5 distinguishes them. Its keywords are not reserved: `sum`,
 * `by` or `start` may name a metric or label too, so a token keeps its text along with its kind.
 */
import { goQuote } from '../format-go.ts';

/**
 * Kind of a token, as far as its text determines it without context, except for braces and
 * brackets.
 */
export type TokenKind =
  | 'identifier'
  /** A name with a colon, which no label or function may have. */
  | 'metricIdentifier'
  | 'number'
  | 'duration'
  | 'string'
  | 'aggregator'
  | 'keyword'
  /** `start` and `end`. */
  | 'preprocessor'
  | 'operator'
  /** Brackets, `,`, `:` and `=`. */
  | 'mark'
  | 'end';

/** One word of an expression. */
export interface Token {
  readonly kind: TokenKind;
  /** Canonical spelling, if it has one (keywords in lower case); otherwise equal to `text`. */
  readonly word: string;
  /** Text as written. */
  readonly text: string;
  /** Offsets into the expression, `to` exclusive. */
  readonly from: number;
  readonly to: number;
}

const WORDS: ReadonlyMap<string, TokenKind> = new Map([
  ...words('operator', 'and or unless atan2'),
  ...words('aggregator', 'sum avg count min max group stddev stdvar topk bottomk count_values'),
  ...words('aggregator', 'quantile limitk limit_ratio'),
  ...words('keyword', 'offset by without on ignoring group_left group_right bool'),
  ...words('preprocessor', 'start end'),
  ...words('number', 'inf nan'),
]);

/** Kind of a word outside of braces. */
export function kindOfWord(text: string): TokenKind {
  const kind = WORDS.get(text.toLowerCase());
  if (kind !== undefined) return kind;
  return text.includes(':') ? 'metricIdentifier' : 'identifier';
}

/** Keywords that may be used as a metric name. */
const NAMELIKE = new Set(['and', 'or', 'unless', 'offset', 'by', 'without']);

/**
 * True for a token that may be used as a metric name: aggregators and most keywords may, as in
 * Prometheus.
 */
export function mayNameMetric({ kind, word }: Token): boolean {
  return (
    kind === 'identifier' ||
    kind === 'metricIdentifier' ||
    kind === 'aggregator' ||
    kind === 'preprocessor' ||
    NAMELIKE.has(word)
  );
}

/** How Prometheus names a token in `unexpected ...`. */
export function describeToken(token: Token): string {
  const { kind, text } = token;
  switch (kind) {
    case 'end':
      return 'end of input';
    case 'identifier':
      return `identifier ${goQuote(text)}`;
    case 'metricIdentifier':
      return `metric identifier ${goQuote(text)}`;
    case 'number':
    case 'duration':
    case 'string':
      return `${kind} ${shortened(text)}`;
    case 'keyword':
      return `<${text}>`;
    case 'operator':
      return `<op:${text}>`;
    case 'aggregator':
      return `<aggr:${text}>`;
    case 'preprocessor':
    case 'mark':
      return shortened(text);
  }
}

function shortened(text: string): string {
  if (Buffer.byteLength(text) <= SHOWN_MAX) return goQuote(text);
  return `${goQuote([...text].slice(0, SHOWN_MAX).join(''))}...`;
}

/** A longer token is cut to this many characters; compared with its length in bytes. */
const SHOWN_MAX = 10;

function words(kind: TokenKind, list: string): [string, TokenKind][] {
  return list.split(' ').map((word) => [word, kind]);
}

/** Binary operators by binding level, the loosest first (`generated_parser.y`). */
export const BINDING_LEVELS = ['or', 'and unless', '== != < > <= >=', '+ -', '* / % atan2', '^'];

/** Binding level of a binary operator. */
export const LEVEL_OF: ReadonlyMap<string, number> = new Map(
  BINDING_LEVELS.flatMap((operators, level) =>
    operators.split(' ').map((op) => [op, level] as const),
  ),
);
