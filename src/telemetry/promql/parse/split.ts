/**
 * Splits an expression into its operators, signs and operands, each parsed by the grammar on its
 * own: the grammar nests a chain of operators as deep as it is long and fails. The content of an
 * operand's parentheses is split in turn, and `""` replaces it.
 */
import type { CanonicalToken } from './canonical.ts';
import { BINDING_LEVELS, LEVEL_OF } from './token.ts';

/** One expression from left to right: the root, the content of parentheses, or an argument. */
export interface Sequence {
  readonly pieces: Piece[];
}

/** One operator, sign or operand, and the text that the grammar parses for it. */
export class Piece {
  readonly role: 'operator' | 'sign' | 'operand';
  /** Words for the grammar, separated by blanks. */
  text = '';
  /** Offset of each word in `text`, and the index of its token. */
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  readonly indices: number[] = [];
  /** Content of its parentheses, in the order of the `""` that replace them. */
  readonly inner: Sequence[] = [];
  /** Index of the token after it. */
  end = 0;

  constructor(role: Piece['role']) {
    this.role = role;
  }

  add(word: string, index: number): void {
    if (this.text !== '') this.text += ' ';
    this.starts.push(this.text.length);
    this.text += word;
    this.ends.push(this.text.length);
    this.indices.push(index);
  }
}

/** An expression in pieces: the top sequence; those in parentheses are reached from its pieces. */
export interface SplitExpression {
  readonly root: Sequence;
  /** Pieces of all sequences. */
  readonly pieces: readonly Piece[];
}

/** Does not validate: if tokens are misplaced, one of the pieces is not an expression. */
export function splitExpression(tokens: readonly CanonicalToken[]): SplitExpression {
  const splitter = new Splitter();
  for (const [index, token] of tokens.entries()) splitter.add(token, index);
  return splitter.finish(tokens.length);
}

/** Placeholder for any expression. */
const ANY = '""';

class Splitter {
  readonly #pieces: Piece[] = [];
  readonly #root: Sequence = { pieces: [] };
  /**
   * Open sequences, the innermost last. In each, the last piece is the operand whose parenthesis is
   * open.
   */
  readonly #open: Sequence[] = [this.#root];

  add({ word, place }: CanonicalToken, index: number): void {
    switch (place) {
      case 'operator': {
        this.#endSequence(index);
        const piece = this.#begin('operator', index);
        piece.add(ANY, index);
        piece.add(word, index);
        break;
      }
      case 'sign':
        this.#begin('sign', index).add(word, index);
        break;
      case 'matching':
        this.#last?.add(word, index);
        break;
      case 'operand':
        this.#operand(index).add(word, index);
        break;
      case 'opening':
        this.#operand(index).add(word, index);
        this.#open.push({ pieces: [] });
        break;
      case 'comma':
      case 'closing':
        this.#close(index);
        this.#operand(index).add(word, index);
        if (place === 'comma') this.#open.push({ pieces: [] });
        break;
    }
  }

  finish(index: number): SplitExpression {
    for (; this.#open.length > 0; this.#open.pop()) this.#endSequence(index);
    return { root: this.#root, pieces: this.#pieces };
  }

  get #last(): Piece | undefined {
    return this.#open.at(-1)?.pieces.at(-1);
  }

  #begin(role: Piece['role'], index: number): Piece {
    this.#endPiece(index);
    const piece = new Piece(role);
    this.#open.at(-1)?.pieces.push(piece);
    this.#pieces.push(piece);
    return piece;
  }

  #operand(index: number): Piece {
    const last = this.#last;
    return last?.role === 'operand' ? last : this.#begin('operand', index);
  }

  #endPiece(index: number): void {
    const last = this.#last;
    if (last === undefined) return;
    last.end = index;
    if (last.role === 'operator') last.add(ANY, index);
  }

  /** Adds an empty operand if none follows a sign or an operator. */
  #endSequence(index: number): void {
    if (this.#last !== undefined) this.#operand(index);
    this.#endPiece(index);
  }

  /**
   * Closes an expression in parentheses; if it is empty, the grammar decides whether that is valid.
   */
  #close(index: number): void {
    this.#endSequence(index);
    const sequence = this.#open.pop();
    if (sequence === undefined || sequence.pieces.length === 0) return;
    const outer = this.#operand(index);
    outer.inner.push(sequence);
    outer.add(ANY, index);
  }
}

/** Actions on the pieces, in the order of Prometheus's parser. */
export interface OperandActions<T> {
  operand(piece: Piece): T;
  signed(sign: Piece, operand: T): T;
  combined(operator: Piece, lhs: T, rhs: T): T;
  /** The operator of a piece, as a key of the table. */
  operatorOf(piece: Piece): string;
}

const POWER = BINDING_LEVELS.length - 1;

/** Binding level of a sign: looser than `^`, tighter than all others. */
const SIGN = POWER - 0.5;

/** A loop, because a chain may be thousands long. */
export function combine<T>(pieces: readonly Piece[], actions: OperandActions<T>): T {
  const made: T[] = [];
  const waiting: { readonly piece: Piece; readonly level: number }[] = [];
  const take = (): T => {
    if (made.length === 0) throw new Error('An operator has no operand');
    return made.pop() as T;
  };
  /** Reduces the operators that bind at least as tightly as `level`. */
  const settle = (level: number): void => {
    for (let last = waiting.at(-1); last !== undefined; last = waiting.at(-1)) {
      if (last.level < level) return;
      waiting.pop();
      const rhs = take();
      if (last.level === SIGN) made.push(actions.signed(last.piece, rhs));
      else made.push(actions.combined(last.piece, take(), rhs));
    }
  };
  for (const piece of pieces) {
    if (piece.role === 'operand') made.push(actions.operand(piece));
    else if (piece.role === 'sign') waiting.push({ piece, level: SIGN });
    else {
      const level = LEVEL_OF.get(actions.operatorOf(piece)) ?? -1;
      settle(level === POWER ? level + 1 : level);
      waiting.push({ piece, level });
    }
  }
  settle(-1);
  return take();
}
