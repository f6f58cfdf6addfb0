/**
 * Bounds on connections: how many one address may hold, and how long idle ones stay while many are
 * open. A connection beyond the bound is closed before any byte of it is read, because a TLS
 * handshake would cost more than the refusal.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { RateLimiter } from '../../../actors/platform/rate-limiter.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { CONNECTIONS_MAX, KEEP_ALIVE_BUSY_MS, KEEP_ALIVE_MS } from '../http-limits.ts';
import type { Metrics } from '../metrics.ts';
import type { AddressList } from './address-list.ts';
import { networkOf } from './anonymous-limits.ts';

export interface ConnectionBounds {
  readonly perAddressMax: number;
  /** Proxies, whose connections serve many people: bounded by the total alone. */
  readonly proxies: AddressList | undefined;
  readonly isTls: boolean;
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly metrics: Pick<Metrics, 'counter' | 'gauge'>;
  /** Maximum for all addresses; default `CONNECTIONS_MAX`. */
  readonly totalMax?: number;
}

/**
 * New TLS connections of one address: a browser opens 6, a fleet behind one address a few per
 * second.
 */
const HANDSHAKES = { burst: 256, refillMs: 20 } as const;
/** Share of all connections from which idle ones are kept for less time. */
const BUSY_SHARE = 0.5;
/** Share from which idle ones are closed for new ones. */
const FULL_SHARE = 0.9;
const SWEEP_MS = 1_000;

/** How long an idle connection is kept, ms, while `share` of the allowed connections are open. */
export function keepAliveMsAt(share: number): number {
  const busy = Math.min(1, Math.max(0, (share - BUSY_SHARE) / (FULL_SHARE - BUSY_SHARE)));
  return Math.round(KEEP_ALIVE_MS - busy * (KEEP_ALIVE_MS - KEEP_ALIVE_BUSY_MS));
}

/** Bounds the server's connections from now on; call it before the server listens. */
export function boundConnections(server: Server, bounds: ConnectionBounds): void {
  const { perAddressMax, proxies, isTls, clock, metrics, totalMax = CONNECTIONS_MAX } = bounds;
  const handshakes = new RateLimiter(clock, HANDSHAKES);
  const byNetwork = new Map<string, number>();
  let open = 0;
  let sweptMs = Number.NEGATIVE_INFINITY;
  metrics.gauge('svc_http_connections', 'Open connections', [], (gauge) => gauge.set(open));
  const refused = metrics.counter(
    'svc_http_connections_refused_total',
    'Connections closed without being read, because of the limit per address or in all',
    ['cause'],
  );
  server.maxConnections = totalMax;
  server.on('drop', () => refused.inc({ cause: 'total' }));
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    const cause = proxies?.has(remoteAddress) ? undefined : causeAgainst(remoteAddress ?? '');
    if (cause !== undefined) {
      refused.inc({ cause });
      socket.destroy();
      return;
    }
    count(socket, networkOf(remoteAddress ?? ''));
  });

  function causeAgainst(address: string): string | undefined {
    const network = networkOf(address);
    if ((byNetwork.get(network) ?? 0) >= perAddressMax) return 'address';
    return isTls && handshakes.takeFrom(network) > 0 ? 'handshakes' : undefined;
  }

  function count(socket: Socket, network: string): void {
    const change = (by: 1 | -1): void => {
      open += by;
      const held = (byNetwork.get(network) ?? 0) + by;
      if (held > 0) byNetwork.set(network, held);
      else byNetwork.delete(network);
      server.keepAliveTimeout = keepAliveMsAt(open / totalMax);
    };
    change(1);
    socket.once('close', () => change(-1));
    if (open / totalMax < FULL_SHARE || clock.elapsed() - sweptMs < SWEEP_MS) return;
    sweptMs = clock.elapsed();
    server.closeIdleConnections();
  }
}
