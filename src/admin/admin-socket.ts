/**
 * Where operator commands meet the service of a data folder: a unix socket in the folder. A path
 * of such a socket has at most 107 bytes; a longer one is reached through a descriptor of its
 * folder, whose name under /proc is short.
 */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

const NAME = 'admin.sock';
/** `sockaddr_un.sun_path` with its closing zero (unix(7)). */
const PATH_BYTES_MAX = 107;

export interface SocketPath {
  /** What to bind or to connect to. */
  readonly path: string;
  /** Once the socket is closed, or connected. */
  release(): void;
}

/** Throws what opening the folder throws. */
export function openSocketPath(folder: string): SocketPath {
  const path = join(folder, NAME);
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return { path, release: () => {} };
  const descriptor = openSync(folder, 'r');
  return {
    path: join('/proc/self/fd', String(descriptor), NAME),
    release: () => closeSync(descriptor),
  };
}
