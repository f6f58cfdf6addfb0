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
   * Called with why a name could not be called, for the operator: which addresses it has, if any,
   * its tenant must not learn.
   */
  readonly onNoAddress?: (sentence: string) => void;
  /** Extra trusted certificates (PEM), for receivers with a private authority. */
  readonly ca?: string;
  /** How long a connection without a request is kept, ms; a receiver's wish for longer is not heard. */
  readonly keepAliveMs?: number;
}

/**
 * The host name leads nowhere that may be called: it has no address, its name servers fail, or it is
 * at an address inside. One error for all of them, or whoever sets URLs could ask this service which
 * names exist inside. Tried again, for the URL or the name can be mended.
 */
export class NoPublicAddress extends Error {
  constructor() {
    super('The host name has no public address: fix the URL, or the records of the name');
  }
}

/** The name servers that this service asks do not answer: its operator's to mend. */
export class ResolverSilent extends Error {
  constructor() {
    super('The name server of this service does not answer');
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
  onNoAddress = () => {},
  ca,
}: GuardedAgentDeps): buildConnector.connector {
  const noPublicAddress = (sentence: string): NoPublicAddress => {
    onNoAddress(sentence);
    return new NoPublicAddress();
  };
  const lookup: LookupFunction = (host, options, done) => {
    resolve(host, (error, addresses) => {
      if (error && isSilence(error)) return done(new ResolverSilent(), '', 0);
      if (error) {
        return done(noPublicAddress(`${host} has no address (${error.code ?? 'no code'})`), '', 0);
      }
      const refusal = addresses
        .map(({ address }) => guard.refuseAddress(address, host))
        .find((sentence) => sentence !== undefined);
      if (refusal) return done(noPublicAddress(refusal), '', 0);
      const first = addresses[0];
      if (!first) return done(noPublicAddress(`${host} has no address`), '', 0);
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
      done(noPublicAddress(refusal), null);
    });
  };
}

/** No answer to a question for a name, or nobody to ask: an answer "there is none" is another. */
function isSilence({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAI_AGAIN' || code === 'ETIMEOUT' || code === 'ECONNREFUSED';
}
