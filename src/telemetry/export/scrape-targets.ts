/**
 * The list of a project's shards as Prometheus's HTTP service discovery reads it: one entry a
 * shard, always all of them. `instance` is the shard's, not the host's, so that series keep their
 * labels when the service moves.
 *
 * https://prometheus.io/docs/prometheus/latest/http_sd
 */

export interface TargetGroup {
  /** `host:port`. */
  readonly targets: readonly [string];
  readonly labels: Readonly<Record<string, string>>;
}

/** @param origin address under which the scraper reaches this service: `https://host[:port]` */
export function scrapeTargets(project: string, shards: number, origin: string): TargetGroup[] {
  const { protocol, hostname, port } = new URL(origin);
  const scheme = protocol.slice(0, -1);
  const address = `${hostname}:${port === '' ? (scheme === 'https' ? 443 : 80) : port}`;
  return Array.from({ length: shards }, (_, shard) => ({
    targets: [address],
    labels: {
      __scheme__: scheme,
      __metrics_path__: `/v1/monitoring/projects/${project}/export`,
      __param_shard: String(shard),
      instance: `${project}/shard-${shard}`,
    },
  }));
}
