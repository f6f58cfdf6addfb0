/**
 * Walks the operators of an expression with a loop: a chain such as `a or b or c` leans to the left,
 * `^` and signs lean to the right, and both are as deep as the chain is long. Whatever else nests
 * (parentheses, calls, aggregations, subqueries) is a leaf here, and bounded in depth by the parser,
 * so that its callers may recurse into it.
 */
import type { Binary, Expr, Unary } from './ast.ts';

export type Operator = Unary | Binary;
export type Leaf = Exclude<Expr, Operator>;

/** What becomes of each part, in the order of the text: the left side, the right side, then both. */
export interface OperatorActions<T> {
  leaf(expr: Leaf): T;
  unary(node: Unary, operand: T): T;
  binary(node: Binary, lhs: T, rhs: T): T;
  /** The value of an operator that is not to be taken apart, undefined for all others. */
  whole?(node: Operator): T | undefined;
}

/** Calls one action for each part, so that its time is that of the actions. */
export function foldOperators<T>(root: Expr, actions: OperatorActions<T>): T {
  const made: T[] = [];
  /** The last of them is next; an operator comes twice, and is made when it does so again. */
  const pending: Expr[] = [root];
  const opened: Expr[] = [];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.kind !== 'unary' && node.kind !== 'binary') made.push(actions.leaf(node));
    else if (opened.at(-1) === node) {
      opened.pop();
      const last = made.pop() as T;
      if (node.kind === 'unary') made.push(actions.unary(node, last));
      else made.push(actions.binary(node, made.pop() as T, last));
    } else {
      const whole = actions.whole?.(node);
      if (whole !== undefined) {
        made.push(whole);
        continue;
      }
      opened.push(node);
      pending.push(node);
      if (node.kind === 'unary') pending.push(node.expr);
      else pending.push(node.rhs, node.lhs);
    }
  }
  return made.pop() as T;
}
