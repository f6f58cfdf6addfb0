/**
 * The shape of an expression, found by the grammar that Prometheus's own editor uses
 * (`@prometheus-io/lezer-promql`). That grammar is an editor's and of a newer Prometheus: it folds
 * signs into numbers, misses formats of numbers, and knows words that 3.5 does not. So it is shown
 * a canonical text, and what a leaf says is read from the token at its place.
 */
import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import { canonicalText } from './canonical.ts';
import type { Token } from './token.ts';

/** The tree, and the tokens under its nodes. */
export interface SyntaxTree {
  readonly root: SyntaxNode;
  /** The token that a node begins with. */
  first(node: SyntaxNode): Token;
  /** The token that a node ends with. */
  last(node: SyntaxNode): Token;
  /** The token in front of a node. */
  before(node: SyntaxNode): Token;
}

/** Or the index of the first token that no expression can have at its place. */
export type ParsedSyntax =
  | { readonly ok: true; readonly tree: SyntaxTree }
  | { readonly ok: false; readonly index: number; readonly words: readonly string[] };

/** Gives up at the first error instead of mending the tree around it. */
const strict = parser.configure({ strict: true });

/** Where tokens were cut off by a fault (no end token), the index may be their number. */
export function parseSyntax(tokens: readonly Token[]): ParsedSyntax {
  const { text, words, starts, ends } = canonicalText(tokens);
  const root = rootOf(text);
  if (typeof root === 'number') {
    const index = starts.findIndex((start) => start >= root);
    return { ok: false, index: index === -1 ? starts.length : index, words };
  }
  const startIndex = new Map(starts.map((start, index) => [start, index]));
  const endIndex = new Map(ends.map((end, index) => [end, index]));
  const tokenAt = (index: number | undefined): Token => {
    const token = index === undefined ? undefined : tokens[index];
    if (token === undefined) throw new Error('A node of the syntax tree lies between tokens');
    return token;
  };
  const first = (node: SyntaxNode) => tokenAt(startIndex.get(node.from));
  const last = (node: SyntaxNode) => tokenAt(endIndex.get(node.to));
  const before = (node: SyntaxNode) => tokenAt((startIndex.get(node.from) ?? 0) - 1);
  return { ok: true, tree: { root, first, last, before } };
}

/** The root, or the offset before which everything was in place. */
function rootOf(text: string): SyntaxNode | number {
  try {
    return strict.parse(text).topNode;
  } catch (error) {
    // The one way in which a strict parser tells where it gave up.
    const place = error instanceof SyntaxError ? /\d+$/.exec(error.message)?.[0] : undefined;
    if (place === undefined) throw error;
    return Number(place);
  }
}
