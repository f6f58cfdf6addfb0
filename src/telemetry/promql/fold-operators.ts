/**
 * Walks the operators of an expression with a loop: a chain such as `a or b or c` leans to the left,
 * `^` and signs lean to the right, and both are as deep as the chain is long. Whatever else nests
 * (parentheses, calls, aggregations, subqueries) is a leaf here, and bounded in depth by the parser,
 * so that its callers may recurse into it.
 */
import type { Binary, Expr, Unary } from './ast.ts';

export type Operator = Unary | Binary;
export type Leaf = Exclude<Expr, Operator>;

export function isOperator(expr: Expr): expr is Operator {
  return expr.kind === 'binary' || expr.kind === 'unary';
}

/**
 * The operators and their operands in the order in which they are evaluated: left side, right side,
 * operator. `isWhole`: an operator that is not to be taken apart.
 */
export function inOrder(root: Expr, isWhole = (_: Operator): boolean => false): Expr[] {
  const backwards: Expr[] = [];
  const pending = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    backwards.push(node);
    if (!isOperator(node) || isWhole(node)) continue;
    if (node.kind === 'unary') pending.push(node.expr);
    else pending.push(node.lhs, node.rhs);
  }
  return backwards.reverse();
}

/** What becomes of each part. */
export interface OperatorActions<T> {
  leaf(expr: Leaf): T;
  unary(node: Unary, operand: T): T;
  binary(node: Binary, lhs: T, rhs: T): T;
}

/** Calls one action for each part, in order. */
export function foldOperators<T>(root: Expr, actions: OperatorActions<T>): T {
  const made: T[] = [];
  for (const node of inOrder(root)) {
    if (!isOperator(node)) {
      made.push(actions.leaf(node));
      continue;
    }
    const last = made.pop() as T;
    if (node.kind === 'unary') made.push(actions.unary(node, last));
    else made.push(actions.binary(node, made.pop() as T, last));
  }
  return made.pop() as T;
}
