/**
 * What can be known of an expression before any sample is read: which parts have one value for all
 * steps, so that they are computed at one step and spread, and which selectors are written more
 * than once, so that they are read once.
 */
import type { AtModifier, Expr, VectorSelector } from '../ast.ts';
import type { Matcher } from '../matcher.ts';

export interface Plan {
  /** Parts that do not depend on the step; literals are not among them. */
  readonly invariant: ReadonlySet<Expr>;
  /** `selectorKey`s that occur more than once. */
  readonly repeated: ReadonlySet<string>;
}

/** The time of the step is in their result even where it is not in their argument. */
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

/** Source of the rules: Prometheus 3.5, `preprocessExprHelper`. */
export function planOf(expr: Expr): Plan {
  const invariant = new Set<Expr>();
  const seen = new Set<string>();
  const repeated = new Set<string>();

  function noteSelector(selector: VectorSelector): void {
    const key = selectorKey(selector);
    if (seen.has(key)) repeated.add(key);
    seen.add(key);
  }

  function isInvariant(node: Expr): boolean {
    const answer = isInvariantKind(node);
    if (answer && node.kind !== 'number' && node.kind !== 'string') invariant.add(node);
    return answer;
  }

  function isInvariantKind(node: Expr): boolean {
    switch (node.kind) {
      case 'number':
      case 'string':
        return true;
      case 'vectorSelector':
        noteSelector(node);
        return node.at !== null;
      case 'matrixSelector':
        noteSelector(node.selector);
        return node.selector.at !== null;
      case 'subquery':
        isInvariant(node.expr);
        return node.at !== null;
      case 'call': {
        const args = node.args.map(isInvariant);
        return !TIME_DEPENDENT.has(node.func.name) && args.every(Boolean);
      }
      case 'aggregate':
        // As in Prometheus the parameter does not count: it is then the one of the first step.
        if (node.param !== null) isInvariant(node.param);
        return isInvariant(node.expr);
      case 'binary': {
        const lhs = isInvariant(node.lhs);
        return isInvariant(node.rhs) && lhs;
      }
      case 'unary':
      case 'paren':
        return isInvariant(node.expr);
    }
  }

  isInvariant(expr);
  return { invariant, repeated };
}

/** Equal for selectors that choose the same series at the same times. */
export function selectorKey({ matchers, offsetMs, at }: VectorSelector): string {
  return JSON.stringify([matchersKey(matchers), offsetMs, atKey(at)]);
}

export function matchersKey(matchers: readonly Matcher[]): string {
  return JSON.stringify(matchers.map(({ label, op, value }) => [label, op, value]).sort());
}

function atKey(at: AtModifier | null): string | number | null {
  return at === null || typeof at === 'string' ? at : at.ms;
}
