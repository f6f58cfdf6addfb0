/**
 * How names become addresses. `dns.lookup` waits in one of the process's four worker threads: four
 * names whose servers never answer would hold up every other name, and every file. The resolver asked
 * here holds none; only names that the operator allows are looked up as the system does it, in hosts
 * files too.
 */
import { type LookupAddress, lookup, Resolver } from 'node:dns';

/** The system's addresses of a name, or a table's in tests. */
export type Resolve = (
  host: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

export interface ResolveOptions {
  /** Names that the operator allows: they may stand in a hosts file alone. */
  readonly isAllowedName: (host: string) => boolean;
  /** `address:port`; default: those of the system. */
  readonly servers?: readonly string[];
}

/** Two tries, the second one twice as long, are over before a connection has to stand (3 s). */
const TRY_MS = 700;
const TRIES = 2;

export function createResolve({ isAllowedName, servers }: ResolveOptions): Resolve {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
  if (servers) resolver.setServers([...servers]);
  return (host, done) => {
    if (isAllowedName(host)) lookup(host, { all: true }, done);
    else both(resolver, host, done);
  };
}

type Asked = NodeJS.ErrnoException | LookupAddress[];

/** IPv4 first, as most receivers have it; a family without an answer takes none from the other. */
function both(resolver: Resolver, host: string, done: Parameters<Resolve>[1]): void {
  const asked: { ipv4?: Asked; ipv6?: Asked } = {};
  const tell = (): void => {
    const { ipv4, ipv6 } = asked;
    if (ipv4 === undefined || ipv6 === undefined) return;
    const addresses = [ipv4, ipv6].flatMap((answer) => (Array.isArray(answer) ? answer : []));
    const error = [ipv4, ipv6].find((answer) => !Array.isArray(answer));
    if (addresses.length > 0 || !error) done(null, addresses);
    else done(error as NodeJS.ErrnoException, []);
  };
  resolver.resolve4(host, (error, found) => {
    asked.ipv4 = error ?? found.map((address) => ({ address, family: 4 }));
    tell();
  });
  resolver.resolve6(host, (error, found) => {
    asked.ipv6 = error ?? found.map((address) => ({ address, family: 6 }));
    tell();
  });
}
