/**
 * What a request gets that no route takes, or that fails before or inside one: never a stack
 * trace, never a 500 for what the caller did. Callers of an RPC path get Connect's JSON error,
 * others plain text.
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../log.ts';

/** `/package.Service/Method`. */
const RPC_PATH = /^\/[A-Za-z_]\w*(\.[A-Za-z_]\w*)+\/[A-Za-z_]\w*$/;

/** Connect's code for an HTTP status (protocol specification, "HTTP to Error Code"). */
const connectCodes: Readonly<Record<number, string>> = {
  400: 'invalid_argument',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'unimplemented',
  405: 'unimplemented',
  408: 'deadline_exceeded',
  413: 'invalid_argument',
  415: 'invalid_argument',
  503: 'unavailable',
};

export function addFallbacks(app: FastifyInstance, log: Log): void {
  app.setNotFoundHandler((request, reply) => {
    const path = pathOf(request);
    if (RPC_PATH.test(path)) return rpcNotFound(app, request, reply, path);
    return fail(request, reply, 404, `There is nothing at ${path}`);
  });
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const status = error.statusCode ?? 500;
    if (status >= 400 && status < 500) return fail(request, reply, status, error.message);
    if (status === 503) return fail(request, reply, 503, 'The service is stopping');
    log.error({ err: error, requestId: request.id, path: pathOf(request) }, 'A request failed');
    const message = `The service failed; its log says why under request id ${request.id}`;
    return fail(request, reply, 500, message);
  });
}

function rpcNotFound(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  path: string,
): FastifyReply {
  if (request.method !== 'POST' && app.hasRoute({ method: 'POST', url: path })) {
    reply.header('allow', 'POST');
    return fail(request, reply, 405, `${path} takes POST, not ${request.method}`);
  }
  return fail(request, reply, 404, `${path} is not a method of this service`);
}

function fail(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  message: string,
): FastifyReply {
  reply.code(status);
  if (!RPC_PATH.test(pathOf(request))) return reply.type('text/plain').send(`${message}\n`);
  const code = connectCodes[status] ?? (status < 500 ? 'invalid_argument' : 'internal');
  return reply.type('application/json').send({ code, message });
}

/** The path without its query: a query may carry what must not be logged or echoed. */
function pathOf(request: FastifyRequest): string {
  const [path = ''] = request.url.split('?', 1);
  return path.slice(0, 200);
}
