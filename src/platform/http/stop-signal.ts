/** Aborted when the server begins to stop: for answers that would stay open for ever. */
import type { FastifyInstance } from 'fastify';

export function stopSignal(app: FastifyInstance): AbortSignal {
  const stopping = new AbortController();
  app.addHook('preClose', (done) => {
    stopping.abort();
    done();
  });
  return stopping.signal;
}
