/**
 * The address guard: what we send must never reach into a network that is not public. Checked three
 * times: the URL when it is saved, every address its name resolves to (one that is not public
 * refuses all: no rebinding, for that look-up's result is what is dialled), and the socket's
 * remote address before a byte of the request is written. undici does not call `lookup` for
 * literal addresses, which is why the URL check treats those itself.
 */
import { BlockList, isIP } from 'node:net';
import { type PortRange, refusePort } from './ports.ts';
import { isPublicAddress } from './public-address.ts';

/** Addresses exempt from the guard, and whether plain http is allowed for them: labs and tests. */
export interface AddressAllowance {
  /** Host names, addresses and CIDR ranges of `SVC_WEBHOOK_ALLOW`. */
  readonly hosts: readonly string[];
  /** `SVC_WEBHOOK_ALLOW_HTTP`: plain http, for those hosts only. */
  readonly http: boolean;
  /** `SVC_WEBHOOK_PORTS`, for those hosts too; default: all but those of other protocols. */
  readonly ports?: readonly PortRange[] | undefined;
}

/** Characters of a URL: what every receiver reads, and what an answer can be searched for. */
const URL_LENGTH_MAX = 2_048;

export class AddressGuard {
  readonly #names = new Set<string>();
  readonly #ranges = new BlockList();
  readonly #allowHttp: boolean;
  readonly #ports: readonly PortRange[] | undefined;

  /** Throws a `RangeError` naming an entry that is neither a host, an address nor a range. */
  constructor(allowance: AddressAllowance) {
    this.#allowHttp = allowance.http;
    this.#ports = allowance.ports;
    for (const entry of allowance.hosts) this.#allow(entry);
  }

  /**
   * Why this URL must not be called, as a sentence that names nothing of the URL but its port;
   * undefined when it may be looked up.
   */
  refuseUrl(text: string): string | undefined {
    // White space and what draws nothing: the parser takes some of it for nothing at all.
    if (text.length > URL_LENGTH_MAX || /[\p{C}\p{Z}]/u.test(text)) {
      return `The URL must be at most ${URL_LENGTH_MAX} printable characters`;
    }
    if (!URL.canParse(text)) return 'The address is not a URL';
    const url = new URL(text);
    if (url.username !== '' || url.password !== '')
      return 'The URL must not hold a user or password';
    const host = hostOf(url);
    const exempt = this.#isExemptHost(host);
    if (url.protocol === 'http:' && !(exempt && this.#allowHttp))
      return 'The URL must begin with https';
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      return 'The URL must begin with https';
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    const refusedPort = refusePort(port, this.#ports);
    if (refusedPort !== undefined) return refusedPort;
    const isRefused = isIP(host) !== 0 && this.refuseAddress(host, host) !== undefined;
    return isRefused ? "The URL's host is not a public address" : undefined;
  }

  /**
   * Why a socket must not be opened to this address for `host`, as a sentence for the operator;
   * undefined when it may.
   */
  refuseAddress(address: string, host: string): string | undefined {
    if (this.#isExemptHost(host) || this.#isExemptAddress(address)) return undefined;
    return isPublicAddress(address)
      ? undefined
      : `${host} is at ${address}, which is not a public address`;
  }

  /** Is this URL's host one that the operator allows by name or address? */
  isExempt(url: URL): boolean {
    return this.#isExemptHost(hostOf(url));
  }

  /** Is this host name, not an address, one that the operator allows? */
  isAllowedName(host: string): boolean {
    return this.#names.has(host.toLowerCase());
  }

  #allow(entry: string): void {
    const [address = '', prefix] = entry.split('/');
    const family = isIP(address);
    if (prefix !== undefined && (family === 0 || !/^\d{1,3}$/.test(prefix))) {
      throw new RangeError(`${entry} is not a range like 10.0.0.0/8`);
    }
    if (family === 0) this.#names.add(entry.toLowerCase());
    else {
      const type = family === 6 ? 'ipv6' : 'ipv4';
      const bits = prefix === undefined ? (family === 6 ? 128 : 32) : Number(prefix);
      this.#ranges.addSubnet(address, bits, type);
    }
  }

  #isExemptHost(host: string): boolean {
    return isIP(host) === 0 ? this.isAllowedName(host) : this.#isExemptAddress(host);
  }

  #isExemptAddress(address: string): boolean {
    return this.#ranges.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
}

/** Host of a URL without the brackets of an IPv6 literal. The URL parser has resolved 0x7f000001. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}
