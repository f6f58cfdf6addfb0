/**
 * What an exchange without an answer means, by the codes of Node, c-ares, OpenSSL and undici: was
 * anything sent, whose fault is it, and what are people told. Their messages are not repeated: those
 * name hosts and addresses, and who reads about an attempt need not know where it went.
 */
import type { AttemptOutcome } from '../../../../actors/delivery/notifier-port.ts';
import { NoPublicAddress, ResolverSilent } from './guarded-agent.ts';

type Failed = Extract<AttemptOutcome, { kind: 'failed' }>;

/** Why an exchange was given up by us; the reason with which its signal aborts. */
export class GivenUp extends Error {}

/** Never throws. */
export function outcomeOfFault(error: unknown): Failed {
  if (error instanceof NoPublicAddress) return failed(error.message);
  if (error instanceof ResolverSilent) return { ...failed(error.message), ours: true };
  if (error instanceof GivenUp) return { ...failed(error.message), unknown: true };
  const { code } = error as NodeJS.ErrnoException;
  if (OF_THIS_HOST.has(code)) {
    return { ...failed('This service could not open a connection'), ours: true };
  }
  const sentence = NOT_SENT.get(code);
  if (sentence !== undefined) return failed(sentence);
  if (isCertificateFault(code)) {
    const fault = CERTIFICATES.get(code) ?? `the certificate is not valid${named(code)}`;
    return failed(`TLS: ${fault}; fix the URL or the certificate`);
  }
  if (isTlsFault(code)) return failed(`TLS: no connection came about${named(code)}`);
  const told = BROKEN.get(code) ?? `The request failed${named(code)}`;
  return { ...failed(told), unknown: true };
}

/** No more files, ports or memory, or a firewall of this machine: its operator's to mend. */
const OF_THIS_HOST: ReadonlySet<unknown> = new Set([
  ...['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EACCES', 'EPERM'],
]);

/** Before the connection stood nothing can have been accepted; after that nobody knows. */
const NOT_SENT: ReadonlyMap<unknown, string> = new Map([
  ['ECONNREFUSED', 'Connection refused'],
  ['EHOSTUNREACH', 'The host cannot be reached'],
  ['ENETUNREACH', 'The host cannot be reached'],
  ['UND_ERR_CONNECT_TIMEOUT', 'No connection within 3 s'],
]);

const CERTIFICATES: ReadonlyMap<unknown, string> = new Map([
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'the certificate is of another name'],
  ['CERT_HAS_EXPIRED', 'the certificate has expired'],
  ['CERT_NOT_YET_VALID', 'the certificate is not valid yet'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'the certificate is signed by itself'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'the authority of the certificate is not known'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'the authority of the certificate is not known'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'the authority of the certificate is not known'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'the authority of the certificate is not known'],
]);

const BROKEN: ReadonlyMap<unknown, string> = new Map([
  ['ECONNRESET', 'The connection ended before an answer'],
  ['EPIPE', 'The connection ended before an answer'],
  ['UND_ERR_SOCKET', 'The connection ended before an answer'],
  ['UND_ERR_HEADERS_OVERFLOW', 'The headers of the answer are too long'],
]);

function isCertificateFault(code: unknown): boolean {
  return /^(?:ERR_TLS_CERT|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(String(code));
}

/** The handshake failed: no byte of the request was sent. */
function isTlsFault(code: unknown): boolean {
  return code === 'EPROTO' || /^ERR_(?:SSL|TLS)_/.test(String(code));
}

/** A code is of a fixed list; what is no code may be anybody's words. */
function named(code: unknown): string {
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? ` (${code})` : '';
}

function failed(error: string): Failed {
  return { kind: 'failed', unknown: false, error };
}
