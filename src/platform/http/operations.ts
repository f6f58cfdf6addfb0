/**
 * Endpoints for operators and orchestrators: alive, ready, the service's own metrics. `/healthz`
 * says only that the process answers, so that it is not restarted because a stream is away.
 * `/readyz` shows the state of each kind of part to anyone, and a general reason to callers that
 * may read; `/readyz/serving`, for a load balancer, is ready as long as requests are answered,
 * whatever is missing of the service's own work. The exact reasons are in the log and on the metrics listener.
 */
import type { FastifyInstance } from 'fastify';
import { callerReport, type Health, publicReport } from '../health.ts';
import type { Metrics } from '../metrics.ts';
import { goneSignal } from './abort-signals.ts';
import type { ReaderCheck, ReadGate } from './read-gate.ts';

export interface OperationsOptions {
  readonly health: Health;
  readonly metrics: Metrics;
  /** Check for callers that may read reasons in `/readyz`. */
  readonly isReader: ReaderCheck;
  /** Gate of `/metrics`. */
  readonly readGate: ReadGate;
  /** true: `/metrics` is here too. Default: false. */
  readonly hasMetrics?: boolean;
}

/** Paths in two spellings: Kubernetes's and Prometheus's. */
export const ALIVE: readonly string[] = ['/healthz', '/-/healthy'];
export const READY: readonly string[] = ['/readyz', '/-/ready'];
export const SERVING = '/readyz/serving';
/** Paths that a monitor of the process may request over any connection and under any host name. */
export const PROBE_PATHS: ReadonlySet<string> = new Set([...ALIVE, ...READY, SERVING]);

export function addOperations(app: FastifyInstance, options: OperationsOptions): void {
  const { health, metrics, isReader, readGate, hasMetrics = false } = options;
  for (const path of ALIVE) {
    app.get(path, (_request, reply) => reply.type('text/plain').send('alive\n'));
  }
  for (const path of [...READY, SERVING]) {
    app.get(path, async (request, reply) => {
      const hasCredential = request.headers.authorization !== undefined;
      // A probe whose key has ended still learns whether the service is ready.
      const mayRead = hasCredential && (await isReader(request));
      const report = health.report();
      return reply
        .code((path === SERVING ? report.serving : report.ready) ? 200 : 503)
        .header('cache-control', 'no-store')
        .send(mayRead ? callerReport(report) : publicReport(report));
    });
  }
  if (!hasMetrics) return;
  app.get('/metrics', async (request, reply) => {
    const { release } = await readGate(request, goneSignal(reply));
    reply.header('cache-control', 'no-store');
    const text = await metrics.text().finally(release);
    return reply.type(metrics.contentType).send(text);
  });
}
