/**
 * PromQL text to a checked, frozen tree: tokens, then their syntax, then values and modifiers, then
 * types. Read in that order: `lexer.ts`, `syntax-tree.ts`, `build.ts`, `check.ts`. Semantics and
 * words of errors are those of Prometheus 3.5.3 with default flags.
 */
import type { Expr } from '../ast.ts';
import { buildExpression } from './build.ts';
import { BuildContext } from './build-context.ts';
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
  refuseDepth(text, tokens);
  const parsed = parseSyntax(tokens);
  if (!parsed.ok && parsed.index < tokens.length) {
    const { words, index } = parsed;
    throw unknownFunction(text, tokens, index) ?? syntaxError(text, { tokens, words, index });
  }
  if (fault !== null) {
    const span = { from: fault.at, to: text.length };
    const unknown = unknownFunction(text, tokens, tokens.length);
    throw unknown ?? parseError(text, span, fault.message);
  }
  if (!parsed.ok) throw new Error('The grammar gave up after the end of the expression');
  const context = new BuildContext(text, parsed.tree);
  return checkExpression(text, buildExpression(context, parsed.tree.root));
}
