/**
 * An expression as nested pieces of text, each with its type, so that a failing expression can be
 * shrunk without knowledge of its grammar: a piece may replace another of the same type, and
 * optional text may be removed.
 */
import type { ValueType } from '../../../../src/telemetry/promql/ast.ts';

export interface Piece {
  readonly type: ValueType;
  readonly parts: readonly Part[];
}

/** Text, a piece, or optional text. */
export type Part = string | Piece | { readonly optional: string };

export function textOf(piece: Piece): string {
  return piece.parts.map(textOfPart).join('');
}

function textOfPart(part: Part): string {
  if (typeof part === 'string') return part;
  return 'optional' in part ? part.optional : textOf(part);
}

/** Smaller expressions that may fail in the same way, the smallest first. */
export function* smallerPieces(piece: Piece): Generator<Piece> {
  const inner = [...descendants(piece)];
  yield* inner.sort((a, b) => textOf(a).length - textOf(b).length);
  yield* withSmallerPart(piece);
}

/** Nested pieces, each before its own. */
export function* descendants(piece: Piece): Generator<Piece> {
  for (const part of piece.parts) {
    if (!isPiece(part)) continue;
    yield part;
    yield* descendants(part);
  }
}

function* withSmallerPart(piece: Piece): Generator<Piece> {
  for (const [index, part] of piece.parts.entries()) {
    const replaced = (by: Part): Piece => ({ ...piece, parts: piece.parts.with(index, by) });
    if (typeof part === 'string') continue;
    if (!isPiece(part)) {
      yield replaced('');
      continue;
    }
    for (const inner of descendants(part)) if (inner.type === part.type) yield replaced(inner);
    for (const smaller of withSmallerPart(part)) yield replaced(smaller);
  }
}

export function isPiece(part: Part): part is Piece {
  return typeof part !== 'string' && 'parts' in part;
}
