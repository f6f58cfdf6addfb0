/**
 * Errors as Prometheus's HTTP API tells them: status, `errorType` and text. What is wrong with an
 * expression names the parameter it came in; the rest is told as it is.
 */
import type { PromqlError, PromqlErrorKind } from '../promql/errors.ts';
import { encodeError } from './promql-json.ts';
import type { PromqlCall } from './promql-request.ts';

const STATUS: Readonly<Record<PromqlErrorKind, number>> = {
  bad_data: 400,
  execution: 422,
  timeout: 503,
  canceled: 499,
};

/** `call`: whose expression or selectors the error is about; undefined when about neither. */
export function errorAnswer(
  { kind, message }: Pick<PromqlError, 'kind' | 'message'>,
  call?: PromqlCall,
): { readonly status: number; readonly body: Uint8Array<ArrayBuffer> } {
  const isAboutText = kind === 'bad_data' && call !== undefined;
  const text = isAboutText ? `invalid parameter "${parameterOf(call)}": ${message}` : message;
  return { status: STATUS[kind], body: encodeError(kind, text) };
}

function parameterOf(call: PromqlCall): 'query' | 'match[]' {
  return 'expression' in call ? 'query' : 'match[]';
}
