/**
 * What Prometheus says about a token that cannot stand where it does: it tells what it was reading
 * and what it expected, for the few constructs whose rules know errors
 * (`promql/parser/generated_parser.y`). The innermost of them that is still open decides.
 */
import { describeToken, type Token } from './token.ts';

export function unexpected(tokens: readonly Token[], index: number): string {
  const token = tokens[index];
  if (token === undefined) throw new Error('No token is out of place');
  return `unexpected ${describeToken(token)}${contextOf(tokens, index)}`;
}

function contextOf(_tokens: readonly Token[], _index: number): string {
  return '';
}
