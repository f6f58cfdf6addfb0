/**
 * The undici agent for all outgoing notifications over HTTP. It connects within 3 s, only if every
 * resolved address and the socket's own pass the address guard, and follows no redirect.
 */
import { type LookupAddress, Resolver } from 'node:dns';
import { isIP } from 'node:net';
import { Agent, type buildConnector } from 'undici';
import { createConnector } from '../../../platform/http/connector.ts';
import { type Dialled, dial, type Resolve, systemResolve } from '../../../platform/http/dial.ts';
import type { AddressGuard } from './address-guard.ts';
import {
  createEgressProxy,
  type EgressProxyOptions,
  NotReached,
  type OpenTunnel,
} from './egress-proxy.ts';
import { isSilence } from './nat64.ts';

const CONNECT_MS = 3_000;
const KEEP_ALIVE_MS = 10_000;
const HEADER_BYTES_MAX = 16 * 1024;

/** The guard, and the resolution of names. */
export interface GuardedAgentDeps {
  readonly guard: AddressGuard;
  readonly resolve?: Resolve;
  /**
   * Called with the reason why a host was not called, for the operator. The tenant must not learn
   * the addresses of a name.
   */
  readonly onNotCalled?: (sentence: string) => void;
  /** The egress proxy that all requests pass. Default: none. */
  readonly proxy?: Omit<EgressProxyOptions, 'connectMs'> | undefined;
  /** Extra trusted certificates (PEM), for receivers with a private authority. */
  readonly ca?: string;
  /** Time for which an idle connection is kept, ms. A receiver cannot extend it. */
  readonly keepAliveMs?: number;
}

/**
 * The host name has no address that may be called: it does not exist, its name servers fail, or it
 * resolves to a refused address. All these cases share one error; otherwise anyone who sets URLs
 * could probe which names exist in the internal network. Retried, because the URL or the DNS
 * records can be fixed.
 */
export class NoPublicAddress extends Error {
  constructor() {
    super(
      'The host name has no address that may be called. Fix the URL or the DNS records of the name',
    );
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

function guardedConnector(deps: GuardedAgentDeps): buildConnector.connector {
  const { guard, ca, proxy, onNotCalled = () => {} } = deps;
  const { resolve = createResolve({ isAllowedName: (host) => guard.isAllowedName(host) }) } = deps;
  const checked = { guard, resolve };
  const noPublicAddress = (sentence: string): NoPublicAddress => {
    onNotCalled(sentence);
    return new NoPublicAddress();
  };
  const open = proxy
    ? openByProxy(createEgressProxy({ ...proxy, connectMs: CONNECT_MS }), checked, onNotCalled)
    : (target: { readonly host: string; readonly port: number }, done: Dialled): void =>
        resolveChecked(checked, target.host, ({ error, refusal, addresses }) => {
          if (error && isSilence(error)) return done(new ResolverSilent(), null);
          if (refusal !== undefined) return done(noPublicAddress(refusal), null);
          dial({ addresses, port: target.port, timeoutMs: CONNECT_MS }, done);
        });
  const options = { open, timeoutMs: CONNECT_MS, ...(ca === undefined ? {} : { ca }) };
  const connect = createConnector(options);
  if (proxy) return connect;
  return (about, done) => {
    connect(about, (error, socket) => {
      if (error) return done(error, null);
      const refusal = guard.refuseAddress(socket.remoteAddress ?? 'unknown', about.hostname);
      if (!refusal) return done(null, socket);
      socket.destroy();
      done(noPublicAddress(refusal), null);
    });
  };
}

interface Checked {
  /** Error of the resolution. */
  readonly error?: NodeJS.ErrnoException;
  /** The reason why no address may be called, for the operator. */
  readonly refusal?: string;
  readonly addresses: readonly LookupAddress[];
}

/** Resolves a host, and checks each of its addresses. A literal address resolves to itself. */
function resolveChecked(
  { guard, resolve }: Required<Pick<GuardedAgentDeps, 'guard' | 'resolve'>>,
  host: string,
  done: (checked: Checked) => void,
) {
  const judge = (addresses: readonly LookupAddress[]): void => {
    const refusals = addresses.map(({ address }) => guard.refuseAddress(address, host));
    const refusal = refusals.find((sentence) => sentence !== undefined);
    done(refusal === undefined ? { addresses } : { refusal, addresses: [] });
  };
  const found = (addresses: readonly LookupAddress[]) => {
    const { nat64 } = guard;
    if (!nat64 || addresses.every(({ family }) => family !== 6)) return judge(addresses);
    nat64.refresh(resolve, (error) => (error ? done({ error, addresses: [] }) : judge(addresses)));
  };
  const family = isIP(host);
  if (family !== 0) return found([{ address: host, family }]);
  // Such a name is loopback wherever it is resolved (RFC 6761, section 6.3), also by a proxy.
  const isLoopback = /(?:^|\.)localhost\.?$/i.test(host) && !guard.isAllowedName(host);
  if (isLoopback) return judge([{ address: '127.0.0.1', family: 4 }]);
  resolve(host, (failure, addresses) => {
    if (!failure && addresses.length > 0) return found(addresses);
    const error = failure ?? Object.assign(new Error('No address'), { code: 'ENODATA' });
    const refusal = `${host} has no address (${error.code ?? 'no code'})`;
    done({ error, refusal, addresses: [] });
  });
}

/**
 * Opens connections through the proxy, which resolves names itself. Where the name servers of this
 * service know a name, its addresses are checked too; a name that they do not know is left to the
 * proxy.
 */
function openByProxy(
  tunnel: OpenTunnel,
  checked: Required<Pick<GuardedAgentDeps, 'guard' | 'resolve'>>,
  onNotCalled: (sentence: string) => void,
): OpenTunnel {
  return ({ host, port }, done) => {
    const failed = (error: Error): void => {
      const cause = error instanceof NotReached ? error.detail : error.message;
      onNotCalled(`${host} by the egress proxy: ${cause}`);
      done(error, null);
    };
    resolveChecked(checked, host, ({ error, refusal }) => {
      if (refusal !== undefined && !error) return failed(new NotReached(refusal));
      tunnel({ host, port }, (failure, socket) => (failure ? failed(failure) : done(null, socket)));
    });
  };
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
