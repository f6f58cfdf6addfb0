/** Abort signals of the HTTP server: the client disconnects, the server stops. */
import type { FastifyInstance, FastifyReply } from 'fastify';

/** Aborts when the client disconnects before the response. */
export function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableEnded) gone.abort(new Error('The client disconnected'));
  });
  return gone.signal;
}

/** Aborts when the server begins to stop: for responses that would otherwise stay open. */
export function stopSignal(app: FastifyInstance): AbortSignal {
  const stopping = new AbortController();
  app.addHook('preClose', (done) => {
    stopping.abort();
    done();
  });
  return stopping.signal;
}
