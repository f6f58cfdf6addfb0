/** Networks of this machine. */
import { networkInterfaces } from 'node:os';

/**
 * Every address and network of the machine's interfaces, as they are now. A network without a
 * boundary (/0, as some tunnels have) counts as its address only.
 */
export function ownNetworks(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.map(({ address, cidr }) => {
      const [plain = ''] = address.split('%', 1);
      const bits = cidr?.split('/')[1] ?? '0';
      return bits === '0' ? plain : `${plain}/${bits}`;
    }),
  );
}
