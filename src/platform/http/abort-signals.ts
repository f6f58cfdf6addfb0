/** Abort signals of the HTTP server: the client has gone, the server stops. */
import type { FastifyInstance, FastifyReply } from 'fastify';

/** Aborts when the client hangs up before it is answered. */
export function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableEnded) gone.abort(new Error('The client has gone'));
  });
  return gone.signal;
}

/** Aborts when the server begins to stop: for answers that would stay open for ever. */
export function stopSignal(app: FastifyInstance): AbortSignal {
  const stopping = new AbortController();
  app.addHook('preClose', (done) => {
    stopping.abort();
    done();
  });
  return stopping.signal;
}
