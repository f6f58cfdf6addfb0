/**
 * The Host check. A page of another site can make its own name resolve to an address of this
 * network (DNS rebinding); the browser then sends that name as the Host, and the page would read
 * the answer. Addresses cannot be rebound, so every address is accepted, and health checks need no
 * setting.
 *
 * RFC 9112, sections 3.2 and 3.2.2
 */
import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';

export interface HostProblem {
  readonly cause: 'two_hosts' | 'no_host' | 'bad_host' | 'unknown_host';
  readonly status: 400 | 421;
  readonly message: string;
}

export interface HostNames {
  readonly publicUrl: string | null;
  /** In lower case. */
  readonly allowedHosts: readonly string[] | null;
}

type Requested = Pick<IncomingMessage, 'rawHeaders' | 'url' | 'httpVersionMinor'>;

/** Name or address without the port; an IPv6 address is in brackets. */
const HOST = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+)(?::\d{1,5})?$/i;
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)(.*)$/is;

/** The problem with a request's host; undefined when it names this service. */
export function createHostCheck({
  publicUrl,
  allowedHosts,
}: HostNames): (request: Requested) => HostProblem | undefined {
  const named = [
    ...(allowedHosts ?? []),
    ...(publicUrl === null ? [] : [new URL(publicUrl).hostname]),
  ];
  const names = new Set(named.map(withoutRootDot));
  return (request) => {
    const [host, second] = hostsOf(request.rawHeaders);
    if (second !== undefined) {
      return bad('two_hosts', 'The request has more than one Host header: send one');
    }
    if (host === undefined) {
      // Only health checks of old proxies send none; a browser, which alone can be misled, always
      // sends one.
      if (request.httpVersionMinor === 0) return undefined;
      return bad('no_host', 'The request has no Host header: send the host name of the service');
    }
    const authority = ABSOLUTE_FORM.exec(request.url ?? '')?.[1];
    if (authority !== undefined && authority.toLowerCase() !== host.toLowerCase()) {
      return bad(
        'bad_host',
        'The request names one host in its target and another in its Host header',
      );
    }
    const name = nameOf(host);
    if (name === undefined) return bad('bad_host', 'The Host header is not a host name and port');
    return isAddress(name) || isLocalName(name) || names.has(name) ? undefined : unknown(name);
  };
}

/** True for names of this machine that no name server resolves (RFC 6761, 6.3). */
export function isLocalName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

/** The name or address of a Host header, in lower case; undefined if it is neither. */
export function nameOf(host: string): string | undefined {
  const name = HOST.exec(host)?.[1]?.toLowerCase();
  return name === undefined ? undefined : withoutRootDot(name);
}

/** `svc.example.com.` and `svc.example.com` are one name. */
function withoutRootDot(name: string): string {
  return name.replace(/\.$/, '');
}

/** The target as a path: proxies are sent the absolute form, and servers must accept it. */
export function originForm(url: string): string {
  const rest = ABSOLUTE_FORM.exec(url)?.[2];
  if (rest === undefined) return url;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function hostsOf(rawHeaders: readonly string[]): string[] {
  const hosts: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts.push(rawHeaders[i + 1] ?? '');
  }
  return hosts;
}

function isAddress(name: string): boolean {
  return name.startsWith('[') ? isIPv6(name.slice(1, -1)) : isIPv4(name);
}

function bad(cause: HostProblem['cause'], message: string): HostProblem {
  return { cause, status: 400, message };
}

function unknown(name: string): HostProblem {
  return {
    cause: 'unknown_host',
    status: 421,
    message:
      `${name.slice(0, 100)} is not a name of this service: use its address or the host of ` +
      'SVC_PUBLIC_URL, or add the host to SVC_ALLOWED_HOSTS',
  };
}
