/**
 * One receiver for every system's webhooks: it records the notified VMs, the times and the counts.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Scope } from '../support/scope.ts';

export interface Receiver {
  readonly url: string;
  /** Number of messages by VM, firing ones only. */
  readonly received: ReadonlyMap<string, number>;
  /** Arrival of the next message of that VM, by `performance.now()`. Rejects after a minute. */
  next(vm: string): Promise<number>;
  /** Called for each message on arrival. */
  onMessage: () => void;
  /** Time of the last message, by `performance.now()`. */
  lastMs: number;
  clear(): void;
}

const WAIT_MS = 60_000;

interface OurMessage {
  readonly data: { readonly vmName: string };
}

/** Alertmanager's webhook payload, version 4. */
interface AlertmanagerMessage {
  readonly alerts: readonly { readonly status: string; readonly labels: { readonly vm: string } }[];
}

export async function startReceiver(scope: Scope): Promise<Receiver> {
  const received = new Map<string, number>();
  const waiting = new Map<string, (atMs: number) => void>();
  const receiver: Receiver = {
    url: '',
    received,
    lastMs: 0,
    onMessage: () => {},
    next: (vm) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(
          () => reject(new Error(`No message for ${vm} within a minute`)),
          WAIT_MS,
        );
        waiting.set(vm, (atMs) => {
          clearTimeout(late);
          resolve(atMs);
        });
      }),
    clear: () => received.clear(),
  };
  const server = createServer(async (request, response) => {
    // A killed sender breaks off in the middle: that message has not arrived.
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return;
    const message = JSON.parse(body) as OurMessage & AlertmanagerMessage;
    const atMs = performance.now();
    for (const vm of vmsOf(message)) {
      received.set(vm, (received.get(vm) ?? 0) + 1);
      waiting.get(vm)?.(atMs);
      waiting.delete(vm);
    }
    receiver.lastMs = atMs;
    receiver.onMessage();
    response.writeHead(200).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return Object.assign(receiver, { url: `http://127.0.0.1:${port}/hook` });
}

function vmsOf(message: OurMessage & AlertmanagerMessage): string[] {
  if (!message.alerts) return [message.data.vmName.split('/').at(-1) ?? ''];
  return message.alerts.filter(({ status }) => status === 'firing').map(({ labels }) => labels.vm);
}

async function text(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
