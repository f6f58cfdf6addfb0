/**
 * HTTP routes for a pull-based collector (API-04): the list of shards and each shard. Both need the
 * bearer credential. `scrape-targets` has the format of Prometheus's HTTP service discovery
 * (https://prometheus.io/docs/prometheus/latest/http_sd).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { invalidField } from '../../../streams/platform/refusal.ts';
import type { CallClass } from '../../platform/gate/call-classes.ts';
import { goneSignal } from '../../platform/http/abort-signals.ts';
import { refuseMethod } from '../../platform/http/fallbacks.ts';
import { negotiateEncoding } from '../../platform/http/negotiation.ts';
import {
  type AdmittedReader,
  admitReader,
  type ReaderAccess,
  requestBytesOf,
} from '../../platform/http/project-access.ts';
import { SEQUENCE_HEADER } from '../../platform/http/sequence.ts';
import type { Exporter } from './exporter.ts';
import { CONTENT_TYPE, formatFor } from './exposition.ts';

export interface ExportRoutesDeps extends ReaderAccess {
  readonly exporter: Pick<Exporter, 'shard' | 'shardCount'>;
  /** Public origin of the service; read while the server listens. */
  readonly origin: () => string;
}

const PROJECT = '/v1/monitoring/projects/:project';
const OTHER_METHODS: HTTPMethods[] = ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

type ProjectRequest = FastifyRequest<{ Params: { project: string } }>;

/**
 * Adds the routes below `/projects/:project`. Query parameters are checked here, everything else in
 * `Exporter`.
 */
export function addExportRoutes(app: FastifyInstance, deps: ExportRoutesDeps): void {
  const { exporter, origin, positions } = deps;
  const scrapeTargetsRoute = { name: 'scrape-targets', kind: 'call' } as const;
  route(app, deps, scrapeTargetsRoute, async (request, reply) => {
    const { project } = request.params;
    reply.header('cache-control', 'no-store').header(SEQUENCE_HEADER, positions.current());
    return reply.send(scrapeTargets(project, exporter.shardCount(project), origin()));
  });
  route(app, deps, { name: 'export', kind: 'export' }, async (request, reply, reading) => {
    const { project } = request.params;
    const { accept, 'accept-encoding': encodings } = request.headers;
    const shard = shardOf(request.query);
    const format = formatFor(accept);
    const gzip = negotiateEncoding(encodings?.toString(), ['gzip']) === 'gzip';
    const body = await exporter.shard({ project, shard, format, gzip }, reading.signal);
    reading.assertStillAdmitted();
    if (gzip) reply.header('content-encoding', 'gzip');
    reply.header('vary', 'accept, accept-encoding').header('cache-control', 'no-store');
    reply.header(SEQUENCE_HEADER, positions.current());
    return reply.type(CONTENT_TYPE[format]).send(body);
  });
}

/**
 * A GET route for readers of the project, with the concurrency limit of its class. It accepts no
 * other method.
 */
function route(
  app: FastifyInstance,
  access: ReaderAccess,
  { name, kind }: { readonly name: string; readonly kind: CallClass },
  answer: (
    request: ProjectRequest,
    reply: FastifyReply,
    reading: Pick<AdmittedReader, 'assertStillAdmitted'> & { readonly signal: AbortSignal },
  ) => Promise<FastifyReply>,
): void {
  const handler = async (request: ProjectRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const signal = goneSignal(reply);
    const { project } = request.params;
    const reader = await admitReader(access, { project, request, kind, people: false, signal });
    const { release } = await reader.takeSlot(requestBytesOf(request));
    try {
      return await answer(request, reply, { ...reader, signal });
    } finally {
      release();
    }
  };
  const url = `${PROJECT}/${name}`;
  app.route<{ Params: { project: string } }>({
    method: 'GET',
    url,
    exposeHeadRoute: false,
    handler,
  });
  app.route({
    method: OTHER_METHODS,
    url,
    // Checked before the body is read, whatever the body is.
    onRequest: async (request, reply) => refuseMethod(request, reply, ['GET']),
    handler: (request, reply) => refuseMethod(request, reply, ['GET']),
  });
}

/** Throws INVALID_FIELD. */
function shardOf(query: unknown): number {
  const { shard } = query as { readonly shard?: unknown };
  if (typeof shard === 'string' && /^\d{1,6}$/.test(shard)) return Number(shard);
  const message = 'shard must be a shard number: take it from scrape-targets';
  throw invalidField('shard', message);
}

/** One entry of Prometheus's HTTP service discovery: each shard is a target of its own. */
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
