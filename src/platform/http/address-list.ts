/** Lists of addresses and networks, in the form of `SVC_TRUSTED_PROXY`. */
import { BlockList, isIP, isIPv6 } from 'node:net';

export interface AddressList {
  /** `address` as Node gives it; an IPv4 address written as IPv6 is the IPv4 address. */
  has(address: string | undefined): boolean;
}

/** `::ffff:10.0.0.0/104` is `10.0.0.0/8`, written as IPv6. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const MAPPED_BITS = 96;

/**
 * @param ranges `10.0.0.5`, `fd00::/8`. Throws a `RangeError` that names the entry if it is neither
 *   an address nor a range
 */
export function createAddressList(ranges: readonly string[]): AddressList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    if (isIP(address) === 0 || !/^(?:\d{1,3})?$/.test(prefix ?? '')) {
      throw new RangeError(`${range} is not an address or a range like 10.0.0.0/8`);
    }
    const mapped = MAPPED.exec(address)?.[1];
    const bits = prefix === undefined ? undefined : Number(prefix);
    if (mapped !== undefined && (bits === undefined || bits >= MAPPED_BITS)) {
      add(list, mapped, bits === undefined ? undefined : bits - MAPPED_BITS);
    } else add(list, address, bits);
  }
  return {
    has(address) {
      if (address === undefined) return false;
      const [plain = ''] = address.split('%', 1);
      return isIP(plain) !== 0 && list.check(plain, familyOf(plain));
    },
  };
}

function add(list: BlockList, address: string, bits: number | undefined): void {
  if (bits === undefined) list.addAddress(address, familyOf(address));
  else list.addSubnet(address, bits, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
