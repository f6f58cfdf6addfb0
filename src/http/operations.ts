/**
 * What operators and orchestrators ask: alive, ready, the service's own metrics. `/healthz` says
 * only that the process answers, so that a restart is never the cure for a stream that is away;
 * `/readyz` says what is wrong.
 */
import type { FastifyInstance } from 'fastify';
import type { Health } from '../health.ts';
import type { Metrics } from '../metrics.ts';
import type { ReadGate } from './read-gate.ts';

export interface OperationsOptions {
  readonly health: Health;
  readonly metrics: Metrics;
  /** Who may read `/metrics` here; absent: it is not here. */
  readonly readGate?: ReadGate;
}

/** Paths in two spellings: Kubernetes's and Prometheus's. */
export function addOperations(app: FastifyInstance, options: OperationsOptions): void {
  const { health, metrics, readGate } = options;
  for (const path of ['/healthz', '/-/healthy']) {
    app.get(path, (_request, reply) => reply.type('text/plain').send('alive\n'));
  }
  for (const path of ['/readyz', '/-/ready']) {
    app.get(path, (_request, reply) => {
      const report = health.report();
      return reply
        .code(report.ready ? 200 : 503)
        .header('cache-control', 'no-store')
        .send(report);
    });
  }
  if (!readGate) return;
  app.get('/metrics', async (request, reply) => {
    const refused = await readGate(request.headers.authorization);
    if (refused) {
      if (refused.status === 401) reply.header('www-authenticate', 'Bearer');
      return reply.code(refused.status).type('text/plain').send(`${refused.message}\n`);
    }
    reply.header('cache-control', 'no-store');
    return reply.type(metrics.contentType).send(await metrics.text());
  });
}
