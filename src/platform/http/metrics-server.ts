/**
 * The operator's listener: `/metrics`, and `/readyz` with its reasons, without a credential and
 * only on loopback. It is a server of its own, so that both work while the API is saturated or
 * stopping.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type Health, operatorReport } from '../health.ts';
import { HEADER_BYTES_MAX, HEADERS_TIMEOUT_MS, TIMEOUT_CHECK_MS } from '../http-limits.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { ConfigError } from '../settings/config.ts';
import type { ListenAddress } from '../settings/setting-kinds.ts';
import type { Settings } from '../settings/settings.ts';
import { clientErrorListener } from './fallbacks.ts';
import type { HostNames } from './hosts.ts';
import { READY, SERVING } from './operations.ts';
import { guardRequests } from './request-guard.ts';
import { listenOn, originOf } from './server.ts';

export interface MetricsServer {
  /** Where metrics are readable: `http://127.0.0.1:9464/metrics`. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The listener that the settings name. Undefined if it is off or its default port is taken; the
 * latter is logged and does not prevent the start.
 */
export async function openConfiguredMetricsServer(options: {
  readonly settings: Pick<
    Settings,
    'metricsListen' | 'metricsListenGiven' | 'publicUrl' | 'allowedHosts'
  >;
  readonly metrics: Metrics;
  readonly health: Pick<Health, 'report'>;
  readonly log: Log;
}): Promise<MetricsServer | undefined> {
  const { settings, metrics, health, log } = options;
  if (!settings.metricsListen) return undefined;
  try {
    return await openMetricsServer({
      address: settings.metricsListen,
      hosts: settings,
      metrics,
      health,
    });
  } catch (error) {
    if (settings.metricsListenGiven || !(error instanceof ConfigError)) throw error;
    log.warn(
      { part: 'metrics' },
      `${error.message}; SVC_METRICS_ON_API shows the same metrics to keys`,
    );
    return undefined;
  }
}

/** Listens at once. Throws `ConfigError` when the address cannot be bound. */
export async function openMetricsServer(options: {
  readonly address: ListenAddress;
  readonly metrics: Metrics;
  readonly health: Pick<Health, 'report'>;
  readonly hosts: HostNames;
}): Promise<MetricsServer> {
  const { address, metrics, health, hosts } = options;
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      requireHostHeader: false,
    },
    (request, response) => {
      const [path = ''] = (request.url ?? '').split('?', 1);
      const isRead = ['GET', 'HEAD'].includes(request.method ?? '');
      if (isRead && (READY.includes(path) || path === SERVING)) {
        const report = operatorReport(health.report());
        const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
        const isReady = path === SERVING ? report.serving : report.ready;
        response.writeHead(isReady ? 200 : 503, headers).end(JSON.stringify(report));
        return;
      }
      if (path !== '/metrics' || !isRead) {
        const tryThese = 'Try GET /metrics or GET /readyz\n';
        response.writeHead(404, { 'content-type': 'text/plain' }).end(tryThese);
        return;
      }
      metrics.text().then(
        (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
    },
  );
  let refused: ReturnType<typeof metrics.counter<'cause'>> | undefined;
  const recordRefused = (cause: string) => refused?.inc({ cause });
  guardRequests(server, { settings: { ...hosts, trustedProxy: null }, recordRefused });
  server.on('clientError', clientErrorListener(recordRefused));
  server.maxConnections = 100;
  await listenOn('SVC_METRICS_LISTEN', address, async () => {
    server.listen({ ...address });
    await once(server, 'listening');
  });
  // Once it listens: if the port is taken, another listener may have the metric.
  refused = metrics.counter(
    'svc_metrics_listener_refused_total',
    'Requests that the metrics listener refused',
    ['cause'],
  );
  return {
    url: `${originOf(server, 'http', address)}/metrics`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
