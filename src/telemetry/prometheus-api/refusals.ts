/**
 * Refusals of the PromQL URL in Prometheus's envelope. Its `errorType` has no word for who may not
 * ask or asks too much; the stable reason of the service's catalogue stands in front of the text.
 */
import type { FastifyError, FastifyReply } from 'fastify';
import type { Refusal } from '../../../streams/platform/refusal.ts';
import { httpStatusOf } from '../../platform/errors.ts';
import { PromqlError } from '../promql/errors.ts';
import { errorAnswer } from '../query/promql-error-answer.ts';
import { encodeError, type PromqlErrorType } from '../query/promql-json.ts';

const ERROR_TYPES: Readonly<Record<number, PromqlErrorType>> = {
  400: 'bad_data',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  429: 'too_many_requests',
  503: 'unavailable',
  504: 'timeout',
};
const RETRY_AFTER_SECONDS = '1';

/** 401 says how to authenticate, 429 and 503 when to come again. */
export function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { reason, message, metadata } = refusal;
  const status = reason === 'QUERY_TIMEOUT' ? 503 : httpStatusOf(reason);
  const errorType = reason === 'QUERY_TIMEOUT' ? 'timeout' : (ERROR_TYPES[status] ?? 'internal');
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (status === 429 || status === 503) {
    reply.header('retry-after', metadata.retryAfterSeconds ?? RETRY_AFTER_SECONDS);
  }
  return tell(reply, { status, body: encodeError(errorType, `${reason}: ${message}`) });
}

/** What the framework refuses: a body that is too large, or not what its headers say. */
export function tellBadRequest(reply: FastifyReply, error: FastifyError): FastifyReply {
  const body = encodeError('bad_data', error.message);
  return tell(reply, { status: error.statusCode ?? 400, body });
}

export function tellPromqlError(reply: FastifyReply, error: PromqlError): FastifyReply {
  return tell(reply, errorAnswer(error));
}

/** Nobody is there to read it; the status is what the request's record shows. */
export function tellGone(reply: FastifyReply): FastifyReply {
  return tellPromqlError(reply, new PromqlError('canceled', 'the client has gone'));
}

export function tell(
  reply: FastifyReply,
  { status, body }: { readonly status: number; readonly body: Uint8Array },
): FastifyReply {
  return reply.code(status).type('application/json').send(body);
}
