/**
 * The words of PromQL, as Prometheus 3.5 distinguishes them. Its keywords are not reserved: `sum`,
 * `by` or `start` may name a metric or label too, so a token keeps its text beside its kind.
 */
import { goQuote } from '../format-go.ts';

/**
 * What a token is, as far as it can be seen without what stands around it, braces and brackets
 * apart.
 */
export type TokenKind =
  | 'identifier'
  /** A name with a colon in it, which no label or function may have. */
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
  /** Canonical spelling of anything that has one (keywords in lower case), else as `text`. */
  readonly word: string;
  /** As it was written. */
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

/** What a word outside of braces is. */
export function kindOfWord(text: string): TokenKind {
  const kind = WORDS.get(text.toLowerCase());
  if (kind !== undefined) return kind;
  return text.includes(':') ? 'metricIdentifier' : 'identifier';
}

/** Keywords that may stand where a metric's name does. */
const NAMELIKE = new Set(['and', 'or', 'unless', 'offset', 'by', 'without']);

/**
 * True for a token that may stand as a metric's name: aggregators and most keywords may, as in
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

/** Bytes of a token's text beyond which only as many characters are shown. */
const SHOWN_MAX = 10;

function words(kind: TokenKind, list: string): [string, TokenKind][] {
  return list.split(' ').map((word) => [word, kind]);
}

/** Binary operators by how tight they bind, the loosest first (`generated_parser.y`). */
export const BINDING_LEVELS = ['or', 'and unless', '== != < > <= >=', '+ -', '* / % atan2', '^'];

/** How tight a binary operator binds. */
export const LEVEL_OF: ReadonlyMap<string, number> = new Map(
  BINDING_LEVELS.flatMap((operators, level) =>
    operators.split(' ').map((op) => [op, level] as const),
  ),
);
