/**
 * Parses PromQL text to a checked, frozen tree: tokens, then their pieces and the syntax of each,
 * then values and modifiers, then types. Read in this order: `lexer.ts`, `canonical.ts`,
 * `split.ts`, `syntax-tree.ts`, `build.ts`, `check.ts`. Semantics and error texts are those of
 * Prometheus 3.5.3 with default flags.
 */
import type { Expr } from '../ast.ts';
import { parseError } from '../errors.ts';
import { buildExpression } from './build.ts';
import { type CanonicalToken, canonicalTokens } from './canonical.ts';
import { checkExpression } from './check.ts';
import { lex } from './lexer.ts';
import { syntaxError, unknownFunction } from './syntax-error.ts';
import { parseSyntax } from './syntax-tree.ts';
import type { Token } from './token.ts';

/** Throws `PromqlError` bad_data: `1:5: parse error: ...`. The tree may be shared between queries. */
export function parseExpression(text: string): Expr {
  const { tokens, fault } = lex(text);
  if (tokens[0]?.kind === 'end') throw parseError(text, null, 'no expression found in input');
  const canonical = canonicalTokens(tokens);
  refuseDepth(text, tokens, canonical);
  const syntax = parseSyntax(tokens, canonical);
  if (!syntax.ok && syntax.index < tokens.length) {
    const { index } = syntax;
    const words = canonical.map(({ word }) => word);
    throw unknownFunction(text, tokens, index) ?? syntaxError(text, { tokens, words, index });
  }
  if (fault !== null) {
    const span = { from: fault.at, to: text.length };
    const unknown = unknownFunction(text, tokens, tokens.length);
    throw unknown ?? parseError(text, span, fault.message);
  }
  if (!syntax.ok) throw new Error('The grammar failed after the end of the expression');
  return checkExpression(text, buildExpression(text, syntax.parsed));
}

/**
 * Maximum nesting: pairs of parentheses, plus the ranges, modifiers and duration signs of an
 * operand, one each. Dashboards stay below 50; the stack can hold a few thousand.
 */
export const EXPRESSION_DEPTH_MAX = 500;

/** Throws `PromqlError` bad_data. `canonical`: the words of the tokens. */
function refuseDepth(
  text: string,
  tokens: readonly Token[],
  canonical: readonly CanonicalToken[],
): void {
  /** Depth per open parenthesis: itself, plus the nesting of its last operand so far. */
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
