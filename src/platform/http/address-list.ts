/** A list of addresses and ranges from a setting, matched against the peer of a connection. */
import { BlockList, isIPv6 } from 'node:net';

export interface AddressList {
  /** `address` as Node gives it; an IPv4 address that is written as IPv6 is the IPv4 address. */
  has(address: string | undefined): boolean;
}

/** @param ranges as `SVC_TRUSTED_PROXY` has them: `10.0.0.5`, `fd00::/8` */
export function createAddressList(ranges: readonly string[]): AddressList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    const family = familyOf(address);
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return {
    has: (address) => address !== undefined && list.check(address, familyOf(address)),
  };
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
