/**
 * Attempt outcomes shared by all HTTP kinds, in the same words. Answers map by the kind's own
 * judgement; exchanges without an answer map by the error codes of Node, c-ares, OpenSSL and undici:
 * was anything sent, whose fault is it, and what do people read. Error messages of those libraries
 * are not repeated: they name hosts and addresses, which not every reader may know.
 */
import type { AttemptOutcome } from '../../../../actors/delivery/notifier-port.ts';
import { NoPublicAddress, ResolverSilent } from './guarded-agent.ts';

type Failed = Extract<AttemptOutcome, { kind: 'failed' }>;

export interface Answer {
  readonly kind: 'answered';
  readonly httpStatus: number;
  /** The first 16 KiB, unredacted: for the kind to judge, never to store. */
  readonly text: string;
  /** The first 4 KiB, redacted. */
  readonly excerpt: string;
  readonly retryAfterMs?: number;
}

/** Statuses of an endpoint that asks for less, or is in trouble itself (HOOK-16). */
const SLOWING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export function accepted({ httpStatus, excerpt }: Answer): AttemptOutcome {
  return { kind: 'accepted', httpStatus, ...excerptField(excerpt) };
}

/** A retry can help. */
export function failed(answer: Answer, error: string): Failed {
  const { httpStatus, excerpt, retryAfterMs } = answer;
  return {
    ...{ kind: 'failed', unknown: false, httpStatus, error },
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(SLOWING.has(httpStatus) && { slows: true }),
    ...excerptField(excerpt),
  };
}

/** A retry cannot help. `pauses`: nor can any other message to that address. */
export function refused(
  { httpStatus, excerpt }: Answer,
  error: string,
  { pauses }: { readonly pauses: boolean },
): AttemptOutcome {
  return {
    ...{ kind: 'refused', httpStatus, error, pauseDestination: pauses },
    ...excerptField(excerpt),
  };
}

function excerptField(excerpt: string) {
  return excerpt === '' ? {} : { excerpt };
}

/** The reason we gave up an exchange, with which its signal aborts. */
export class GivenUp extends Error {}

/** The outcome of an exchange that threw. Never throws. */
export function outcomeOfFault(error: unknown): Failed {
  if (error instanceof NoPublicAddress) return fault(error.message);
  if (error instanceof ResolverSilent) return { ...fault(error.message), ours: true };
  if (error instanceof GivenUp) return { ...fault(error.message), unknown: true };
  const { code } = error as NodeJS.ErrnoException;
  if (OF_THIS_HOST.has(code)) {
    return { ...fault('This service could not open a connection'), ours: true };
  }
  const sentence = NOT_SENT.get(code);
  if (sentence !== undefined) return fault(sentence);
  if (isCertificateFault(code)) {
    const problem = CERTIFICATES.get(code) ?? `the certificate is not valid${codeInBrackets(code)}`;
    return fault(`TLS: ${problem}; fix the URL or the certificate`);
  }
  if (isTlsFault(code)) return fault(`TLS: the handshake failed${codeInBrackets(code)}`);
  const broken = BROKEN.get(code) ?? `The request failed${codeInBrackets(code)}`;
  return { ...fault(broken), unknown: true };
}

/** No more files, ports or memory, or a firewall on this machine: the operator has to fix it. */
const OF_THIS_HOST: ReadonlySet<unknown> = new Set([
  ...['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EACCES', 'EPERM'],
]);

/** Without a connection nothing can have been accepted; with one nobody knows. */
const NOT_SENT: ReadonlyMap<unknown, string> = new Map([
  ['ECONNREFUSED', 'Connection refused'],
  ['EHOSTUNREACH', 'The host cannot be reached'],
  ['ENETUNREACH', 'The host cannot be reached'],
  ['UND_ERR_CONNECT_TIMEOUT', 'No connection within 3 s'],
]);

const CERTIFICATES: ReadonlyMap<unknown, string> = new Map([
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'the certificate is for another name'],
  ['CERT_HAS_EXPIRED', 'the certificate has expired'],
  ['CERT_NOT_YET_VALID', 'the certificate is not valid yet'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'the certificate is self-signed'],
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

/** True when the handshake failed: no byte of the request was sent. */
function isTlsFault(code: unknown): boolean {
  return code === 'EPROTO' || /^ERR_(?:SSL|TLS)_/.test(String(code));
}

/** The code when it has the form of one; other text could come from anybody. */
function codeInBrackets(code: unknown): string {
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? ` (${code})` : '';
}

function fault(error: string): Failed {
  return { kind: 'failed', unknown: false, error };
}
