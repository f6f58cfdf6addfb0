/**
 * A bound on how deep an expression may nest, found on its tokens before anything recurses over
 * it: the parser, the evaluator and the printer all do. Operators do not count: they are walked by
 * loops, however many there are.
 */
import type { CanonicalToken } from './canonical.ts';
import { parseError } from './parse-error.ts';
import type { Token } from './token.ts';

/**
 * Pairs of parentheses, and the ranges, modifiers and signs of durations that an operand has, each
 * counted as one. Dashboards stay below 50; a stack holds some thousands.
 */
export const EXPRESSION_DEPTH_MAX = 500;

/** Throws `PromqlError` bad_data. `canonical`: of the tokens. */
export function refuseDepth(
  text: string,
  tokens: readonly Token[],
  canonical: readonly CanonicalToken[],
): void {
  /** In each open parenthesis, it and what its last operand nests so far. */
  const open = [0];
  let depth = 0;
  let inBraces = false;
  for (const [i, { kind, word, from, to }] of tokens.entries()) {
    const place = canonical[i]?.place;
    if (word === '{' || word === '}') inBraces = word === '{';
    if (inBraces || place === 'sign') continue;
    if (word === '(') {
      open.push(1);
      depth++;
    } else if (word === ')') depth -= open.pop() ?? 0;
    else if (place === 'operator' || place === 'comma') {
      const isOpen = open.length > 1 ? 1 : 0;
      depth -= (open.pop() ?? 0) - isOpen;
      open.push(isOpen);
    } else if (kind === 'operator' || word === '[' || word === 'offset') {
      open.push((open.pop() ?? 0) + 1);
      depth++;
    }
    if (depth > EXPRESSION_DEPTH_MAX) {
      const message = `expression nests more than ${EXPRESSION_DEPTH_MAX} operators and parentheses`;
      throw parseError(text, { from, to }, message);
    }
  }
}
