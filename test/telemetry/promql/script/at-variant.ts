/**
 * An expression with `@ TIME` added to each of its selectors. Evaluated at any other time it must
 * give the same result. Made only from the text and the grammar's tree, not by the engine's parser,
 * which is under test.
 */
import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';

/** Functions whose answer depends on the time of evaluation, for any arguments. */
const TIME_DEPENDENT =
  /\b(days_in_month|day_of_month|day_of_week|day_of_year|hour|minute|month|year|predict_linear|time|timestamp)\s*\(/i;

const SELECTING = new Set(['VectorSelector', 'MatrixSelector', 'SubqueryExpr']);
/**
 * Text after a selector that already has an `@`. The tree cannot show this, because it binds `@`
 * too loosely.
 */
const HAS_AT = /^\s*(offset\s+-?\s*\w+\s*)?@/i;

/** null if the answer still depends on the time, or the expression does not parse. */
export function atVariant(expression: string, timeMs: number): string | null {
  if (TIME_DEPENDENT.test(expression)) return null;
  const places: number[] = [];
  if (!collect(parser.parse(expression).topNode, places)) return null;
  let text = expression;
  for (const place of places.sort((a, b) => b - a)) {
    const rest = text.slice(place);
    if (!HAS_AT.test(rest)) text = `${text.slice(0, place)} @ ${timeMs / 1000}${rest}`;
  }
  return text;
}

/** Ends of the selectors; false if the tree has an error. */
function collect(node: SyntaxNode, places: number[]): boolean {
  if (node.type.isError) return false;
  if (SELECTING.has(node.name)) {
    // Nested nodes are evaluated at the times that this node sets.
    places.push(node.to);
    return true;
  }
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (!collect(child, places)) return false;
  }
  return true;
}
