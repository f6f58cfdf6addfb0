/** Binds sockets, loads the TLS certificate, and names the address that clients should use. */

import { readFileSync } from 'node:fs';
import type { AddressInfo, Server } from 'node:net';
import { createSecureContext } from 'node:tls';
import { ConfigError } from '../settings/config.ts';
import type { ListenAddress } from '../settings/setting-kinds.ts';

/** Sentence for a socket that could not be bound; undefined when the fault is another one. */
function bindProblem(error: unknown, setting: string, { host, port }: ListenAddress) {
  const what = `${setting} ${formatAddress(host, port)}`;
  switch ((error as NodeJS.ErrnoException | null)?.code) {
    case 'EADDRINUSE':
      return `${what} is taken by another program: stop it, or choose another port`;
    case 'EACCES':
      return `${what} may not be bound by this user: choose a port above 1023`;
    case 'EADDRNOTAVAIL':
      return `${what} is no address of this machine: give one of its own, or 0.0.0.0 for all`;
    default:
      return undefined;
  }
}

/** Awaits `listen`. Throws `ConfigError` when the address cannot be bound. */
export async function listenOn(
  setting: string,
  address: ListenAddress,
  listen: () => Promise<unknown>,
): Promise<void> {
  try {
    await listen();
  } catch (error) {
    const problem = bindProblem(error, setting, address);
    throw problem === undefined ? error : new ConfigError([problem]);
  }
}

/** `http://127.0.0.1:8080`: where a client on this machine reaches a listening server. */
export function originOf(server: Server, scheme: 'http' | 'https', asked: ListenAddress): string {
  // A server that listens on TCP has an AddressInfo; the other forms are pipes and not listening.
  const { port } = server.address() as AddressInfo;
  const isWildcard = asked.host === '0.0.0.0' || asked.host === '::';
  return `${scheme}://${formatAddress(isWildcard ? 'localhost' : asked.host, port)}`;
}

function formatAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface TlsMaterial {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Both files, checked to belong together. Throws `ConfigError` with the file and what is wrong. */
export function loadTls({ certFile, keyFile }: TlsFiles): TlsMaterial {
  const cert = read('SVC_TLS_CERT_FILE', certFile);
  const key = read('SVC_TLS_KEY_FILE', keyFile);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new ConfigError([
      `SVC_TLS_CERT_FILE ${certFile} and SVC_TLS_KEY_FILE ${keyFile} do not make a certificate ` +
        `with its key (${messageOf(error)}): give a PEM chain and its PEM key without a passphrase`,
    ]);
  }
  return { cert, key };
}

function read(name: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new ConfigError([`${name} cannot be read: ${messageOf(error)}`]);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
