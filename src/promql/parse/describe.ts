/** An expression's tree as JSON, in the shape of Prometheus 3.5's `/api/v1/parse_query`. */
import type { AtModifier, Expr, VectorSelector } from '../ast.ts';
import { formatNumber } from './print.ts';

export type Described = Readonly<Record<string, unknown>>;

export function describeExpression(expr: Expr): Described {
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
    case 'binary':
      return {
        type: 'binaryExpr',
        op: expr.op,
        lhs: describeExpression(expr.lhs),
        rhs: describeExpression(expr.rhs),
        matching: describeMatching(expr),
        bool: expr.bool,
      };
    case 'unary':
      return { type: 'unaryExpr', op: expr.op, expr: describeExpression(expr.expr) };
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

function describeMatching({ matching }: Extract<Expr, { kind: 'binary' }>): Described | null {
  if (matching === null) return null;
  const { cardinality, on, labels, include } = matching;
  return { card: cardinality, on, labels, include };
}

function describeFunction({ func }: Extract<Expr, { kind: 'call' }>): Described {
  const { name, args, variadic, returns } = func;
  return { name, variadic, argTypes: args, returnType: returns };
}
