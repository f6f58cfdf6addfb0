/** Connections of undici agents, opened by the rule of `dial.ts`. */
import { isIPv6 } from 'node:net';
import { buildConnector } from 'undici';
import { type Dialled, dialHost, NotConnected, type Resolve, systemResolve } from './dial.ts';

/** Connections of an undici agent. */
export interface ConnectorOptions {
  /** Time to connect, and then for the TLS handshake, ms each. */
  readonly timeoutMs: number;
  readonly resolve?: Resolve;
  /** Opens the socket in place of `dialHost`, for example through a proxy. */
  readonly open?: (target: { readonly host: string; readonly port: number }, done: Dialled) => void;
  /** Extra trusted certificates (PEM). */
  readonly ca?: string;
}

/** Makes the connector of an undici agent. */
export function createConnector({
  timeoutMs,
  resolve = systemResolve,
  open = (target, done) => dialHost({ ...target, timeoutMs, resolve }, done),
  ca,
}: ConnectorOptions): buildConnector.connector {
  const encrypt = buildConnector({ timeout: timeoutMs, ...(ca === undefined ? {} : { ca }) });
  return (options, done) => {
    const { hostname, protocol } = options;
    const isTls = protocol === 'https:';
    const port = Number(options.port) || (isTls ? 443 : 80);
    open({ host: plainHost(hostname), port }, (error, socket) => {
      if (error || !socket) done(error ?? new NotConnected([], timeoutMs), null);
      else if (isTls) encrypt({ ...options, httpSocket: socket }, done);
      else done(null, socket);
    });
  };
}

/** The host of a URL, without the brackets of an IPv6 address. */
function plainHost(hostname: string): string {
  return isIPv6(hostname.slice(1, -1)) ? hostname.slice(1, -1) : hostname;
}
