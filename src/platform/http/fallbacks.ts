/**
 * Responses to requests without a route and to errors outside a handler: never a stack trace, and
 * never a 500 for a mistake of the caller. Each is Connect's JSON error with a reason from the
 * catalogue, on plain paths too. Bytes that are not an acceptable HTTP request (not HTTP, headers
 * too large, a request that never ends) are answered on the socket, which is then closed.
 */

import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { httpStatusOf, refusalBody, toConnectError } from '../errors.ts';
import type { Log } from '../log.ts';
import { errorAnswer, requestIn } from './envelopes.ts';

/**
 * Counted, never sent, for clients that disconnected before the response. nginx's number for it.
 */
export const CLIENT_GONE = 499;

/** Methods that a caller may have meant when a path takes another one. */
const METHODS = ['GET', 'POST'] as const;

/** `/package.Service/Method`. */
const RPC_PATH = /^\/[A-Za-z_]\w*(\.[A-Za-z_]\w*)+\/[A-Za-z_]\w*$/;

export function addFallbacks(app: FastifyInstance, log: Log): void {
  const refusePath = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const path = pathOf(request);
    // A route's placeholder for parameters is not part of any request, and not a path to request.
    const isPattern = /[*:]/.test(path);
    const allowed = METHODS.filter((method) => !isPattern && app.hasRoute({ method, url: path }));
    if (allowed.length > 0) return refuseMethod(request, reply, allowed);
    const message = isRpcPath(path)
      ? `${path} is not a method of this service`
      : `There is nothing at ${path}`;
    return sendRefusal(reply, new Refusal('UNKNOWN_PATH', message.toWellFormed()));
  };
  app.setNotFoundHandler(refusePath);
  // Before the body is read: a body without a route is never parsed.
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (request.is404) refusePath(request, reply);
    else done(null, payload);
  });
  app.setErrorHandler((error: FastifyError, request, reply) => {
    // The client disconnected and its work was aborted, which is not a fault.
    if (reply.raw.destroyed) {
      log.debug(
        { err: error, requestId: request.id, path: pathOf(request) },
        'The client disconnected',
      );
      return reply.code(CLIENT_GONE).send();
    }
    const refusal = refusalOf(error);
    // Fastify's own status, 413, is more exact on a plain route than the catalogue's.
    const status = isRpcPath(pathOf(request)) ? undefined : error.statusCode;
    if (refusal) return sendRefusal(reply, refusal, status);
    log.error({ err: error, requestId: request.id, path: pathOf(request) }, 'A request failed');
    const message = `The service failed; its log has the cause under request id ${request.id}`;
    return sendRefusal(reply, new Refusal('INTERNAL', message));
  });
}

/** The caller's mistake, or the service's stop, as a refusal; undefined if the fault is ours. */
function refusalOf(error: FastifyError | Refusal): Refusal | undefined {
  if (error instanceof Refusal) return error;
  const status = error.statusCode ?? 500;
  if (status === 413) return new Refusal('REQUEST_TOO_LARGE', error.message);
  if (status === 415) return new Refusal('UNSUPPORTED_MEDIA_TYPE', error.message);
  if (status === 503) return new Refusal('NOT_READY', 'The service is stopping');
  return status >= 400 && status < 500 ? new Refusal('INVALID_FIELD', error.message) : undefined;
}

/** Responds with METHOD_NOT_ALLOWED on a path that takes other methods (RFC 9110, section 15.5.6). */
export function refuseMethod(
  request: FastifyRequest,
  reply: FastifyReply,
  allowed: readonly string[],
): FastifyReply {
  const message = `${pathOf(request)} takes ${allowed.join(' or ')}, not ${request.method}`;
  reply.header('allow', allowed.join(', '));
  return sendRefusal(reply, new Refusal('METHOD_NOT_ALLOWED', message));
}

/**
 * Responds with the refusal as an RPC would: Connect's JSON error, and the headers that belong to
 * it.
 * @param status HTTP status, if it is more exact than the catalogue's
 */
export function sendRefusal(
  reply: FastifyReply,
  refusal: Refusal,
  status = httpStatusOf(refusal.reason),
): FastifyReply {
  for (const [name, value] of toConnectError(refusal).metadata) reply.header(name, value);
  return reply.code(status).type('application/json').send(refusalBody(refusal));
}

/** True for a path of the form `/package.Service/Method`, whether or not it exists. */
function isRpcPath(path: string): boolean {
  return RPC_PATH.test(path);
}

/** The path without its query: a query may carry secrets, which must not be logged or echoed. */
function pathOf(request: FastifyRequest): string {
  const [path = ''] = request.url.split('?', 1);
  return path.slice(0, 200);
}

/**
 * Answers requests that the router refuses before any hook, such as a path with an invalid `%`, in
 * the form of their path. For fastify's `frameworkErrors`.
 */
export function answerUnrouted(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const isTooLong = error.code === 'FST_ERR_MAX_PARAM_LENGTH';
  const message = isTooLong
    ? 'A part of the path is too long'
    : 'The path is not valid: % must be followed by two hexadecimal digits of UTF-8';
  const refusal = new Refusal('INVALID_FIELD', message);
  const { method, url, headers } = request.raw;
  const requested = { method: method ?? 'GET', url: url ?? '/', accept: headers.accept ?? '' };
  const { type, body } = errorAnswer(requested, refusal);
  for (const [name, value] of toConnectError(refusal).metadata) reply.header(name, value);
  reply.header('x-request-id', request.id);
  void reply
    .code(error.statusCode ?? 400)
    .type(type)
    .send(body);
}

const UNKNOWN_REQUEST = { method: 'GET', url: '/', accept: '' } as const;

/** Status lines of requests that the parser rejects, with a sentence; others are 400. */
const rejected: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'The headers are too large: send less than 64 KiB',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [
    '413 Content Too Large',
    'The extensions of a chunk are too large',
  ],
  HPE_INVALID_CONTENT_LENGTH: ['400 Bad Request', 'Content-Length is not a number of bytes'],
  HPE_UNEXPECTED_CONTENT_LENGTH: [
    '400 Bad Request',
    'Content-Length and Transfer-Encoding exclude each other: send one',
  ],
  HPE_INVALID_METHOD: ['400 Bad Request', 'The method is not one of HTTP'],
};

/**
 * The listener of a server's `clientError`.
 * @param note counts one, by Node's error code
 */
export function clientErrorListener(
  record: (code: string) => void,
): (error: NodeJS.ErrnoException & { readonly rawPacket?: unknown }, socket: Socket) => void {
  return (error, socket) => {
    const { code = 'unknown', rawPacket } = error;
    record(code);
    // A reset connection has no reader left; one with bytes on the way must not get a second head.
    if (code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0) {
      socket.destroy();
      return;
    }
    const [status, message] = rejected[code] ?? [
      '400 Bad Request',
      'The request is not valid HTTP',
    ];
    const found = requestIn(Buffer.isBuffer(rawPacket) ? rawPacket : undefined);
    // Its first line was in an earlier packet, which the parser does not keep.
    const request = found ?? (code === 'HPE_HEADER_OVERFLOW' ? UNKNOWN_REQUEST : undefined);
    const answer = request && errorAnswer(request, new Refusal('INVALID_FIELD', message));
    const { type, body } = answer ?? { type: 'text/plain', body: '' };
    const length = Buffer.byteLength(body);
    const headers = [
      'connection: close',
      `content-length: ${length}`,
      'x-content-type-options: nosniff',
      ...(length > 0 ? [`content-type: ${type}`] : []),
    ];
    socket.end(`HTTP/1.1 ${status}\r\n${headers.join('\r\n')}\r\n\r\n${body}`);
  };
}
