/**
 * The shape of each piece of an expression, found by the grammar that Prometheus's own editor uses
 * (`@prometheus-io/lezer-promql`). That grammar is an editor's and of a newer Prometheus: it folds
 * signs into numbers, misses formats of numbers, and knows words that 3.5 does not. So it is shown
 * canonical words, and what a leaf says is read from the token at its place.
 */
import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import type { CanonicalToken } from './canonical.ts';
import { type Piece, type Sequence, splitExpression } from './split.ts';
import type { Token } from './token.ts';

/** The tree of a piece, and the tokens under its nodes. */
export interface SyntaxTree {
  readonly root: SyntaxNode;
  /** The token that a node begins with. */
  first(node: SyntaxNode): Token;
  /** The token that a node ends with. */
  last(node: SyntaxNode): Token;
  /** The token in front of a node. */
  before(node: SyntaxNode): Token;
}

/** A whole expression, and the tree of each of its pieces. */
export interface ParsedExpression {
  readonly root: Sequence;
  treeOf(piece: Piece): SyntaxTree;
  /** The token that a piece begins with. */
  tokenOf(piece: Piece): Token;
}

/** Or the index of the first token that no expression can have at its place. */
export type ParsedSyntax =
  | { readonly ok: true; readonly parsed: ParsedExpression }
  | { readonly ok: false; readonly index: number };

/** Gives up at the first error instead of mending the tree around it. */
const strict = parser.configure({ strict: true });

/** Where tokens were cut off by a fault (no end token), the index may be their number. */
export function parseSyntax(
  tokens: readonly Token[],
  canonical: readonly CanonicalToken[],
): ParsedSyntax {
  const { root, pieces } = splitExpression(canonical);
  /** Of pieces that read the same, as most of a long chain do. */
  const shapes = new Map<string, SyntaxNode | number>();
  const roots = new Map<Piece, SyntaxNode>();
  let index = Number.POSITIVE_INFINITY;
  for (const piece of pieces) {
    if (piece.role === 'sign') continue;
    const shape = shapes.get(piece.text) ?? shapeOf(piece.text);
    shapes.set(piece.text, shape);
    if (typeof shape !== 'number') roots.set(piece, shape);
    else index = Math.min(index, indexAt(piece, shape));
  }
  if (index !== Number.POSITIVE_INFINITY) return { ok: false, index };
  const treeOf = (piece: Piece) => treeOfPiece(piece, roots.get(piece), tokens);
  const tokenOf = ({ indices }: Piece) => tokenAt(tokens, indices[0]);
  return { ok: true, parsed: { root, treeOf, tokenOf } };
}

/** Of the token that begins at an offset of the piece's text or after it. */
function indexAt({ starts, indices, end }: Piece, offset: number): number {
  const at = starts.findIndex((start) => start >= offset);
  return indices[at] ?? end;
}

function treeOfPiece(
  { starts, ends, indices }: Piece,
  root: SyntaxNode | undefined,
  tokens: readonly Token[],
): SyntaxTree {
  if (root === undefined) throw new Error('A sign has no syntax');
  const startIndex = new Map(starts.map((start, at) => [start, at]));
  const endIndex = new Map(ends.map((end, at) => [end, at]));
  const token = (at = -1) => tokenAt(tokens, indices[at]);
  const first = (node: SyntaxNode) => token(startIndex.get(node.from));
  const last = (node: SyntaxNode) => token(endIndex.get(node.to));
  const before = (node: SyntaxNode) => token((startIndex.get(node.from) ?? 0) - 1);
  return { root, first, last, before };
}

function tokenAt(tokens: readonly Token[], index = -1): Token {
  const token = tokens[index];
  if (token === undefined) throw new Error('A node of the syntax tree lies between tokens');
  return token;
}

/** The expression that the text is, or the offset before which everything was in place. */
function shapeOf(text: string): SyntaxNode | number {
  try {
    return strict.parse(text).topNode;
  } catch (error) {
    // A strict parser reports its position only so.
    const place = error instanceof SyntaxError ? /\d+$/.exec(error.message)?.[0] : undefined;
    if (place === undefined) throw error;
    return Number(place);
  }
}
