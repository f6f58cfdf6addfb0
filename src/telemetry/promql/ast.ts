/**
 * The typed syntax tree of a PromQL expression after the checker: every literal is a value, every
 * duration is in milliseconds, every matcher is compiled. The evaluator switches over `kind`; an
 * unknown kind cannot exist. Source: Prometheus 3.5, `promql/parser/ast.go`.
 */
import type { Matcher } from './matcher.ts';

/** Offsets into the expression's text, `to` exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * The four types of the language. A matrix is the value of a range selector or subquery; only
 * functions over ranges take it, and an instant query may return one.
 */
export type ValueType = 'scalar' | 'string' | 'vector' | 'matrix';

/** The time that an `@` fixes: Unix ms, or an end of the query's range. */
export type AtModifier = { readonly ms: number } | 'start' | 'end';

/** A number in any of Go's notations. `Inf` and `NaN` are numbers too. */
export interface NumberLiteral {
  readonly kind: 'number';
  readonly value: number;
  /** Written as a duration (`5m`; the value is in seconds) and printed as one. */
  readonly isDuration?: true;
  readonly span: Span;
}

/**
 * A string with its escapes resolved. It is a whole expression or an argument of a function; no
 * operator takes it.
 */
export interface StringLiteral {
  readonly kind: 'string';
  readonly value: string;
  readonly span: Span;
}

/**
 * `name{label="value"} offset 5m @ 0`: for each matching series, the newest sample within the
 * lookback.
 */
export interface VectorSelector {
  readonly kind: 'vectorSelector';
  /** The metric name if it was written in front of the braces, otherwise ''. */
  readonly name: string;
  /** All matchers, including the one for the name. */
  readonly matchers: readonly Matcher[];
  /** Positive looks back, ms. */
  readonly offsetMs: number;
  readonly at: AtModifier | null;
  readonly span: Span;
}

/**
 * `selector[5m]`: for each matching series, all samples of the window that ends at the step. The
 * window is left-open: it excludes a sample exactly `rangeMs` old.
 */
export interface MatrixSelector {
  readonly kind: 'matrixSelector';
  /** Carries the offset and `@` too. */
  readonly selector: VectorSelector;
  readonly rangeMs: number;
  readonly span: Span;
}

/**
 * `expr[30m:1m]`: the expression evaluated at each multiple of `stepMs` in the window, as samples
 * of a range.
 */
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

/**
 * Signature of a function: the checker compares calls with it, and `/api/v1/parse_query` returns
 * it.
 */
export interface FunctionSignature {
  readonly name: string;
  readonly args: readonly ValueType[];
  /** 0: exactly `args`; 1: the last may be left out; -1: the last may be left out or repeated. */
  readonly variadic: 0 | 1 | -1;
  readonly returns: ValueType;
}

/** A call whose arguments match the signature in number and type. */
export interface Call {
  readonly kind: 'call';
  readonly func: FunctionSignature;
  readonly args: readonly Expr[];
  readonly span: Span;
}

/**
 * Aggregation operators of Prometheus 3.5, except those behind a feature flag (`limitk`,
 * `limit_ratio`).
 */
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

/**
 * `op by (labels) (param, expr)`. `grouping` names the labels to keep or, with `without`, to drop.
 */
export interface Aggregate {
  readonly kind: 'aggregate';
  readonly op: AggregateOp;
  readonly expr: Expr;
  /** Parameter of topk, bottomk, count_values and quantile; null for the others. */
  readonly param: Expr | null;
  readonly grouping: readonly string[];
  readonly without: boolean;
  readonly span: Span;
}

/** Arithmetic, comparison and set operators. Their precedence is already in the tree. */
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

/**
 * How series of both sides are paired: `on`, `ignoring`, `group_left` and `group_right`. Without
 * any of them, all labels except the name are compared.
 */
export interface VectorMatching {
  readonly cardinality: 'one-to-one' | 'many-to-one' | 'one-to-many' | 'many-to-many';
  /** true: match on `labels` alone; false: on all labels except `labels`. */
  readonly on: boolean;
  readonly labels: readonly string[];
  /** Labels that group_left or group_right copies from the "one" side. */
  readonly include: readonly string[];
}

/**
 * An operator between two expressions. With `bool`, a comparison returns 0 or 1; without it, it
 * filters the left side.
 */
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

/** A sign before an expression; `+` changes nothing, `-` drops the metric name. */
export interface Unary {
  readonly kind: 'unary';
  readonly op: '+' | '-';
  readonly expr: Expr;
  readonly span: Span;
}

/** Parentheses, kept for printing and for `/api/v1/parse_query`; the value is that of `expr`. */
export interface Paren {
  readonly kind: 'paren';
  readonly expr: Expr;
  readonly span: Span;
}

/**
 * Any expression. The compiler checks that code which switches over `kind` without a default is
 * complete.
 */
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

/**
 * Expressions whose chains can be thousands long (`1 + 1 + ...`). They are walked with an explicit
 * stack, never by recursion.
 */
export type Operator = Unary | Binary;

/** All other expressions: their depth is that of the parentheses, which the parser bounds. */
export type Leaf = Exclude<Expr, Operator>;

/** Narrows to the kinds that must not be walked by recursion. */
export function isOperator(expr: Expr): expr is Operator {
  return expr.kind === 'binary' || expr.kind === 'unary';
}

/**
 * The operators and their operands in the order of evaluation: left side, right side, operator.
 * `isWhole`: true for an operator to be treated as an operand.
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
