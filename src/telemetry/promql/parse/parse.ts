/**
 * PromQL text to a checked, frozen tree: tokens, then their pieces and the syntax of each, then values
 * and modifiers, then types. Read in that order: `lexer.ts`, `canonical.ts`, `split.ts`,
 * `syntax-tree.ts`, `build.ts`, `check.ts`. Semantics and
 * words of errors are those of Prometheus 3.5.3 with default flags.
 */
import type { Expr } from '../ast.ts';
import { buildExpression } from './build.ts';
import { canonicalTokens } from './canonical.ts';
import { checkExpression } from './check.ts';
import { refuseDepth } from './depth.ts';
import { lex } from './lexer.ts';
import { parseError } from './parse-error.ts';
import { syntaxError, unknownFunction } from './syntax-error.ts';
import { parseSyntax } from './syntax-tree.ts';

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
  if (!syntax.ok) throw new Error('The grammar gave up after the end of the expression');
  return checkExpression(text, buildExpression(text, syntax.parsed));
}
