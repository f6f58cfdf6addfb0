/**
 * The agent through which all that is sent by HTTP goes: it connects within 3 s, only where every
 * resolved address and the socket's own pass the guard, and follows no redirect.
 */
import type { LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import type { AddressGuard } from './address-guard.ts';
import { createResolve, type Resolve } from './resolve.ts';

const CONNECT_MS = 3_000;
const KEEP_ALIVE_MS = 10_000;
const HEADER_BYTES_MAX = 16 * 1024;

export interface GuardedAgentDeps {
  readonly guard: AddressGuard;
  readonly resolve?: Resolve;
  /**
   * Told why an address was refused, with the address, which its tenant must not learn: where an
   * internal name leads is the operator's business.
   */
  readonly onRefusedAddress?: (sentence: string) => void;
  /** Extra trusted certificates (PEM), for receivers with a private authority. */
  readonly ca?: string;
  /** How long a connection without a request is kept, ms; a receiver's wish for longer is not heard. */
  readonly keepAliveMs?: number;
}

/** An address that must not be called: tried again, for the URL or the name can be mended. */
export class RefusedAddress extends Error {
  constructor() {
    super('The host name is at an address that is not public: fix the URL');
  }
}

export function createGuardedAgent(deps: GuardedAgentDeps): Agent {
  const { keepAliveMs = KEEP_ALIVE_MS } = deps;
  return new Agent({
    connect: guardedConnector(deps),
    // As many connections to one origin as there are attempts, which the deliverer bounds: a limit
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
  onRefusedAddress,
  ca,
}: GuardedAgentDeps): buildConnector.connector {
  const refusedAddress = (sentence: string): RefusedAddress => {
    onRefusedAddress?.(sentence);
    return new RefusedAddress();
  };
  const lookup: LookupFunction = (host, options, done) => {
    resolve(host, (error, addresses) => {
      if (error) return done(error, '', 0);
      const refusal = addresses
        .map(({ address }) => guard.refuseAddress(address, host))
        .find((sentence) => sentence !== undefined);
      if (refusal) return done(refusedAddress(refusal), '', 0);
      const first = addresses[0];
      if (!first) return done(noAddress(host), '', 0);
      if (options.all) done(null, [...addresses]);
      else done(null, first.address, first.family);
    });
  };
  const connect = buildConnector({
    lookup,
    timeout: CONNECT_MS,
    ...(ca === undefined ? {} : { ca }),
  });
  return (options, done) => {
    connect(options, (error, socket) => {
      if (error) return done(error, null);
      const refusal = guard.refuseAddress(socket.remoteAddress ?? 'unknown', options.hostname);
      if (!refusal) return done(null, socket);
      socket.destroy();
      done(refusedAddress(refusal), null);
    });
  };
}

/** As the system's resolver calls it: a name may be given an address yet. */
function noAddress(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' });
}
