/**
 * The syntax of each piece of an expression, found by the grammar of Prometheus's own editor
 * (`@prometheus-io/lezer-promql`). That grammar is made for an editor and for a newer Prometheus:
 * it folds signs into numbers, misses some number formats, and knows words that 3.5 does not. So it
 * parses canonical words, and the content of a leaf is read from its token.
 */
import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import type { CanonicalToken } from './canonical.ts';
import { type Piece, type Sequence, splitExpression } from './split.ts';
import type { Token } from './token.ts';

/** The tree of a piece, and the tokens under its nodes. */
export interface SyntaxTree {
  readonly root: SyntaxNode;
  /** First token of a node. */
  first(node: SyntaxNode): Token;
  /** Last token of a node. */
  last(node: SyntaxNode): Token;
  /** Token before a node. */
  before(node: SyntaxNode): Token;
}

/** A whole expression, and the tree of each of its pieces. */
export interface ParsedExpression {
  readonly root: Sequence;
  treeOf(piece: Piece): SyntaxTree;
  /** First token of a piece. */
  tokenOf(piece: Piece): Token;
}

/** The tree, or the index of the first token that is misplaced in any expression. */
export type ParsedSyntax =
  | { readonly ok: true; readonly parsed: ParsedExpression }
  | { readonly ok: false; readonly index: number };

/** Gives up at the first error instead of repairing the tree around it. */
const strict = parser.configure({ strict: true });

/** If a lexical fault cut off the tokens (no end token), the index may equal their number. */
export function parseSyntax(
  tokens: readonly Token[],
  canonical: readonly CanonicalToken[],
): ParsedSyntax {
  const { root, pieces } = splitExpression(canonical);
  /** Shapes by text: most pieces of a long chain have the same text. */
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

/** Index of the token that begins at or after an offset of the piece's text. */
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
  if (token === undefined)
    throw new Error('A node of the syntax tree is not aligned with the tokens');
  return token;
}

/** The tree of the text, or the offset up to which it is valid. */
function shapeOf(text: string): SyntaxNode | number {
  try {
    return strict.parse(text).topNode;
  } catch (error) {
    // A strict parser reports its position only in the message.
    const place = error instanceof SyntaxError ? /\d+$/.exec(error.message)?.[0] : undefined;
    if (place === undefined) throw error;
    return Number(place);
  }
}
