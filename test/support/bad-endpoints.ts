/**
 * Webhook endpoints that behave badly, one path each, on one loopback address: `/ok`, `/hang`
 * (never answers), `/500`, `/redirect` (to `/stolen`), `/endless` (answers 200 and 10 GB).
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface BadEndpoints {
  /** Origin without a trailing slash. */
  readonly origin: string;
  /** Requests by path. */
  readonly hits: ReadonlyMap<string, number>;
  /** Paths in the order of their requests, and `/hang closed` when the service closed that one. */
  readonly order: readonly string[];
  /** Bytes that `/endless` has sent. */
  readonly sentBytes: () => number;
}

const TEN_GB = 10 * 1000 ** 3;

export async function startBadEndpoints(
  t: { teardown(fn: () => unknown): unknown },
  address: string,
): Promise<BadEndpoints> {
  const hits = new Map<string, number>();
  const order: string[] = [];
  let sent = 0;
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    hits.set(path, (hits.get(path) ?? 0) + 1);
    order.push(path);
    if (path === '/hang') response.on('close', () => order.push('/hang closed'));
    request.resume();
    request.on('error', () => {});
    response.on('error', () => {});
    request.on('end', () => {
      if (path === '/500') response.writeHead(500).end('the database is down');
      else if (path === '/redirect') response.writeHead(307, { location: '/stolen' }).end();
      else if (path === '/endless') pour(response, (bytes) => (sent += bytes));
      else if (path !== '/hang') response.writeHead(204).end();
    });
  });
  server.listen(0, address);
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `http://${address}:${port}`, hits, order, sentBytes: () => sent };
}

function pour(response: ServerResponse, count: (bytes: number) => void): void {
  const chunk = Buffer.alloc(256 * 1024, 'x');
  response.writeHead(200, { 'content-length': TEN_GB });
  const more = (): void => {
    while (!response.destroyed) {
      count(chunk.length);
      if (!response.write(chunk)) break;
    }
  };
  response.on('drain', more);
  more();
}
