/**
 * Which addresses are of the public internet. IPv4: all but the special-purpose blocks of IANA's
 * registry, which `ipaddr.js` knows. IPv6: the other way round, only what IANA has allocated for
 * global unicast (2000::/3), less its special-purpose blocks, so that a block that is assigned
 * later is refused before anybody here knows of it: discard-only 100::/64 and 100:0:0:1::/64,
 * segment routing 5f00::/16, local NAT64 64:ff9b:1::/48, site-local and unique local are outside.
 *
 * Sources: IANA IPv4 and IPv6 Special-Purpose Address Registries, RFC 6890 and what updates it.
 */
import ipaddr from 'ipaddr.js';

/** Allocated for global unicast: all that a public receiver can have. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** Within it, of a special purpose. */
const SPECIAL = [
  // Protocol assignments: Teredo, ORCHID, benchmarking, AMT, DRIP and more (RFC 2928).
  '2001::/23',
  // Documentation (RFC 3849, RFC 9637).
  '2001:db8::/32',
  '3fff::/20',
  // AS112: answers for what nobody should ask (RFC 7534).
  '2620:4f:8000::/48',
].map((block) => ipaddr.IPv6.parseCIDR(block));

const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR('2002::/16');
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** Azure's host service, which has a public address, and Alibaba Cloud's metadata service. */
const CLOUD_SERVICES: ReadonlySet<string> = new Set(['168.63.129.16', '100.100.100.200']);

/**
 * Is this an address of the public internet? Mapped (::ffff:a.b.c.d), NAT64 (64:ff9b::/96, RFC
 * 6052) and 6to4 (RFC 3056) forms count as the IPv4 address they carry. ISATAP forms (RFC 5214)
 * never are public: whatever prefix they have, they name a machine of somebody's own network.
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

/** An interface identifier of ::0:5efe:a.b.c.d, or ::200:5efe:a.b.c.d. */
function isIsatap(address: ipaddr.IPv6): boolean {
  const [, , , , high = 0, low = 0] = address.parts;
  return (high & ~0x200) === 0 && low === 0x5efe;
}
