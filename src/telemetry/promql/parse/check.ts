/**
 * Checks types, arguments and matching, in the order and with the words of Prometheus 3.5
 * (`checkAST` of `promql/parser/parse.go`). Only the first error is reported, so the order is part
 * of the contract.
 */
import {
  type Aggregate,
  type Binary,
  type Call,
  type Expr,
  foldOperators,
  type Leaf,
  type Unary,
  type ValueType,
  type VectorMatching,
  type VectorSelector,
} from '../ast.ts';
import { type PromqlError, parseError } from '../errors.ts';
import { goQuote } from '../format-go.ts';
import { METRIC_NAME } from '../values.ts';

/**
 * Returns the same tree, frozen, with `matching` set only where both sides are vectors. Throws
 * `PromqlError` bad_data.
 */
export function checkExpression(text: string, expr: Expr): Expr {
  return new Checker(text).check(expr).expr;
}

interface Checked {
  readonly expr: Expr;
  readonly type: ValueType;
}

function checked(expr: Expr, type: ValueType): Checked {
  return { expr: Object.freeze(expr), type };
}

const NAMES: Readonly<Record<ValueType, string>> = {
  scalar: 'scalar',
  string: 'string',
  vector: 'instant vector',
  matrix: 'range vector',
};
const COMPARISONS = new Set(['==', '!=', '<', '>', '<=', '>=']);
const SET_OPERATORS = new Set(['and', 'or', 'unless']);
/** Blanks and comments between a left side and its operator. */
const BLANK = /(?:[ \t\r\n]|#[^\r\n]*)*/y;

class Checker {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  check(root: Expr): Checked {
    return foldOperators<Checked>(root, {
      leaf: (expr) => this.#leaf(expr),
      unary: (expr, operand) => this.#unary(expr, operand),
      binary: (expr, lhs, rhs) => this.#binary(expr, lhs, rhs),
    });
  }

  #leaf(expr: Leaf): Checked {
    switch (expr.kind) {
      case 'number':
        return checked(expr, 'scalar');
      case 'string':
        return checked(expr, 'string');
      case 'vectorSelector':
        return checked(this.#selector(expr), 'vector');
      case 'matrixSelector': {
        const selector = Object.freeze(this.#selector(expr.selector));
        return checked({ ...expr, selector }, 'matrix');
      }
      case 'subquery': {
        const { expr: inner, type } = this.check(expr.expr);
        if (type === 'vector') return checked({ ...expr, expr: inner }, 'matrix');
        throw this.#fault(expr, `subquery is only allowed on instant vector, got ${type} instead`);
      }
      case 'paren': {
        const { expr: inner, type } = this.check(expr.expr);
        return checked({ ...expr, expr: inner }, type);
      }
      case 'call':
        return checked(this.#call(expr), expr.func.returns);
      case 'aggregate':
        return checked(this.#aggregate(expr), 'vector');
    }
  }

  #unary(unary: Unary, { expr, type }: Checked): Checked {
    if (type === 'scalar' || type === 'vector') return checked({ ...unary, expr }, type);
    const allowed = 'unary expression only allowed on expressions of type scalar or instant vector';
    throw this.#fault(unary, `${allowed}, got "${NAMES[type]}"`);
  }

  #selector(selector: VectorSelector): VectorSelector {
    const { name, matchers } = selector;
    Object.freeze(matchers);
    if (name === '') {
      if (matchers.some((matcher) => !matcher.matches(''))) return selector;
      throw this.#fault(selector, 'vector selector must contain at least one non-empty matcher');
    }
    // The last matcher is the name in front of the braces.
    const second = matchers.slice(0, -1).find(({ label }) => label === METRIC_NAME);
    if (second === undefined) return selector;
    const names = `${goQuote(name)} or ${goQuote(second.value)}`;
    throw this.#fault(selector, `metric name must not be set twice: ${names}`);
  }

  #call(call: Call): Call {
    const { func, args } = call;
    const wanted = func.args.length;
    const problem = countProblem(call);
    if (problem !== undefined) {
      const expected = `expected ${problem} argument(s) in call to ${goQuote(func.name)}`;
      throw this.#fault(call, `${expected}, got ${args.length}`);
    }
    const fitting = args.map((arg, i) => {
      const type = func.args[Math.min(i, wanted - 1)] as ValueType;
      return this.#expect(arg, type, `call to function ${goQuote(func.name)}`);
    });
    return { ...call, args: Object.freeze(fitting) };
  }

  #aggregate(aggregate: Aggregate): Aggregate {
    const { op, param, grouping } = aggregate;
    const expr = this.#expect(aggregate.expr, 'vector', 'aggregation expression');
    Object.freeze(grouping);
    if (param === null) return { ...aggregate, expr };
    const type = op === 'count_values' ? 'string' : 'scalar';
    return { ...aggregate, expr, param: this.#expect(param, type, 'aggregation parameter') };
  }

  #expect(expr: Expr, wanted: ValueType, context: string): Expr {
    const { expr: inner, type } = this.check(expr);
    if (type === wanted) return inner;
    const message = `expected type ${NAMES[wanted]} in ${context}, got ${NAMES[type]}`;
    throw this.#fault(expr, message);
  }

  #binary(binary: Binary, lhs: Checked, rhs: Checked): Checked {
    const left = lhs.type;
    const right = rhs.type;
    const isComparison = COMPARISONS.has(binary.op);
    if (binary.bool && !isComparison) {
      throw this.#operatorFault(binary, 'bool modifier can only be used on comparison operators');
    }
    if (isComparison && !binary.bool && left === 'scalar' && right === 'scalar') {
      throw this.#operatorFault(binary, 'comparisons between scalars must use BOOL modifier');
    }
    const isSet = SET_OPERATORS.has(binary.op);
    const matching = this.#matching(binary);
    for (const { expr, type } of [lhs, rhs]) {
      if (type === 'scalar' || type === 'vector') continue;
      const message = 'binary expression must contain only scalar and instant vector types';
      throw this.#fault(expr, message);
    }
    const areVectors = left === 'vector' && right === 'vector';
    if (!areVectors && (matching?.labels.length ?? 0) > 0) {
      throw this.#fault(binary, 'vector matching only allowed between instant vectors');
    }
    if (areVectors && isSet && matching !== null && matching.cardinality !== 'many-to-many') {
      throw this.#fault(binary, `no grouping allowed for "${binary.op}" operation`);
    }
    if (isSet && !areVectors) {
      const message = `set operator "${binary.op}" not allowed in binary scalar expression`;
      throw this.#fault(binary, message);
    }
    const type = left === 'scalar' && right === 'scalar' ? 'scalar' : 'vector';
    const sides = { lhs: lhs.expr, rhs: rhs.expr };
    return checked({ ...binary, ...sides, matching: areVectors ? matching : null }, type);
  }

  /**
   * The matching, with the cardinality of set operators. A label is either matched or copied, not
   * both.
   */
  #matching(binary: Binary): VectorMatching | null {
    const { matching } = binary;
    if (matching === null) return null;
    const { on, labels, include } = matching;
    const copied = new Set(on ? include : []);
    const both = labels.find((label) => copied.has(label));
    if (both !== undefined) {
      const message = `label ${goQuote(both)} must not occur in ON and GROUP clause at once`;
      throw this.#operatorFault(binary, message);
    }
    Object.freeze(labels);
    Object.freeze(include);
    const isPlainSet = SET_OPERATORS.has(binary.op) && matching.cardinality === 'one-to-one';
    return Object.freeze(isPlainSet ? { ...matching, cardinality: 'many-to-many' } : matching);
  }

  #fault({ span }: Expr, message: string): PromqlError {
    return parseError(this.#text, span, message);
  }

  #operatorFault({ lhs, rhs }: Binary, message: string): PromqlError {
    BLANK.lastIndex = lhs.span.to;
    const from = lhs.span.to + (BLANK.exec(this.#text)?.[0].length ?? 0);
    return parseError(this.#text, { from, to: rhs.span.from }, message);
  }
}

/** Expected number of arguments as text; undefined if the call has it. */
function countProblem({ func, args }: Call): string | undefined {
  const wanted = func.args.length;
  if (func.variadic === 0) return args.length === wanted ? undefined : `${wanted}`;
  if (args.length < wanted - 1) return `at least ${wanted - 1}`;
  return func.variadic > 0 && args.length > wanted ? `at most ${wanted}` : undefined;
}
