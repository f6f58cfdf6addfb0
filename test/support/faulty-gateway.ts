/**
 * A gateway in front of a service that passes requests on and fails on request: it loses the answer
 * of a completed request, answers in place of the service, or stays silent. It records requests, so
 * that a test can see resends.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** Fate of one request. */
export type GatewayFault =
  /** Passed on, but the connection breaks and its answer is lost. */
  | { readonly kind: 'lose answer' }
  /** Passed on, but its answer never arrives. */
  | { readonly kind: 'silence' }
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    };

export interface Gateway {
  readonly url: string;
  /** Used up first, one per request whose path contains `path`; default: any request. */
  readonly faults: (GatewayFault & { readonly path?: string })[];
  readonly requests: {
    readonly path: string;
    readonly body: string;
    readonly headers: IncomingMessage['headers'];
  }[];
}

/** Headers of a single connection, which are not forwarded. */
const HOP = ['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'];

/** Starts a gateway that ends with the test. */
export async function startGateway(
  t: { teardown(fn: () => unknown): unknown },
  target: string,
): Promise<Gateway> {
  const faults: Gateway['faults'] = [];
  const requests: Gateway['requests'] = [];
  const server = createServer((request, response) => {
    pass(request, response).catch((error) => response.destroy(error));
  });

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/', headers } = request;
    const body = await buffer(request);
    requests.push({ path, body: body.toString(), headers });
    const place = faults.findIndex((fault) => path.includes(fault.path ?? ''));
    const [fault] = place < 0 ? [] : faults.splice(place, 1);
    if (fault?.kind === 'answer') {
      response.writeHead(fault.status, fault.headers).end(fault.body ?? '');
      return;
    }
    const passed = Object.fromEntries(
      Object.entries(headers).filter(([name]) => !HOP.includes(name)),
    );
    // The service accepts a session only with its own origin.
    const own = { ...passed, ...(passed.origin && { origin: target }) };
    const answer = await fetch(target + path, {
      method,
      headers: own as Record<string, string>,
      redirect: 'manual',
      ...(method === 'GET' ? {} : { body }),
    });
    const text = await answer.text();
    if (fault?.kind === 'lose answer') response.destroy();
    if (fault !== undefined) return;
    const passedOn = Object.fromEntries(
      [...answer.headers].filter(([name]) => name !== 'content-encoding' && !HOP.includes(name)),
    );
    response.writeHead(answer.status, { ...passedOn, 'set-cookie': answer.headers.getSetCookie() });
    response.end(text);
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, faults, requests };
}
