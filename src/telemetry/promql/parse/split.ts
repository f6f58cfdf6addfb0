/**
 * An expression cut up into its operators, signs and operands, each to be shown to the grammar by
 * itself: the grammar nests a chain of operators as deep as it is long, and fails. What an
 * operand has in parentheses is cut up in turn, and `""` stands for it.
 */
import type { CanonicalToken } from './canonical.ts';
import { BINDING_LEVELS, LEVEL_OF } from './token.ts';

/** One expression from left to right: of a tree's root, in parentheses, or an argument. */
export interface Sequence {
  readonly pieces: Piece[];
}

/** One operator, sign or operand, and the text that the grammar is shown for it. */
export class Piece {
  readonly role: 'operator' | 'sign' | 'operand';
  /** Words with blanks between, for the grammar. */
  text = '';
  /** Offsets of each word in `text`, and the index of the token that it stands for. */
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  readonly indices: number[] = [];
  /** What its parentheses hold, in the order of the `""` for them. */
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

/**
 * An expression in pieces: the sequence at the top, and those in parentheses reached from its
 * pieces.
 */
export interface SplitExpression {
  readonly root: Sequence;
  /** Those of all sequences. */
  readonly pieces: readonly Piece[];
}

/** Puts no piece in order: where tokens are out of place, one of the pieces is no expression. */
export function splitExpression(tokens: readonly CanonicalToken[]): SplitExpression {
  const splitter = new Splitter();
  for (const [index, token] of tokens.entries()) splitter.add(token, index);
  return splitter.finish(tokens.length);
}

/** Any expression, where one must stand. */
const ANY = '""';

class Splitter {
  readonly #pieces: Piece[] = [];
  readonly #root: Sequence = { pieces: [] };
  /** The innermost last; around each, the operand whose parenthesis is open is the last piece. */
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

  /** With an operand that is empty, where there is none behind a sign or an operator. */
  #endSequence(index: number): void {
    if (this.#last !== undefined) this.#operand(index);
    this.#endPiece(index);
  }

  /** An expression in parentheses; where there is none, the grammar decides whether it may lack. */
  #close(index: number): void {
    this.#endSequence(index);
    const sequence = this.#open.pop();
    if (sequence === undefined || sequence.pieces.length === 0) return;
    const outer = this.#operand(index);
    outer.inner.push(sequence);
    outer.add(ANY, index);
  }
}

/** What is made of the pieces, in the order in which Prometheus's parser makes it. */
export interface OperandActions<T> {
  operand(piece: Piece): T;
  signed(sign: Piece, operand: T): T;
  combined(operator: Piece, lhs: T, rhs: T): T;
  /** The operator of a piece, as a key of the table. */
  operatorOf(piece: Piece): string;
}

const POWER = BINDING_LEVELS.length - 1;

/** Of a sign: looser than `^`, tighter than all others. */
const SIGN = POWER - 0.5;

/** A loop, because a chain may be thousands long. */
export function combine<T>(pieces: readonly Piece[], actions: OperandActions<T>): T {
  const made: T[] = [];
  const waiting: { readonly piece: Piece; readonly level: number }[] = [];
  const take = (): T => {
    if (made.length === 0) throw new Error('An operator has no operand');
    return made.pop() as T;
  };
  /** Makes what binds as tight as `level` at least. */
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
