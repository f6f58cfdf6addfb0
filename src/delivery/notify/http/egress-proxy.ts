/**
 * Connections through the operator's egress proxy, by CONNECT (RFC 9110, section 9.3.6). The proxy
 * sees the host and the port of a receiver; TLS to the receiver passes through it. A fault of the
 * proxy is not the receiver's, so both have an error of their own.
 */
import { isIP, isIPv6, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { type Clock, systemClock } from '../../../../streams/platform/clock.ts';
import { type Dialled, dialHost, type Resolve } from '../../../platform/http/dial.ts';
import { ConfigError } from '../../../platform/settings/config.ts';
import { readSecretFile } from '../../../platform/settings/secret-file.ts';

/** `SVC_WEBHOOK_PROXY`, and the file with its password. */
export interface EgressProxySettings {
  /** `http://` or `https://`, with user and password if the proxy requires them. */
  readonly url: string;
  readonly passwordFile?: string | null;
}

export interface EgressProxyOptions extends EgressProxySettings {
  readonly clock?: Clock;
  /** Time to connect to the proxy, and then for its TLS handshake, ms each. */
  readonly connectMs: number;
  /** Resolves the name of the proxy. Default: the operating system. */
  readonly resolve?: Resolve;
  /** Extra trusted certificates (PEM), for a proxy with a private authority. */
  readonly ca?: string;
}

/** Host and port of a receiver, and the socket to it. */
export type OpenTunnel = (
  target: { readonly host: string; readonly port: number },
  done: Dialled,
) => void;

/** Time in which the proxy has to answer, ms. It includes the connection to the receiver. */
const ANSWER_MS = 5_000;
const ANSWER_BYTES_MAX = 16 * 1024;

/** The proxy did not do its work. The operator has to fix that. */
export class ProxyFault extends Error {
  constructor(what: string) {
    super(`The egress proxy of this service ${what}`);
  }
}

/**
 * The proxy works, and has no connection to the host. One error for all causes: otherwise anyone
 * who sets URLs could probe which names and addresses the proxy knows.
 */
export class NotReached extends Error {
  /** The cause, for the operator. */
  readonly detail: string;

  constructor(detail: string) {
    super('The egress proxy did not reach the host. Fix the URL or the DNS records of the name');
    this.detail = detail;
  }
}

/** Statuses with which a proxy reports a fault of its own rather than of the receiver. */
const FAULTS: ReadonlyMap<number, string> = new Map([
  [400, 'does not understand CONNECT'],
  [401, 'rejects the login of this service'],
  [405, 'does not offer CONNECT'],
  [407, 'rejects the login of this service'],
  [429, 'has too many requests'],
  [500, 'failed'],
  [501, 'does not offer CONNECT'],
]);

/** Makes the opener of tunnels. It rejects with `ProxyFault` or `NotReached`. */
export function createEgressProxy(options: EgressProxyOptions): OpenTunnel {
  const { clock = systemClock, connectMs } = options;
  const { protocol, hostname, port } = new URL(options.url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const login = loginOf(options);
  let answeredMs = Number.NEGATIVE_INFINITY;
  return (target, done) => {
    const open = { host, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
    const { resolve } = options;
    const connect = { ...open, timeoutMs: connectMs, clock, ...(resolve && { resolve }) };
    dialHost(connect, (error, tcp) => {
      if (!tcp) return done(error && new ProxyFault('cannot be reached'), null);
      const ready = (socket: Socket): void => {
        const startedMs = clock.elapsed();
        const tunnel = { socket, target, authorization: login(), clock };
        requestTunnel(tunnel, (failure, opened) => {
          if (!(failure instanceof Silence)) {
            answeredMs = clock.elapsed();
            return done(failure, opened);
          }
          // A proxy that answered others in that time is only waiting for the receiver.
          const isReceiver = answeredMs >= startedMs;
          done(isReceiver ? new NotReached('no answer') : new ProxyFault('does not answer'), null);
        });
      };
      if (protocol === 'https:') encrypt(options, { tcp, host }, ready, done);
      else ready(tcp);
    });
  };
}

/** TLS to the proxy itself, inside which the tunnel runs. */
function encrypt(
  { clock = systemClock, connectMs, ca }: EgressProxyOptions,
  { tcp, host }: { readonly tcp: Socket; readonly host: string },
  ready: (socket: Socket) => void,
  done: Dialled,
): void {
  const socket = tlsConnect({
    socket: tcp,
    host,
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca }),
  });
  const end = (fault: ProxyFault | undefined) => {
    cancel();
    socket.removeListener('error', onError).removeListener('secureConnect', onSecure);
    if (!fault) return ready(socket);
    socket.on('error', () => {}).destroy();
    done(fault, null);
  };
  const onError = (): void => end(new ProxyFault('has no TLS that this service trusts'));
  const onSecure = (): void => end(undefined);
  const cancel = clock.wakeAfter(connectMs, () => end(new ProxyFault('does not answer')));
  socket.once('error', onError).once('secureConnect', onSecure);
}

/** The proxy is silent. */
class Silence extends Error {}

interface Tunnel {
  readonly socket: Socket;
  readonly target: { readonly host: string; readonly port: number };
  readonly authorization: string | undefined;
  readonly clock: Clock;
}

/** Sends CONNECT, and reads the head of the answer. */
function requestTunnel({ socket, target, authorization, clock }: Tunnel, done: Dialled): void {
  let head = Buffer.alloc(0);
  const finish = (error: Error | null) => {
    cancel();
    socket.removeListener('readable', read).removeListener('error', onEnd);
    socket.removeListener('close', onEnd);
    if (!error) return done(null, socket);
    socket.on('error', () => {}).destroy();
    done(error, null);
  };
  const onEnd = (): void => finish(new ProxyFault('closed the connection without an answer'));
  const read = () => {
    for (let chunk = nextChunk(socket); chunk; chunk = nextChunk(socket)) {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0 && head.length <= ANSWER_BYTES_MAX) continue;
      const outcome = end < 0 ? new ProxyFault('sends no HTTP') : outcomeOf(head);
      if (!outcome && head.length > end + 4) socket.unshift(head.subarray(end + 4));
      return finish(outcome);
    }
  };
  const cancel = clock.wakeAfter(ANSWER_MS, () => finish(new Silence()));
  socket.on('readable', read).once('error', onEnd).once('close', onEnd);
  const authority = `${isIPv6(target.host) ? `[${target.host}]` : target.host}:${target.port}`;
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
  if (authorization !== undefined) lines.push(`Proxy-Authorization: ${authorization}`);
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
}

function nextChunk(socket: Socket): Buffer | null {
  return socket.read() as Buffer | null;
}

/** Null if the proxy is connected to the receiver. */
function outcomeOf(head: Buffer): Error | null {
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?:\s|$)/.exec(head.toString('latin1'))?.[1]);
  if (Number.isNaN(status)) return new ProxyFault('sends no HTTP');
  if (status >= 200 && status < 300) return null;
  const fault = FAULTS.get(status);
  return fault ? new ProxyFault(fault) : new NotReached(`status ${status}`);
}

/** `Basic ...` for each tunnel, because the password's file may change; undefined without a user. */
function loginOf({ url, passwordFile = null }: EgressProxySettings): () => string | undefined {
  const { username, password } = new URL(url);
  if (username === '') return () => undefined;
  let last = decodeURIComponent(password);
  return () => {
    try {
      if (passwordFile !== null)
        last = readSecretFile('SVC_WEBHOOK_PROXY_PASSWORD_FILE', passwordFile);
    } catch (error) {
      // While the file is replaced, the previous password works.
      if (!(error instanceof ConfigError)) throw error;
    }
    const text = `${decodeURIComponent(username)}:${last}`;
    return `Basic ${Buffer.from(text, 'utf8').toString('base64')}`;
  };
}
