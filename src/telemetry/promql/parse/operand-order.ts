/**
 * Operators in the order in which they bind, by Prometheus's table
 * (`promql/parser/generated_parser.y`): `^` to the right, then signs, then the others, to the left.
 * Modifiers bind tighter still, and belong to operands.
 */
import type { Piece } from './split.ts';

/** What is made of the pieces, in the order in which Prometheus's parser makes it. */
export interface OperandActions<T> {
  operand(piece: Piece): T;
  signed(sign: Piece, operand: T): T;
  combined(operator: Piece, lhs: T, rhs: T): T;
  /** The operator of a piece, as a key of the table. */
  operatorOf(piece: Piece): string;
}

const LEVELS = ['or', 'and unless', '== != < > <= >=', '+ -', '* / % atan2', '^'];
/** How tight a binary operator binds. */
export const LEVEL_OF: ReadonlyMap<string, number> = new Map(
  LEVELS.flatMap((operators, level) => operators.split(' ').map((op) => [op, level] as const)),
);
const POWER = LEVELS.length - 1;
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
