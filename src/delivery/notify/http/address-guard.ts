/**
 * The address guard: no request may reach a network that is not public, nor one that the operator
 * denies. It checks three times:
 *
 * 1. the URL, when it is saved and before each attempt (undici skips `lookup` for literal
 *    addresses, so this check covers those);
 * 2. every address that the host name resolves to, right before dialling: one refused address
 *    rejects the name, and only the checked result is dialled, so DNS rebinding does not work;
 * 3. the remote address of the connected socket, before the first byte of the request.
 *
 * An IPv6 address that stands for an IPv4 address is checked as both. The deny list beats the allow
 * list, and the allow list beats the rest. Ports are limited too, because the bytes of a request
 * could have a meaning in another protocol.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type AddressList, createAddressList } from '../../../platform/http/address-list.ts';
import type { Nat64 } from './nat64.ts';
import { ownNetworks } from './own-networks.ts';
import { carriedIPv4, isPublicAddress, isPublicIPv4 } from './public-address.ts';

/** Hosts exempt from the guard, hosts that are denied, and the form of URLs. */
export interface AddressRules {
  /** Host names, addresses and CIDR ranges of `SVC_WEBHOOK_ALLOW`. */
  readonly hosts: readonly string[];
  /** `SVC_WEBHOOK_ALLOW_HTTP`: allows plain http, for those hosts only. */
  readonly http: boolean;
  /**
   * `SVC_WEBHOOK_PORTS`, for those hosts too. Default: every port except those of other protocols.
   */
  readonly ports?: readonly PortRange[] | undefined;
  /** `SVC_WEBHOOK_DENY`, in the form of `hosts`. */
  readonly denied?: readonly string[];
  /** Networks of this machine. Called for each address, because they change. Default: as they are. */
  readonly ownNetworks?: () => readonly string[];
  /** Translators between IPv6 and IPv4, besides the well-known ones. */
  readonly nat64?: Nat64;
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

/** The cause of a refused address, as the end of a sentence for the operator. */
const CAUSES = {
  denied: 'which SVC_WEBHOOK_DENY denies',
  own: 'which is in a network of this machine that SVC_WEBHOOK_ALLOW does not name',
  notPublic: 'which is not a public address',
} as const;
type Cause = keyof typeof CAUSES;

const NOT_ALLOWED = "The operator of this service does not allow the URL's host";

/**
 * The operator's exceptions are names, addresses or ranges. Everything else that is not public is
 * rejected.
 */
export class AddressGuard {
  readonly nat64: Nat64 | undefined;
  readonly #allowed: HostList;
  readonly #denied: HostList;
  readonly #ownNetworks: () => readonly string[];
  readonly #allowHttp: boolean;
  readonly #ports: readonly PortRange[] | undefined;

  /** Throws a `RangeError` that names the entry if it is neither a host, an address nor a range. */
  constructor(rules: AddressRules) {
    this.nat64 = rules.nat64;
    this.#allowed = new HostList(rules.hosts);
    this.#denied = new HostList(rules.denied ?? []);
    this.#ownNetworks = rules.ownNetworks ?? ownNetworks;
    this.#allowHttp = rules.http;
    this.#ports = rules.ports;
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
    const exempt = this.isExempt(url);
    if (url.protocol === 'http:' && !(exempt && this.#allowHttp))
      return 'The URL must begin with https';
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      return 'The URL must begin with https';
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    const refusedPort = refusePort(port, this.#ports);
    if (refusedPort !== undefined) return refusedPort;
    if (isIP(host) === 0) return this.#denied.hasName(host) ? NOT_ALLOWED : undefined;
    const cause = this.#causeAgainst(host, host);
    if (cause === undefined) return undefined;
    return cause === 'notPublic' ? "The URL's host is not a public address" : NOT_ALLOWED;
  }

  /**
   * The reason why no socket may be opened to this address for `host`, as a sentence for the
   * operator; undefined if one may.
   */
  refuseAddress(address: string, host: string): string | undefined {
    const cause = this.#causeAgainst(address, host);
    return cause && `${host} resolves to ${address}, ${CAUSES[cause]}`;
  }

  /** True if the operator allows this URL's host by name or address. */
  isExempt(url: URL): boolean {
    const host = hostOf(url);
    if (isIP(host) === 0) return this.isAllowedName(host);
    const forms = this.#formsOf(host);
    return this.#allowed.hasAddress(forms) && !this.#denied.hasAddress(forms);
  }

  /** True if the operator allows this host name, and does not deny it; false for addresses. */
  isAllowedName(host: string): boolean {
    return this.#allowed.hasName(host) && !this.#denied.hasName(host);
  }

  #causeAgainst(address: string, host: string): Cause | undefined {
    const forms = this.#formsOf(address);
    if (this.#denied.hasName(host) || this.#denied.hasAddress(forms)) return 'denied';
    if (this.isAllowedName(host) || this.#allowed.hasAddress(forms)) return undefined;
    if (!this.#isPublic(address)) return 'notPublic';
    const own = createAddressList(this.#ownNetworks());
    return forms.some((form) => own.has(form)) ? 'own' : undefined;
  }

  /** The address, and the IPv4 addresses that it stands for. */
  #formsOf(address: string): readonly string[] {
    const parsed = parseIPv6(address);
    if (!parsed) return [address];
    const { nat64 } = this;
    const carried = [carriedIPv4(parsed), nat64?.givenIPv4(parsed)].flatMap((one) => one ?? []);
    const all = [...carried, ...(nat64?.discoveredIPv4(parsed) ?? [])];
    return [address, ...all.map(String)];
  }

  /** A translator of the operator's makes any address that it reaches one of IPv4. */
  #isPublic(address: string): boolean {
    const parsed = parseIPv6(address);
    const given = parsed && this.nat64?.givenIPv4(parsed);
    if (given) return isPublicIPv4(given);
    const discovered = (parsed && this.nat64?.discoveredIPv4(parsed)) ?? [];
    return isPublicAddress(address) && discovered.every(isPublicIPv4);
  }
}

/** Names, addresses and ranges of a setting. */
class HostList {
  readonly #names: ReadonlySet<string>;
  readonly #addresses: AddressList;

  constructor(entries: readonly string[]) {
    const isName = (entry: string): boolean => !entry.includes('/') && isIP(entry) === 0;
    this.#names = new Set(entries.filter(isName).map(plainName));
    this.#addresses = createAddressList(entries.filter((entry) => !isName(entry)));
  }

  hasName(host: string): boolean {
    return this.#names.has(plainName(host));
  }

  /** True if one of the forms of an address is listed. */
  hasAddress(forms: readonly string[]): boolean {
    return forms.some((form) => this.#addresses.has(form));
  }
}

/** Names are the same in any case, and with the dot of the root. */
function plainName(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}

function parseIPv6(address: string): ipaddr.IPv6 | undefined {
  return ipaddr.IPv6.isValid(address) ? ipaddr.IPv6.parse(address) : undefined;
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
