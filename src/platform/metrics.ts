/**
 * The service's own metrics: a registry per service (two services may run in one process), in
 * Prometheus's text format. prom-client keeps the numbers; the process and event-loop gauges are
 * ours because its default set leaves behind an observer that cannot be closed.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../../streams/platform/clock.ts';

/** Seconds: from a cache hit to the longest query. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 10];

/** Labels must have few values: never an id, a path, or a project without a bound on their number. */
export interface Metrics {
  /** `read`, if given, returns the whole count at each scrape. */
  counter<L extends string>(
    name: string,
    help: string,
    labels?: readonly L[],
    read?: () => number,
  ): Counter<L>;
  /** `read`, if given, is called at each scrape to set the gauge. */
  gauge<L extends string>(
    name: string,
    help: string,
    labels?: readonly L[],
    read?: (gauge: Gauge<L>) => void,
  ): Gauge<L>;
  /** A histogram of seconds, unless `buckets` says otherwise. */
  histogram<L extends string>(
    name: string,
    help: string,
    labels?: readonly L[],
    buckets?: readonly number[],
  ): Histogram<L>;
  readonly contentType: string;
  /** Everything, in Prometheus's text format. */
  text(): Promise<string>;
  close(): void;
}

/** A registry with the process's own gauges in it. Close it to stop the event-loop monitor. */
export function createMetrics(options: { clock: Clock; version: string }): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const metrics: Omit<Metrics, 'close'> = {
    counter: (name, help, labels = [], read) =>
      new Counter({
        name,
        help,
        labelNames: [...labels],
        registers,
        ...(read && {
          collect(this: Counter) {
            this.reset();
            this.inc(read());
          },
        }),
      }),
    gauge: (name, help, labels = [], read) =>
      new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers,
        ...(read && {
          collect(this: Parameters<typeof read>[0]) {
            read(this);
          },
        }),
      }),
    histogram: (name, help, labels = [], buckets = DURATION_BUCKETS) =>
      new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers }),
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
  const stopProcessGauges = addProcessGauges(metrics, options);
  return {
    ...metrics,
    close: () => {
      stopProcessGauges();
      registry.clear();
    },
  };
}

function addProcessGauges(
  metrics: Omit<Metrics, 'close'>,
  { clock, version }: { clock: Clock; version: string },
): () => void {
  const startSeconds = Math.round(clock.now() / 1000);
  metrics
    .gauge('process_start_time_seconds', 'When the service started, Unix time')
    .set(startSeconds);
  metrics.gauge('process_resident_memory_bytes', 'Memory in use', [], (gauge) =>
    gauge.set(process.memoryUsage.rss()),
  );
  metrics.counter('process_cpu_seconds_total', 'CPU time used, user and system', [], () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  metrics
    .gauge('svc_build_info', 'Always 1; the labels are the versions', ['version', 'node'])
    .set({ version, node: process.versions.node }, 1);
  return addEventLoopGauge(metrics);
}

/** Delay of the event loop since the last scrape: its blocks add to every response. */
function addEventLoopGauge(metrics: Omit<Metrics, 'close'>): () => void {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  metrics.gauge(
    'svc_event_loop_delay_seconds',
    'Delay of the event loop since the last scrape',
    ['quantile'],
    (gauge) => {
      if (delay.count > 0) {
        gauge.set({ quantile: '0.5' }, delay.percentile(50) / 1e9);
        gauge.set({ quantile: '0.99' }, delay.percentile(99) / 1e9);
        gauge.set({ quantile: '1' }, delay.max / 1e9);
      }
      delay.reset();
    },
  );
  return () => void delay.disable();
}
