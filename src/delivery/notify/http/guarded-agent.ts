/**
 * The undici agent for all outgoing notifications over HTTP. It connects within 3 s, only if every
 * resolved address and the socket's own pass the address guard, and follows no redirect.
 */
import { type LookupAddress, Resolver } from 'node:dns';
import { Agent, type buildConnector } from 'undici';
import { createConnector } from '../../../platform/http/connector.ts';
import { type Resolve, systemResolve } from '../../../platform/http/dial.ts';
import type { AddressGuard } from './address-guard.ts';

const CONNECT_MS = 3_000;
const KEEP_ALIVE_MS = 10_000;
const HEADER_BYTES_MAX = 16 * 1024;

/** The guard, and the resolution of names. */
export interface GuardedAgentDeps {
  readonly guard: AddressGuard;
  readonly resolve?: Resolve;
  /**
   * Called with the reason why a name was not called, for the operator. The tenant must not learn
   * the addresses of the name.
   */
  readonly onNoAddress?: (sentence: string) => void;
  /** Extra trusted certificates (PEM), for receivers with a private authority. */
  readonly ca?: string;
  /** Time for which an idle connection is kept, ms. A receiver cannot extend it. */
  readonly keepAliveMs?: number;
}

/**
 * The host name has no address that may be called: it does not exist, its name servers fail, or it
 * resolves to a private address. All these cases share one error; otherwise anyone who sets URLs
 * could probe which names exist in the internal network. Retried, because the URL or the DNS
 * records can be fixed.
 */
export class NoPublicAddress extends Error {
  constructor() {
    super('The host name has no public address. Fix the URL or the DNS records of the name');
  }
}

/** This service's own name servers do not answer. The operator has to fix that. */
export class ResolverSilent extends Error {
  constructor() {
    super('The name server of this service does not answer');
  }
}

/** Makes an agent that dials only addresses that the guard allows. Its caller destroys it. */
export function createGuardedAgent(deps: GuardedAgentDeps): Agent {
  const { keepAliveMs = KEEP_ALIVE_MS } = deps;
  return new Agent({
    connect: guardedConnector(deps),
    // Connections to one origin are not limited here. The deliverer bounds attempts, and a limit
    // here would let one tenant's hanging endpoint delay another's on the same host.
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    maxHeaderSize: HEADER_BYTES_MAX,
  });
}

function guardedConnector({
  guard,
  resolve = createResolve({ isAllowedName: (host) => guard.isAllowedName(host) }),
  onNoAddress = () => {},
  ca,
}: GuardedAgentDeps): buildConnector.connector {
  const noPublicAddress = (sentence: string): NoPublicAddress => {
    onNoAddress(sentence);
    return new NoPublicAddress();
  };
  const guarded: Resolve = (host, done) => {
    resolve(host, (error, addresses) => {
      if (error && isSilence(error)) return done(new ResolverSilent(), []);
      if (error) {
        return done(noPublicAddress(`${host} has no address (${error.code ?? 'no code'})`), []);
      }
      const refusal = addresses
        .map(({ address }) => guard.refuseAddress(address, host))
        .find((sentence) => sentence !== undefined);
      if (refusal) return done(noPublicAddress(refusal), []);
      if (addresses.length === 0) return done(noPublicAddress(`${host} has no address`), []);
      done(null, addresses);
    });
  };
  const connect = createConnector({
    resolve: guarded,
    timeoutMs: CONNECT_MS,
    ...(ca === undefined ? {} : { ca }),
  });
  return (options, done) => {
    connect(options, (error, socket) => {
      if (error) return done(error, null);
      const refusal = guard.refuseAddress(socket.remoteAddress ?? 'unknown', options.hostname);
      if (!refusal) return done(null, socket);
      socket.destroy();
      done(noPublicAddress(refusal), null);
    });
  };
}

/** True if no name server answered. An answer that the name does not exist is something else. */
function isSilence({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAI_AGAIN' || code === 'ETIMEOUT' || code === 'ECONNREFUSED';
}

/** Names that may come from a hosts file, and the name servers for all others. */
export interface ResolveOptions {
  /** True for names that the operator allows, which may exist only in a hosts file. */
  readonly isAllowedName: (host: string) => boolean;
  /** `address:port`; default: those of the system. */
  readonly servers?: readonly string[];
}

/** Both tries, the second twice as long as the first, end before the connect timeout (3 s). */
const TRY_MS = 700;
const TRIES = 2;

/**
 * Makes a resolver that uses no worker thread. `dns.lookup` blocks one of the four threads of the
 * process: four names whose servers never answer would delay every other name and all file access.
 * Only names that the operator allows use it, because they may exist only in a hosts file.
 */
export function createResolve({ isAllowedName, servers }: ResolveOptions): Resolve {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
  if (servers) resolver.setServers([...servers]);
  return (host, done) => {
    if (isAllowedName(host)) systemResolve(host, done);
    else resolveBothFamilies(resolver, host, done);
  };
}

type FamilyResult = NodeJS.ErrnoException | LookupAddress[];

/**
 * IPv4 first, which most receivers have. A failure of one family does not hide the result of the
 * other.
 */
function resolveBothFamilies(resolver: Resolver, host: string, done: Parameters<Resolve>[1]): void {
  const results: { ipv4?: FamilyResult; ipv6?: FamilyResult } = {};
  const finish = (): void => {
    const { ipv4, ipv6 } = results;
    if (ipv4 === undefined || ipv6 === undefined) return;
    const addresses = [ipv4, ipv6].flatMap((result) => (Array.isArray(result) ? result : []));
    const error = [ipv4, ipv6].find((result) => !Array.isArray(result));
    if (addresses.length > 0 || !error) done(null, addresses);
    else done(error as NodeJS.ErrnoException, []);
  };
  resolver.resolve4(host, (error, found) => {
    results.ipv4 = error ?? found.map((address) => ({ address, family: 4 }));
    finish();
  });
  resolver.resolve6(host, (error, found) => {
    results.ipv6 = error ?? found.map((address) => ({ address, family: 6 }));
    finish();
  });
}
