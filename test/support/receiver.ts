/**
 * A webhook receiver on the loopback that records messages and verifies them with the Standard
 * Webhooks library.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

export interface Received {
  readonly headers: Readonly<Record<string, string>>;
  readonly raw: string;
  readonly body: { readonly type: string; readonly data: Record<string, unknown> };
  readonly atMs: number;
}

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** Sets the status of the next answers; 204 at first. */
  answer(status: number): void;
  /** Throws unless the message was signed with `secret` within the last five minutes. */
  verify(message: Received, secret: string): void;
}

export async function startReceiver(
  t: { teardown(fn: () => unknown): unknown },
  { address = '127.0.0.1', delayMs = 0 }: { address?: string; delayMs?: number } = {},
): Promise<Receiver> {
  const received: Received[] = [];
  let status = 204;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const raw = Buffer.concat(chunks).toString();
      const headers = request.headers as Record<string, string>;
      received.push({ headers, raw, body: JSON.parse(raw), atMs: Date.now() });
      setTimeout(() => response.writeHead(status).end(), delayMs);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${address}:${port}/hook`,
    received,
    answer: (next) => {
      status = next;
    },
    verify: (message, secret) =>
      void new Webhook(secret).verify(message.raw, { ...message.headers }),
  };
}
