/**
 * The address guard: no request may reach a network that is not public. It checks three times:
 *
 * 1. the URL, when it is saved and before each attempt (undici skips `lookup` for literal
 *    addresses, so this check covers those);
 * 2. every address that the host name resolves to, right before dialling: one private address
 *    rejects the name, and only the checked result is dialled, so DNS rebinding does not work;
 * 3. the remote address of the connected socket, before the first byte of the request.
 *
 * Ports are limited too, because the bytes of a request could have a meaning in another protocol.
 */
import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Hosts exempt from the guard, and whether they may use plain http; for labs and tests. */
export interface AllowedAddresses {
  /** Host names, addresses and CIDR ranges of `SVC_WEBHOOK_ALLOW`. */
  readonly hosts: readonly string[];
  /** `SVC_WEBHOOK_ALLOW_HTTP`: allows plain http, for those hosts only. */
  readonly http: boolean;
  /**
   * `SVC_WEBHOOK_PORTS`, for those hosts too. Default: every port except those of other protocols.
   */
  readonly ports?: readonly PortRange[] | undefined;
}

/** A range of ports, both bounds included. */
interface PortRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Maximum characters of a URL. Receivers accept this length, and answers can be searched for it.
 */
const URL_LENGTH_MAX = 2_048;

/**
 * The operator's exceptions are names, addresses or ranges. Everything else that is not public is
 * rejected.
 */
export class AddressGuard {
  readonly #names = new Set<string>();
  readonly #ranges = new BlockList();
  readonly #allowHttp: boolean;
  readonly #ports: readonly PortRange[] | undefined;

  /** Throws a `RangeError` that names the entry if it is neither a host, an address nor a range. */
  constructor(allowed: AllowedAddresses) {
    this.#allowHttp = allowed.http;
    this.#ports = allowed.ports;
    for (const entry of allowed.hosts) this.#allow(entry);
  }

  /**
   * The reason why this URL must not be called, as a sentence that reveals nothing of the URL
   * except its port; undefined if its host may be resolved.
   */
  refuseUrl(text: string): string | undefined {
    // White space and invisible characters are rejected, because the URL parser silently drops some
    // of them.
    if (text.length > URL_LENGTH_MAX || /[\p{C}\p{Z}]/u.test(text)) {
      return `The URL must be at most ${URL_LENGTH_MAX} printable characters`;
    }
    if (!URL.canParse(text)) return 'The address is not a URL';
    const url = new URL(text);
    if (url.username !== '' || url.password !== '')
      return 'The URL must not contain a user or password';
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
   * The reason why no socket may be opened to this address for `host`, as a sentence for the
   * operator; undefined if one may.
   */
  refuseAddress(address: string, host: string): string | undefined {
    if (this.#isExemptHost(host) || this.#isExemptAddress(address)) return undefined;
    return isPublicAddress(address)
      ? undefined
      : `${host} resolves to ${address}, which is not a public address`;
  }

  /** True if the operator allows this URL's host by name or address. */
  isExempt(url: URL): boolean {
    return this.#isExemptHost(hostOf(url));
  }

  /** True if the operator allows this host name; false for addresses. */
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

/**
 * Host of a URL, without the brackets of an IPv6 literal. The parser has already resolved forms
 * like 0x7f000001.
 */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** "Bad ports" of the Fetch standard (fetch.spec.whatwg.org, port blocking). */
const OTHER_PROTOCOLS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
  103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
  512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
  995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
  6669, 6679, 6697, 10080,
]);

/** The reason why a URL must not have this port, as a sentence; undefined if it may. */
function refusePort(port: number, allowed: readonly PortRange[] | undefined): string | undefined {
  if (allowed === undefined) {
    return OTHER_PROTOCOLS.has(port)
      ? `Port ${port} belongs to another protocol. Use a port for https, such as 443`
      : undefined;
  }
  if (allowed.some(({ from, to }) => from <= port && port <= to)) return undefined;
  return `Port ${port} is not allowed here. Use ${formatPorts(allowed)}`;
}

/** Formats ranges like `443 or 8443-8445`. */
function formatPorts(ranges: readonly PortRange[]): string {
  const words = ranges.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`));
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(words);
}

/*
 * Sources for public addresses: the IANA IPv4 and IPv6 Special-Purpose Address Registries, RFC 6890
 * and its updates. `ipaddr.js` knows the IPv4 blocks. IPv6 is an allow list: only global unicast
 * (2000::/3) without its special-purpose blocks, so that a block that IANA assigns later is
 * rejected.
 */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** Special-purpose blocks within global unicast. */
const SPECIAL = [
  // Protocol assignments: Teredo, ORCHID, benchmarking, AMT, DRIP and more (RFC 2928).
  '2001::/23',
  // Documentation (RFC 3849, RFC 9637).
  '2001:db8::/32',
  '3fff::/20',
  // AS112 (RFC 7534).
  '2620:4f:8000::/48',
].map((block) => ipaddr.IPv6.parseCIDR(block));

const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR('2002::/16');
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** Azure's host service, which has a public address, and Alibaba Cloud's metadata service. */
const CLOUD_SERVICES: ReadonlySet<string> = new Set(['168.63.129.16', '100.100.100.200']);

/**
 * True for an address of the public internet. Mapped (::ffff:a.b.c.d), NAT64 (64:ff9b::/96, RFC
 * 6052) and 6to4 (RFC 3056) forms count as the IPv4 address they carry. ISATAP forms (RFC 5214) are
 * never public: whatever their prefix, they address a machine in a private network.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv4) return isPublicIPv4(address);
  if (address.zoneId !== undefined) return false;
  const carried = carriedIPv4(address);
  if (carried) return isPublicIPv4(carried);
  const isSpecial = SPECIAL.some((block) => address.match(block)) || isIsatap(address);
  return address.match(GLOBAL_UNICAST) && !isSpecial;
}

function isPublicIPv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && !CLOUD_SERVICES.has(address.toString());
}

function carriedIPv4(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  const bytes = address.toByteArray();
  if (address.match(SIX_TO_FOUR)) return new ipaddr.IPv4(bytes.slice(2, 6));
  return address.match(NAT64) ? new ipaddr.IPv4(bytes.slice(12)) : undefined;
}

/** True for an interface identifier of ::0:5efe:a.b.c.d or ::200:5efe:a.b.c.d. */
function isIsatap(address: ipaddr.IPv6): boolean {
  const [, , , , high = 0, low = 0] = address.parts;
  return (high & ~0x200) === 0 && low === 0x5efe;
}
