/**
 * JSON of values that nest thousands deep, as the tree of a long chain of operators does:
 * `JSON.stringify` recurses, and ends at the end of the stack.
 */
import type { BoundedText } from './bounded-text.ts';

type Piece = { readonly text: string } | { readonly value: unknown };

/** As `JSON.stringify` writes plain objects, arrays, texts, numbers, booleans and null. */
export function appendJson(text: BoundedText, root: unknown): void {
  const pending: Piece[] = [{ value: root }];
  for (let piece = pending.pop(); piece !== undefined; piece = pending.pop()) {
    if ('text' in piece) text.append(piece.text);
    else if (typeof piece.value !== 'object' || piece.value === null) {
      text.append(JSON.stringify(piece.value));
    } else pending.push(...piecesOf(piece.value).reverse());
  }
}

function piecesOf(value: object): Piece[] {
  const isList = Array.isArray(value);
  const pieces: Piece[] = [{ text: isList ? '[' : '{' }];
  for (const [key, inner] of Object.entries(value)) {
    const comma = pieces.length > 1 ? ',' : '';
    pieces.push({ text: isList ? comma : `${comma}${JSON.stringify(key)}:` }, { value: inner });
  }
  pieces.push({ text: isList ? ']' : '}' });
  return pieces;
}
