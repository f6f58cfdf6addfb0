/**
 * The service's side of operator commands: HTTP over a unix socket that the service's own user
 * alone may open, so that no credential is needed and no network reaches it. An answer is a line of
 * JSON for each thing there is to tell, the result last: long work shows how far it is.
 */
import { once } from 'node:events';
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Log } from '../log.ts';
import { openSocketPath } from './admin-socket.ts';

/** A line of an answer; `result` or `fault` is the last one. */
export type AdminLine =
  | { readonly progress: unknown }
  | { readonly result: unknown }
  | { readonly fault: string };

/** Does what a path asks for; `signal` aborts when the command has gone, or the service stops. */
export type AdminRoute = (
  signal: AbortSignal,
  onProgress: (progress: unknown) => void,
) => Promise<unknown>;

export interface AdminServer {
  /** Ends what is under way. Harmless on a second call. */
  close(): Promise<void>;
}

/**
 * Listens at once; a socket that a dead process has left is replaced, so call it under the folder's
 * lock. Throws what binding throws.
 */
export async function openAdminServer(options: {
  readonly folder: string;
  readonly routes: Readonly<Record<string, AdminRoute>>;
  readonly log: Log;
}): Promise<AdminServer> {
  const { folder, routes, log } = options;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    const answered = answer(routes, request, response, stopping.signal).catch((error: unknown) => {
      log.error({ err: error, part: 'admin' }, 'An operator command could not be answered');
      response.destroy();
    });
    running.add(answered);
    void answered.finally(() => running.delete(answered));
  });
  const socket = openSocketPath(folder);
  try {
    rmSync(socket.path, { force: true });
    const listening = once(server, 'listening');
    // Where binding fails, changing the mode is what throws.
    listening.catch(() => {});
    server.listen(socket.path);
    // Bound by now: in the same turn, so that nobody is let in under the process's umask.
    chmodSync(socket.path, 0o600);
    await listening;
  } catch (error) {
    socket.release();
    throw error;
  }
  return {
    async close() {
      if (stopping.signal.aborted) return;
      stopping.abort(new Error('The service is stopping'));
      const closed = once(server, 'close');
      server.close();
      await Promise.all(running);
      server.closeAllConnections();
      await closed;
      socket.release();
    },
  };
}

async function answer(
  routes: Readonly<Record<string, AdminRoute>>,
  request: IncomingMessage,
  response: ServerResponse,
  stopping: AbortSignal,
): Promise<void> {
  const route = Object.hasOwn(routes, request.url ?? '') ? routes[request.url ?? ''] : undefined;
  if (route === undefined || request.method !== 'POST') {
    response.writeHead(route ? 405 : 404).end();
    return;
  }
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('The command has gone')));
  const signal = AbortSignal.any([gone.signal, stopping]);
  const tell = (line: AdminLine) => response.write(`${JSON.stringify(line)}\n`);
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  try {
    tell({ result: await route(signal, (progress) => tell({ progress })) });
  } catch (error) {
    tell({ fault: error instanceof Error ? error.message : String(error) });
  }
  response.end();
}
