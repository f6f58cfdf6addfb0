/**
 * The plan of an expression, made before any sample is read: the parts that have one value for all
 * steps, which are computed once and repeated; and the selectors that occur more than once, which
 * are read once.
 */
import {
  type AtModifier,
  type Expr,
  foldOperators,
  type Leaf,
  type VectorSelector,
} from '../ast.ts';
import type { Matcher } from '../matcher.ts';

/** Facts known about an expression before it is evaluated. */
export interface Plan {
  /** Parts that do not depend on the step, except literals. */
  readonly invariant: ReadonlySet<Expr>;
  /** `selectorKey`s that occur more than once. */
  readonly repeated: ReadonlySet<string>;
}

/** Functions whose result depends on the time of the step even if their argument does not. */
const TIME_DEPENDENT: ReadonlySet<string> = new Set([
  'day_of_month',
  'day_of_week',
  'day_of_year',
  'days_in_month',
  'hour',
  'minute',
  'month',
  'predict_linear',
  'time',
  'timestamp',
  'year',
]);

/** Plans an expression in one pass over its tree. It evaluates nothing and reads nothing. */
export function planOf(expr: Expr): Plan {
  const planner = new Planner();
  planner.isInvariant(expr);
  return planner;
}

/** Walks the whole expression. Source of the rules: Prometheus 3.5, `preprocessExprHelper`. */
class Planner implements Plan {
  readonly invariant = new Set<Expr>();
  readonly repeated = new Set<string>();
  readonly #seen = new Set<string>();

  isInvariant(expr: Expr): boolean {
    return foldOperators<boolean>(expr, {
      leaf: (node) => this.#recorded(node, this.#isInvariantLeaf(node)),
      unary: (node, operand) => this.#recorded(node, operand),
      binary: (node, lhs, rhs) => this.#recorded(node, lhs && rhs),
    });
  }

  #recorded(node: Expr, isInvariant: boolean): boolean {
    if (isInvariant && node.kind !== 'number' && node.kind !== 'string') this.invariant.add(node);
    return isInvariant;
  }

  #isInvariantLeaf(node: Leaf): boolean {
    switch (node.kind) {
      case 'number':
      case 'string':
        return true;
      case 'vectorSelector':
        this.#recordSelector(node);
        return node.at !== null;
      case 'matrixSelector':
        this.#recordSelector(node.selector);
        return node.selector.at !== null;
      case 'subquery':
        this.isInvariant(node.expr);
        return node.at !== null;
      case 'call': {
        const args = node.args.map((argument) => this.isInvariant(argument));
        return !TIME_DEPENDENT.has(node.func.name) && args.every(Boolean);
      }
      case 'aggregate':
        // As in Prometheus, the parameter does not count: its value at the first step is used.
        if (node.param !== null) this.isInvariant(node.param);
        return this.isInvariant(node.expr);
      case 'paren':
        return this.isInvariant(node.expr);
    }
  }

  #recordSelector(selector: VectorSelector): void {
    const key = selectorKey(selector);
    if (this.#seen.has(key)) this.repeated.add(key);
    this.#seen.add(key);
  }
}

/** Equal for selectors that choose the same series at the same times. */
export function selectorKey({ matchers, offsetMs, at }: VectorSelector): string {
  return JSON.stringify([matchersKey(matchers), offsetMs, atKey(at)]);
}

/** Key of a set of matchers, regardless of their order. */
export function matchersKey(matchers: readonly Matcher[]): string {
  return JSON.stringify(matchers.map(({ label, op, value }) => [label, op, value]).sort());
}

function atKey(at: AtModifier | null): string | number | null {
  return at === null || typeof at === 'string' ? at : at.ms;
}
