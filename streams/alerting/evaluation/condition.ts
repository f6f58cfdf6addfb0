/** A rule's condition on one observed value: does it breach, and does it count for recovery? */
import type { EvaluationRule, Operator } from '../../telemetry/entry.ts';

/** Does `value` satisfy the operator against `threshold`? Exact comparison; NaN satisfies none. */
function compares(value: number, operator: Operator, threshold: number): boolean {
  switch (operator) {
    case 'GREATER_THAN':
      return value > threshold;
    case 'GREATER_THAN_OR_EQUAL':
      return value >= threshold;
    case 'LESS_THAN':
      return value < threshold;
    case 'LESS_THAN_OR_EQUAL':
      return value <= threshold;
    case 'EQUAL':
      return value === threshold;
    case 'NOT_EQUAL':
      return value < threshold || value > threshold;
    default:
      // A rule of another version of this program, for which nothing must be decided.
      throw new RangeError(`The operator ${operator} is not known`);
  }
}

/** Is the value in breach of the rule? */
export function isBreach(rule: EvaluationRule, value: number): boolean {
  return compares(value, rule.operator, rule.threshold);
}

/**
 * Does an observed value count towards recovery? It must not breach and, where the rule has a
 * recovery threshold, must not satisfy the operator against that one either. In between it
 * neither breaches nor recovers.
 */
export function isGood(rule: EvaluationRule, value: number): boolean {
  if (isBreach(rule, value)) return false;
  const { recoveryThreshold } = rule;
  return recoveryThreshold === undefined || !compares(value, rule.operator, recoveryThreshold);
}
