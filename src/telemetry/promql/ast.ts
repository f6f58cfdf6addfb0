/**
 * The typed syntax tree of a PromQL expression, as the checker leaves it: every literal is a value,
 * every duration milliseconds, every matcher compiled. The evaluator switches over `kind`, and a
 * kind that it does not know cannot exist. Source: Prometheus 3.5, `promql/parser/ast.go`.
 */
import type { Matcher } from './matcher.ts';

/** Offsets into the expression's text, `to` exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export type ValueType = 'scalar' | 'string' | 'vector' | 'matrix';

/** The time an `@` fixes: Unix ms, or an end of the query's range. */
export type AtModifier = { readonly ms: number } | 'start' | 'end';

export interface NumberLiteral {
  readonly kind: 'number';
  readonly value: number;
  /** Written as a duration (`5m`, value in seconds), and printed as one. */
  readonly isDuration?: true;
  readonly span: Span;
}

export interface StringLiteral {
  readonly kind: 'string';
  readonly value: string;
  readonly span: Span;
}

export interface VectorSelector {
  readonly kind: 'vectorSelector';
  /** The metric's name where it was written in front of the braces, else ''. */
  readonly name: string;
  /** All matchers, the one for the name included. */
  readonly matchers: readonly Matcher[];
  /** Positive looks back, ms. */
  readonly offsetMs: number;
  readonly at: AtModifier | null;
  readonly span: Span;
}

export interface MatrixSelector {
  readonly kind: 'matrixSelector';
  /** Offset and `@` are the selector's. */
  readonly selector: VectorSelector;
  readonly rangeMs: number;
  readonly span: Span;
}

export interface Subquery {
  readonly kind: 'subquery';
  readonly expr: Expr;
  readonly rangeMs: number;
  /** null = the engine's default. */
  readonly stepMs: number | null;
  readonly offsetMs: number;
  readonly at: AtModifier | null;
  readonly span: Span;
}

export interface FunctionSignature {
  readonly name: string;
  readonly args: readonly ValueType[];
  /** 0: exactly `args`; 1: the last may be left out; -1: the last may be left out or repeated. */
  readonly variadic: 0 | 1 | -1;
  readonly returns: ValueType;
}

export interface Call {
  readonly kind: 'call';
  readonly func: FunctionSignature;
  readonly args: readonly Expr[];
  readonly span: Span;
}

export type AggregateOp =
  | 'sum'
  | 'avg'
  | 'count'
  | 'min'
  | 'max'
  | 'group'
  | 'stddev'
  | 'stdvar'
  | 'topk'
  | 'bottomk'
  | 'count_values'
  | 'quantile';

export interface Aggregate {
  readonly kind: 'aggregate';
  readonly op: AggregateOp;
  readonly expr: Expr;
  /** Of topk, bottomk, count_values and quantile; null for the others. */
  readonly param: Expr | null;
  readonly grouping: readonly string[];
  readonly without: boolean;
  readonly span: Span;
}

export type BinaryOp =
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '^'
  | 'atan2'
  | '=='
  | '!='
  | '<'
  | '>'
  | '<='
  | '>='
  | 'and'
  | 'or'
  | 'unless';

export interface VectorMatching {
  readonly cardinality: 'one-to-one' | 'many-to-one' | 'one-to-many' | 'many-to-many';
  /** true: match on `labels` alone; false: on all but `labels`. */
  readonly on: boolean;
  readonly labels: readonly string[];
  /** Labels that group_left or group_right copies from the one side. */
  readonly include: readonly string[];
}

export interface Binary {
  readonly kind: 'binary';
  readonly op: BinaryOp;
  readonly lhs: Expr;
  readonly rhs: Expr;
  readonly bool: boolean;
  /** null unless both sides are vectors. */
  readonly matching: VectorMatching | null;
  readonly span: Span;
}

export interface Unary {
  readonly kind: 'unary';
  readonly op: '+' | '-';
  readonly expr: Expr;
  readonly span: Span;
}

export interface Paren {
  readonly kind: 'paren';
  readonly expr: Expr;
  readonly span: Span;
}

export type Expr =
  | NumberLiteral
  | StringLiteral
  | VectorSelector
  | MatrixSelector
  | Subquery
  | Call
  | Aggregate
  | Binary
  | Unary
  | Paren;

/** Type of the expression's value. */
export function typeOf(expr: Expr): ValueType {
  return foldOperators<ValueType>(expr, {
    leaf: typeOfLeaf,
    unary: (_, operand) => operand,
    binary: (_, lhs, rhs) => (lhs === 'scalar' && rhs === 'scalar' ? 'scalar' : 'vector'),
  });
}

function typeOfLeaf(expr: Leaf): ValueType {
  switch (expr.kind) {
    case 'number':
      return 'scalar';
    case 'string':
      return 'string';
    case 'matrixSelector':
    case 'subquery':
      return 'matrix';
    case 'call':
      return expr.func.returns;
    case 'paren':
      return typeOf(expr.expr);
    case 'vectorSelector':
    case 'aggregate':
      return 'vector';
  }
}

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

/** Actions for each kind of part. */
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
