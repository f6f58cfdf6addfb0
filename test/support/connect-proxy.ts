/** An egress proxy on the loopback that records each CONNECT, and can fail in each way. */

import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';

export interface Connected {
  /** `host:port`, as requested. */
  readonly target: string;
  readonly authorization: string | undefined;
}

export interface ConnectProxy {
  readonly port: number;
  readonly requested: readonly Connected[];
  /** Bytes that passed to receivers. */
  readonly passed: () => string;
  /** Requests in the absolute form, which no client of ours sends. */
  readonly plain: () => number;
  /** Sets the answer to the next requests; undefined, as at first: connects them. */
  answer(next: ProxyAnswer | undefined): void;
}

/** A status, raw bytes, `hang`, or `close`. */
export type ProxyAnswer = number | { readonly raw: string } | 'hang' | 'close';

export interface ConnectProxyOptions {
  /** Makes it an https proxy. */
  readonly tls?: { readonly key: Buffer; readonly cert: Buffer };
  /** The address at which the proxy finds a host. Default: the loopback. */
  readonly addressOf?: (host: string) => string;
}

export async function startConnectProxy(
  t: { teardown(fn: () => unknown): unknown },
  { tls, addressOf = () => '127.0.0.1' }: ConnectProxyOptions = {},
): Promise<ConnectProxy> {
  const requested: Connected[] = [];
  const sockets = new Set<Socket>();
  let passed = '';
  let plain = 0;
  let next: ProxyAnswer | undefined;
  const listener: RequestListener = (request, response) => {
    plain++;
    request.resume();
    response.writeHead(400).end();
  };
  const server: Server = tls ? createSecureServer(tls, listener) : createServer(listener);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.on('connect', (request: IncomingMessage, near: Socket) => {
    const target = request.url ?? '';
    requested.push({ target, authorization: request.headers['proxy-authorization'] });
    near.on('error', () => {});
    if (next === 'hang') return;
    if (next === 'close') return void near.destroy();
    if (typeof next === 'number') return void near.end(`HTTP/1.1 ${next} No\r\n\r\n`);
    if (next !== undefined) return void near.end(next.raw);
    const { hostname, port } = new URL(`http://${target}`);
    const far = connect(Number(port || 80), addressOf(hostname));
    sockets.add(far);
    far.on('error', () => void near.end('HTTP/1.1 503 No\r\n\r\n'));
    far.on('connect', () => {
      near.write('HTTP/1.1 200 Connection established\r\nVia: 1.1 proxy\r\n\r\n');
      near.on('data', (chunk: Buffer) => {
        passed += chunk.toString('latin1');
        far.write(chunk);
      });
      far.pipe(near);
      near.on('close', () => far.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    requested,
    passed: () => passed,
    plain: () => plain,
    answer: (given) => {
      next = given;
    },
  };
}
