/** Errors of an expression's text, in the shape of Prometheus: `1:5: parse error: ...`. */
import type { Span } from '../ast.ts';
import { PromqlError, positionOf } from '../errors.ts';

/** `span` null: about no place, told as the first. */
export function parseError(text: string, span: Span | null, message: string): PromqlError {
  const place = text === '' ? 'unknown position' : positionOf(text, span?.from ?? 0);
  return new PromqlError('bad_data', `${place}: parse error: ${message}`, span);
}
