/**
 * Prefixes of translators between IPv6 and IPv4 (NAT64), besides the well-known 64:ff9b::/96. A
 * network that runs one may use a prefix of its own (RFC 6052), under which an IPv6 address that
 * looks public reaches any IPv4 address, private ones included. A prefix is given by the operator,
 * or discovered by the name `ipv4only.arpa`, whose IPv4 addresses are known to all (RFC 7050).
 */
import type { LookupAddress } from 'node:dns';
import ipaddr from 'ipaddr.js';
import type { Clock } from '../../../../streams/platform/clock.ts';
import type { Resolve } from '../../../platform/http/dial.ts';

/** Given prefixes; `auto`: discovered ones. */
export type Nat64Setting = 'auto' | readonly string[];

type PrefixBits = 32 | 40 | 48 | 56 | 64 | 96;

interface Prefix {
  readonly bits: PrefixBits;
  readonly bytes: readonly number[];
}

/** Where the IPv4 address is, by the length of the prefix (RFC 6052, section 2.2). Byte 8 is zero. */
const PLACES: Readonly<Record<PrefixBits, readonly [number, number, number, number]>> = {
  32: [4, 5, 6, 7],
  40: [5, 6, 7, 9],
  48: [6, 7, 9, 10],
  56: [7, 9, 10, 11],
  64: [9, 10, 11, 12],
  96: [12, 13, 14, 15],
};
const LENGTHS = Object.keys(PLACES).map((bits) => Number(bits) as PrefixBits);

const DISCOVERY_NAME = 'ipv4only.arpa';
/** Its IPv4 addresses (RFC 7050, section 8.1). */
const KNOWN_IPV4: ReadonlySet<string> = new Set(['192.0.0.170', '192.0.0.171']);
/** Time after which the prefixes are discovered again, ms: a machine can change its network. */
const FRESH_MS = 600_000;

export interface Nat64Options {
  readonly setting: Nat64Setting;
  readonly clock: Pick<Clock, 'elapsed'>;
}

/** The prefixes in use. Discovered ones are unknown until the first answer. */
export class Nat64 {
  readonly #given: readonly Prefix[];
  readonly #isDiscovered: boolean;
  readonly #clock: Pick<Clock, 'elapsed'>;
  #discovered: readonly Prefix[] = [];
  #discoveredMs: number | undefined;

  constructor({ setting, clock }: Nat64Options) {
    this.#given = setting === 'auto' ? [] : setting.map(parsePrefix);
    this.#isDiscovered = setting === 'auto';
    this.#clock = clock;
  }

  /** IPv4 address that a translator of the operator's reaches; undefined if it is none of its. */
  givenIPv4(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
    return embeddedIn(this.#given, address)[0];
  }

  /**
   * IPv4 addresses that discovered translators reach. They can only refuse: whoever can answer for
   * `ipv4only.arpa` must not be able to open a network.
   */
  discoveredIPv4(address: ipaddr.IPv6): readonly ipaddr.IPv4[] {
    return embeddedIn(this.#discovered, address);
  }

  /**
   * Discovers the prefixes if they are unknown or old, before an IPv6 address is dialled. A silent
   * name server is an error only if it never answered.
   */
  refresh(resolve: Resolve, done: (error: NodeJS.ErrnoException | null) => void) {
    const isFresh =
      this.#discoveredMs !== undefined && this.#clock.elapsed() - this.#discoveredMs < FRESH_MS;
    if (!this.#isDiscovered || isFresh) return done(null);
    resolve(DISCOVERY_NAME, (error, addresses) => {
      if (error && isSilence(error)) return done(this.#discoveredMs === undefined ? error : null);
      this.#discovered = prefixesOf(addresses);
      this.#discoveredMs = this.#clock.elapsed();
      done(null);
    });
  }
}

/** True if no name server answered. An answer that the name does not exist is something else. */
export function isSilence({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAI_AGAIN' || code === 'ETIMEOUT' || code === 'ECONNREFUSED';
}

/** The prefixes of the answer for `ipv4only.arpa` (RFC 7050, section 3). */
function prefixesOf(addresses: readonly LookupAddress[]): readonly Prefix[] {
  return addresses.flatMap(({ address, family }) => {
    if (family !== 6) return [];
    const bytes = ipaddr.IPv6.parse(address).toByteArray();
    const found = LENGTHS.filter((bits) => KNOWN_IPV4.has(embedded(bytes, bits).toString()));
    return found.map((bits) => ({ bits, bytes: bytes.slice(0, bits / 8) }));
  });
}

function embeddedIn(prefixes: readonly Prefix[], address: ipaddr.IPv6): readonly ipaddr.IPv4[] {
  const bytes = address.toByteArray();
  return prefixes
    .filter((prefix) => prefix.bytes.every((byte, i) => byte === bytes[i]))
    .map(({ bits }) => embedded(bytes, bits));
}

function embedded(bytes: readonly number[], bits: PrefixBits): ipaddr.IPv4 {
  return new ipaddr.IPv4(PLACES[bits].map((place) => bytes[place] ?? 0));
}

/** Throws a `RangeError` unless the text is an IPv6 prefix of one of the lengths. */
function parsePrefix(text: string): Prefix {
  const [network, length] = ipaddr.IPv6.parseCIDR(text);
  const bits = LENGTHS.find((one) => one === length);
  if (bits === undefined) throw new RangeError(`${text} is not a prefix of NAT64`);
  return { bits, bytes: network.toByteArray().slice(0, bits / 8) };
}
