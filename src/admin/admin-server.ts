/**
 * The service's side of operator commands: HTTP over a unix socket that only the service's own user
 * may open, so that no credential is needed and no network reaches it. A response consists of JSON
 * lines: progress first, the result last.
 */
import { once } from 'node:events';
import { chmodSync, closeSync, openSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Log } from '../platform/log.ts';

/** A line of a response; `result` or `fault` is the last one. */
export type AdminLine =
  | { readonly progress: unknown }
  | { readonly result: unknown }
  | { readonly fault: string };

/** Maximum bytes of a request's body: names, addresses and reasons. */
const BODY_BYTES_MAX = 64 * 1024;

/**
 * Sends a line of progress. A caller with many lines waits until the earlier ones have been sent.
 */
export interface SendProgress {
  (progress: unknown): void;
  /** Resolves when there is room for more, or when the reader has disconnected. */
  drained(): Promise<void>;
}

/**
 * Handles the requests of a path; `signal` aborts when the command disconnects, or the service
 * stops. `body` is the request's JSON, {} if there is none.
 */
export type AdminRoute = (
  signal: AbortSignal,
  onProgress: SendProgress,
  body: Readonly<Record<string, unknown>>,
) => Promise<unknown>;

export type AdminRoutes = Readonly<Record<string, AdminRoute>>;

export interface AdminServer {
  /** Adds routes of parts that were started after the socket. */
  add(routes: AdminRoutes): void;
  /** Ends the current requests. A second call is harmless. */
  close(): Promise<void>;
}

/**
 * Listens at once. A socket that a dead process has left is replaced, so call it under the folder's
 * lock. Throws the errors of binding.
 */
export async function openAdminServer(options: {
  readonly folder: string;
  readonly routes: AdminRoutes;
  readonly log: Log;
}): Promise<AdminServer> {
  const { folder, log } = options;
  let routes = options.routes;
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
    // If binding fails, changing the mode throws.
    listening.catch(() => {});
    server.listen(socket.path);
    // Already bound: in the same turn, so that no one can connect under the process's umask.
    chmodSync(socket.path, 0o600);
    await listening;
  } catch (error) {
    socket.release();
    throw error;
  }
  return {
    add(more) {
      routes = { ...routes, ...more };
    },
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
  routes: AdminRoutes,
  request: IncomingMessage,
  response: ServerResponse,
  stopping: AbortSignal,
): Promise<void> {
  const route = Object.hasOwn(routes, request.url ?? '') ? routes[request.url ?? ''] : undefined;
  if (route === undefined || request.method !== 'POST') {
    response.writeHead(route ? 405 : 404).end();
    return;
  }
  const body = await readBody(request);
  if (body === undefined) {
    response.writeHead(400).end();
    return;
  }
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('The command disconnected')));
  const signal = AbortSignal.any([gone.signal, stopping]);
  const send = (line: AdminLine) => response.write(`${JSON.stringify(line)}\n`);
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  try {
    const onProgress = Object.assign((progress: unknown) => void send({ progress }), {
      drained: () => roomIn(response, gone.signal),
    });
    send({ result: await route(signal, onProgress, body) });
  } catch (error) {
    send({ fault: error instanceof Error ? error.message : String(error) });
  }
  response.end();
}

async function roomIn(response: ServerResponse, gone: AbortSignal): Promise<void> {
  if (!response.writableNeedDrain || gone.aborted) return;
  await once(response, 'drain', { signal: gone }).catch((error: unknown) => {
    if (!gone.aborted) throw error;
  });
}

/** undefined if it is too long, or not a JSON object. */
async function readBody(
  request: IncomingMessage,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    parts.push(part);
  }
  if (bytes === 0) return {};
  try {
    const value: unknown = JSON.parse(Buffer.concat(parts).toString('utf8'));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

const NAME = 'admin.sock';
/** `sockaddr_un.sun_path` with its closing zero (unix(7)). */
const PATH_BYTES_MAX = 107;

export interface SocketPath {
  /** The path to bind or to connect to. */
  readonly path: string;
  /** To be called when the socket is closed, or connected. */
  release(): void;
}

/** Throws the errors of opening the folder. */
export function openSocketPath(folder: string): SocketPath {
  const path = join(folder, NAME);
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return { path, release: () => {} };
  const descriptor = openSync(folder, 'r');
  return {
    path: join('/proc/self/fd', String(descriptor), NAME),
    release: () => closeSync(descriptor),
  };
}
