/**
 * A bound on how deep an expression may nest, found on its tokens before anything recurses over
 * it: the parser, the evaluator and the printer all do.
 */
import { parseError } from './parse-error.ts';
import type { Token } from './token.ts';

/**
 * Levels of the tree, each operator and each pair of parentheses counted as one. Dashboards stay
 * below 50; a stack holds some thousands.
 */
export const EXPRESSION_DEPTH_MAX = 500;

/** Throws `PromqlError` bad_data. */
export function refuseDepth(text: string, tokens: readonly Token[]): void {
  /** Operators so far in each open parenthesis. */
  const open = [0];
  let depth = 0;
  let inBraces = false;
  for (const { kind, word, from, to } of tokens) {
    if (word === '{' || word === '}') inBraces = word === '{';
    if (inBraces) continue;
    if (word === '(') {
      open.push(1);
      depth++;
    } else if (word === ')' || (word === ',' && open.length > 1)) {
      depth -= (open.pop() ?? 0) - 1;
      if (word === ')') depth--;
      else open.push(1);
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
