/**
 * Operators in the order in which they bind. The editor's grammar lets `offset`, `@` and ranges
 * take everything to their left (`a + b offset 5m` as `(a + b) offset 5m`), so its nesting of
 * operators is undone to the sequence that was written, and nested again by Prometheus's table
 * (`promql/parser/generated_parser.y`): modifiers bind tightest, then `^` (to the right), signs,
 * and the others (to the left).
 */
import type { SyntaxNode } from '@lezer/common';
import {
  BinaryExpr,
  MatrixSelector,
  OffsetExpr,
  StepInvariantExpr,
  SubqueryExpr,
  UnaryExpr,
} from '@prometheus-io/lezer-promql';

/** One piece of an expression; `node` is the one that holds what belongs to it. */
export interface Piece {
  readonly role: 'sign' | 'operand' | 'modifier' | 'operator';
  readonly node: SyntaxNode;
}

/** What is made of the pieces, in the order in which Prometheus's parser makes it. */
export interface OperandActions<T> {
  operand(node: SyntaxNode): T;
  modified(node: SyntaxNode, operand: T): T;
  signed(node: SyntaxNode, operand: T): T;
  combined(node: SyntaxNode, lhs: T, rhs: T): T;
  /** The operator of a piece, as a key of the table. */
  operatorOf(node: SyntaxNode): string;
}

const LEVELS = ['or', 'and unless', '== != < > <= >=', '+ -', '* / % atan2', '^'];
const LEVEL_OF = new Map(
  LEVELS.flatMap((operators, level) => operators.split(' ').map((op) => [op, level] as const)),
);
const POWER = LEVELS.length - 1;

export function combine<T>(node: SyntaxNode, actions: OperandActions<T>): T {
  const pieces = piecesOf(node);
  let at = 0;
  const operand = (): T => {
    const piece = pieces[at++];
    if (piece?.role === 'sign') return actions.signed(piece.node, climb(POWER));
    if (piece?.role !== 'operand') throw new Error('An operator has no operand');
    let made = actions.operand(piece.node);
    for (let next = pieces[at]; next?.role === 'modifier'; next = pieces[++at]) {
      made = actions.modified(next.node, made);
    }
    return made;
  };
  const climb = (levelMin: number): T => {
    let lhs = operand();
    for (let next = pieces[at]; next !== undefined; next = pieces[at]) {
      const level = LEVEL_OF.get(actions.operatorOf(next.node)) ?? -1;
      if (level < levelMin) break;
      at++;
      lhs = actions.combined(next.node, lhs, climb(level === POWER ? level : level + 1));
    }
    return lhs;
  };
  return climb(0);
}

/** As written, from left to right. Not recursive: a chain may be thousands long. */
function piecesOf(root: SyntaxNode): Piece[] {
  const pieces: Piece[] = [];
  const pending: Piece[] = [{ role: 'operand', node: root }];
  for (let piece = pending.pop(); piece !== undefined; piece = pending.pop()) {
    const { role, node } = piece;
    if (role !== 'operand') {
      pieces.push(piece);
      continue;
    }
    const first = node.firstChild;
    const last = node.lastChild;
    const inner = {
      role: 'operand',
      node: (node.type.id === UnaryExpr ? last : first) ?? node,
    } as const;
    switch (node.type.id) {
      case BinaryExpr:
        pending.push({ role: 'operand', node: last ?? node }, { role: 'operator', node }, inner);
        break;
      case UnaryExpr:
        pending.push(inner, { role: 'sign', node });
        break;
      case OffsetExpr:
      case StepInvariantExpr:
      case MatrixSelector:
      case SubqueryExpr:
        pending.push({ role: 'modifier', node }, inner);
        break;
      default:
        pieces.push(piece);
    }
  }
  return pieces;
}
