/** An expression's tree as JSON, in the shape of Prometheus 3.5's `/api/v1/parse_query`. */
import {
  type AtModifier,
  type Binary,
  type Call,
  type Expr,
  foldOperators,
  type Leaf,
  type VectorSelector,
} from '../ast.ts';
import { formatNumber } from './print.ts';

/** One node as plain JSON, its children nested in it. */
export type Described = Readonly<Record<string, unknown>>;

/** As deep as the expression, which may exceed the depth that `JSON.stringify` supports. */
export function describeExpression(root: Expr): Described {
  return foldOperators<Described>(root, {
    leaf: describeLeaf,
    unary: ({ op }, expr) => ({ type: 'unaryExpr', op, expr }),
    binary: (node, lhs, rhs) => ({
      type: 'binaryExpr',
      op: node.op,
      lhs,
      rhs,
      matching: describeMatching(node),
      bool: node.bool,
    }),
  });
}

function describeLeaf(expr: Leaf): Described {
  switch (expr.kind) {
    case 'number':
      return { type: 'numberLiteral', val: formatNumber(expr.value) };
    case 'string':
      return { type: 'stringLiteral', val: expr.value };
    case 'vectorSelector':
      return { type: 'vectorSelector', ...describeSelector(expr) };
    case 'matrixSelector':
      return { type: 'matrixSelector', range: expr.rangeMs, ...describeSelector(expr.selector) };
    case 'subquery':
      return {
        type: 'subquery',
        expr: describeExpression(expr.expr),
        range: expr.rangeMs,
        step: expr.stepMs ?? 0,
        offset: expr.offsetMs,
        ...describeAt(expr.at),
      };
    case 'call':
      return {
        type: 'call',
        func: describeFunction(expr),
        args: expr.args.map(describeExpression),
      };
    case 'aggregate':
      return {
        type: 'aggregation',
        op: expr.op,
        expr: describeExpression(expr.expr),
        param: expr.param === null ? null : describeExpression(expr.param),
        grouping: expr.grouping,
        without: expr.without,
      };
    case 'paren':
      return { type: 'parenExpr', expr: describeExpression(expr.expr) };
  }
}

function describeSelector({ name, matchers, offsetMs, at }: VectorSelector): Described {
  return {
    name,
    matchers: matchers.map(({ label, op, value }) => ({ name: label, type: op, value })),
    offset: offsetMs,
    ...describeAt(at),
  };
}

function describeAt(at: AtModifier | null): Described {
  if (typeof at === 'string') return { timestamp: null, startOrEnd: at };
  return { timestamp: at?.ms ?? null, startOrEnd: null };
}

function describeMatching({ matching }: Binary): Described | null {
  if (matching === null) return null;
  const { cardinality, on, labels, include } = matching;
  return { card: cardinality, on, labels, include };
}

function describeFunction({ func }: Call): Described {
  const { name, args, variadic, returns } = func;
  return { name, variadic, argTypes: args, returnType: returns };
}
