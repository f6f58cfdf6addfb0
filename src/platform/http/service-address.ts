/**
 * Addresses of the service: the one that programs use, and the one at which browsers have their
 * session. Browsers send a cookie to every port of its host (RFC 6265, section 8.5), so that a
 * session on `127.0.0.1` would reach every program of the machine. On plain http of this machine,
 * pages therefore have a host name of their own under `.localhost`, which browsers resolve to
 * loopback themselves (RFC 6761, section 6.3).
 */
import { hash } from 'node:crypto';
import { isLoopbackHost } from '../settings/setting-kinds.ts';
import { isLocalName, nameOf } from './hosts.ts';

const ID_CHARS = 8;

/** Host name of the pages of an installation, such as `svc-1f0c93ab.localhost`. */
export function pageHostOf(installation: string): string {
  return `svc-${hash('sha256', `svc page host ${installation}`).slice(0, ID_CHARS)}.localhost`;
}

/** Origins by the Host header of a request. */
export interface Origins {
  /** Origin for clients; empty before the server listens. */
  readonly origin: () => string;
  /**
   * Origin that a page or a program at this Host reports. Through a tunnel to loopback it has the
   * tunnel's port.
   */
  readonly ownOrigin: (host: string | undefined) => string;
  /** Origin of pages for a browser at this Host; without one, that of links. */
  readonly pageOrigin: (host?: string) => string;
}

/** Origins of a service that has one address for programs and browsers. */
export function singleOrigin(origin: () => string): Origins {
  return { origin, ownOrigin: origin, pageOrigin: origin };
}

/** Address of the service for clients; notifications and mails link to it. */
export class ServiceAddress implements Origins {
  #origin: string;
  readonly #pageHost: string | undefined;

  /**
   * @param publicUrl SVC_PUBLIC_URL, which pages use as it is
   * @param pageHost host name of pages if the service listens in plain http on this machine
   */
  constructor(publicUrl: string | null, pageHost?: string) {
    this.#origin = publicUrl ?? '';
    this.#pageHost = publicUrl === null ? pageHost : undefined;
  }

  /** SVC_PUBLIC_URL, or the address the server is bound to; empty before it listens. */
  readonly origin = (): string => this.#origin;

  readonly ownOrigin = (host: string | undefined): string => {
    const isHere = host !== undefined && this.#hasPageHost() && isThisMachine(host);
    return isHere ? new URL(`http://${host}`).origin : this.#origin;
  };

  readonly pageOrigin = (host?: string): string => {
    if (!this.#hasPageHost()) return this.#origin;
    if (host !== undefined && !isThisMachine(host)) return this.#origin;
    const url = new URL(host === undefined ? this.#origin : `http://${host}`);
    url.hostname = this.#pageHost ?? url.hostname;
    return url.origin;
  };

  /** Records where the server listens, unless SVC_PUBLIC_URL is set. */
  bound(origin: string): void {
    this.#origin ||= origin;
  }

  #hasPageHost(): boolean {
    if (this.#pageHost === undefined || !URL.canParse(this.#origin)) return false;
    const { protocol, hostname } = new URL(this.#origin);
    return protocol === 'http:' && isLoopbackHost(hostname);
  }
}

/** True if a Host header names this machine. Any other name may be that of a proxy. */
function isThisMachine(host: string): boolean {
  const name = nameOf(host);
  return name !== undefined && (isLocalName(name) || isLoopbackHost(name));
}
