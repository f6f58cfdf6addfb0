/** Addresses of the public internet. */
import ipaddr from 'ipaddr.js';

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

/** True for an IPv4 address of the public internet. */
export function isPublicIPv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && !CLOUD_SERVICES.has(address.toString());
}

/** IPv4 address embedded in an IPv6 address of a standard form. */
export function carriedIPv4(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
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
