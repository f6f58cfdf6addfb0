/**
 * A receiver of webhooks that reports the arrival time of the one for a given rule and VM, by its
 * own clock.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Scope } from './scope.ts';

const WAIT_MS = 30_000;

export interface WebhookClock {
  readonly url: string;
  /** Arrival time of the message of that rule and VM (`rule vm`), by `performance.now()`. */
  next(ruleAndVm: string): Promise<number>;
}

interface Message {
  readonly data: { readonly ruleDisplayName: string; readonly vmName: string };
}

/** A receiver on loopback, closed with the scope. */
export async function startWebhookClock(scope: Scope): Promise<WebhookClock> {
  const waiting = new Map<string, (atMs: number) => void>();
  const server = createServer((request, response) => {
    const atMs = performance.now();
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.writeHead(204).end();
      const { data } = JSON.parse(Buffer.concat(chunks).toString()) as Message;
      waiting.get(`${data.ruleDisplayName} ${data.vmName.split('/').at(-1)}`)?.(atMs);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    next: (ruleAndVm) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`No webhook for ${ruleAndVm}`)), WAIT_MS);
        waiting.set(ruleAndVm, (atMs) => {
          clearTimeout(late);
          resolve(atMs);
        });
      }),
  };
}
