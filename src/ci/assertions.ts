/**
 * Checks a CI platform's signed identity token, more strictly than a JWT library does by itself:
 * one algorithm, an issuer and an audience that are equal and not alike, every time claim present,
 * a bounded age, a form that two parsers cannot read in two ways. What needs no key is checked
 * first, so that a token which cannot hold costs no signature check and no request for keys. The
 * signature, and the claims a second time, are jose's.
 *
 *     size -> form -> header -> claims -> key of its id -> signature -> identity
 */
import { hash } from 'node:crypto';
import { type CryptoKey, errors, jwtVerify } from 'jose';
import type { Clock } from '../../streams/platform/clock.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { shownUrl } from '../../streams/platform/shown-url.ts';
import type { Issuer } from '../platform/settings/ci-issuers.ts';
import { readIdentity, unknownClaims } from './claim-map.ts';
import { type IssuerKind, issuerKinds } from './issuer-kinds.ts';
import type { IssuerKeys } from './jwks.ts';
import type { CiIssuers, VerifiedAssertion } from './ports.ts';
import { parseStrictObject } from './strict-json.ts';

/** Why a token does not hold: `metadata.cause` of a BAD_ASSERTION. */
export type AssertionFault =
  | 'TOO_LARGE'
  | 'MALFORMED'
  | 'WRONG_ALGORITHM'
  | 'MISSING_CLAIM'
  | 'WRONG_ISSUER'
  | 'WRONG_AUDIENCE'
  | 'EXPIRED'
  | 'NOT_YET_VALID'
  | 'TOO_OLD'
  | 'UNKNOWN_KEY'
  | 'BAD_SIGNATURE';

export interface CiIssuersOptions {
  readonly issuers: readonly {
    readonly issuer: Issuer;
    readonly keys: Pick<IssuerKeys, 'find'>;
  }[];
  readonly clock: Clock;
  /** Told each claim of a genuine token that its issuer's map does not know. */
  readonly onUnknownClaim?: (issuer: string, claim: string) => void;
}

const ASSERTION_BYTES_MAX = 16 * 1024;
/** Seconds, of the token's own times. */
const AGE_MAX = 600;
const TOLERANCE = 30;
/** How much longer than the token could be accepted its id is burned, s: clocks are corrected. */
const BURN_MARGIN = 60;
/** A platform may let tokens live for days; beyond an hour their age has long ended them. */
const BURN_LIFETIME_MAX = 3_600;
const KID_LENGTH_MAX = 256;
/** Longest `jti`: platforms use UUIDs. */
const ID_LENGTH_MAX = 256;
const FORM = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)$/;

export function createCiIssuers(options: CiIssuersOptions): CiIssuers {
  const byName = new Map(options.issuers.map((one) => [one.issuer.name, one]));
  return {
    names: () => [...byName.keys()],
    urlOf: (name) => byName.get(name)?.issuer.url,
    verify: async (assertion, { issuer: name, audience }) => {
      const found = byName.get(name);
      if (!found) {
        throw new Refusal('NOT_READY', `No CI issuer ${name} is configured: see SVC_CI_ISSUERS`);
      }
      const nowSeconds = Math.floor(options.clock.now() / 1000);
      const verified = await verify({ ...found, assertion, audience, nowSeconds });
      const { claims } = kindOf(found.issuer);
      const identity = readIdentity(claims, verified.payload);
      for (const claim of unknownClaims(claims, verified.payload)) {
        options.onUnknownClaim?.(name, claim);
      }
      return { ...verified.burn, issuer: name, issuerUrl: found.issuer.url, claims: identity };
    },
  };
}

interface Verification {
  readonly issuer: Issuer;
  readonly keys: Pick<IssuerKeys, 'find'>;
  readonly assertion: string;
  readonly audience: string;
  readonly nowSeconds: number;
}

interface Verified {
  readonly payload: Readonly<Record<string, unknown>>;
  readonly burn: Pick<VerifiedAssertion, 'issuedMs' | 'jti' | 'burnUntilMs'>;
}

async function verify(verification: Verification): Promise<Verified> {
  const { assertion, issuer, keys } = verification;
  const { header, payload } = parse(assertion);
  const kid = assertHeader(header);
  const kind = kindOf(issuer);
  const times = assertClaims(payload, kind, verification);
  const key = await keys.find(kid);
  if (!key) {
    throw fault(
      'UNKNOWN_KEY',
      'The token is signed with a key that its issuer does not have: where the issuer has just ' +
        'changed its keys, request a fresh token in a minute',
    );
  }
  await assertSigned(verification, kind, key);
  return { payload, burn: burnOf(assertion, payload, times) };
}

function parse(assertion: string): { header: Claims; payload: Claims } {
  if (Buffer.byteLength(assertion) > ASSERTION_BYTES_MAX) {
    throw fault('TOO_LARGE', `The token has more than ${ASSERTION_BYTES_MAX / 1024} KiB`);
  }
  const [, head = '', body = ''] = FORM.exec(assertion) ?? [];
  const header = decode(head);
  const payload = decode(body);
  if (header && payload) return { header, payload };
  throw fault(
    'MALFORMED',
    "The token is no JWT in compact form: send exactly what the platform's endpoint answered",
  );
}

type Claims = Readonly<Record<string, unknown>>;

/** Takes nothing away: what one reader skips, such as a byte order mark, another takes for text. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(part: string): Claims | undefined {
  try {
    return parseStrictObject(utf8.decode(Buffer.from(part, 'base64url')));
  } catch (error) {
    // Not UTF-8: what a decoder would put in its place is not what was signed.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** The key's id. Nothing else in a header is followed: no `jwk`, no `jku`, no `x5u`. */
function assertHeader({ alg, kid, typ, crit }: Claims): string {
  if (alg !== 'RS256') {
    throw fault('WRONG_ALGORITHM', 'The token is not signed with RS256: no other is accepted');
  }
  if (typ !== undefined && (typeof typ !== 'string' || typ.toUpperCase() !== 'JWT')) {
    throw fault('MALFORMED', 'The token is of another type than JWT');
  }
  if (crit !== undefined) throw fault('MALFORMED', 'The token demands an extension (crit)');
  if (typeof kid === 'string' && kid !== '' && kid.length <= KID_LENGTH_MAX) return kid;
  throw fault('MALFORMED', 'The token does not name the key that it is signed with (kid)');
}

interface Times {
  readonly exp: number;
  readonly iat: number;
}

function assertClaims(
  payload: Claims,
  { lacks }: IssuerKind,
  { issuer, audience, nowSeconds }: Verification,
): Times {
  const iss = requiredText(payload, 'iss');
  const aud = requiredText(payload, 'aud');
  const exp = requiredTime(payload, 'exp');
  const iat = requiredTime(payload, 'iat');
  const nbf = lacks.includes('nbf') && !('nbf' in payload) ? iat : requiredTime(payload, 'nbf');
  if (!lacks.includes('jti') || 'jti' in payload) requiredText(payload, 'jti');
  if (iss !== issuer.url) {
    throw fault('WRONG_ISSUER', `The token is of another issuer than ${shownUrl(issuer.url)}`);
  }
  if (aud !== audience) {
    throw fault(
      'WRONG_AUDIENCE',
      "The token is for another audience: request it with the connection's audience, exactly " +
        '(SVC_AUDIENCE)',
    );
  }
  assertTimes({ exp, iat, nbf }, nowSeconds);
  return { exp, iat };
}

/** As RFC 7519, sections 4.1.4 and 4.1.5, with the tolerance on the token's side. */
function assertTimes(
  { exp, iat, nbf }: { exp: number; iat: number; nbf: number },
  now: number,
): void {
  if (exp <= now - TOLERANCE) {
    throw fault('EXPIRED', `The token expired ${now - exp} s ago: request one for each exchange`);
  }
  if (nbf > now + TOLERANCE || iat > now + TOLERANCE) {
    const wait = Math.ceil(Math.max(nbf, iat) - now);
    throw fault('NOT_YET_VALID', `The token is valid in ${wait} s only: a clock is wrong`);
  }
  if (iat < now - AGE_MAX - TOLERANCE) {
    const minutes = AGE_MAX / 60;
    throw fault('TOO_OLD', `The token is older than ${minutes} minutes: request a fresh one`);
  }
}

function requiredText(payload: Claims, claim: string): string {
  const value = required(payload, claim);
  if (typeof value !== 'string' || value === '' || value.length > ID_LENGTH_MAX * 4) {
    const form = Array.isArray(value) ? 'one text alone, not a list' : 'a text';
    throw fault('MALFORMED', `The token's ${claim} must be ${form}`, claim);
  }
  if (claim === 'jti' && value.length > ID_LENGTH_MAX) {
    throw fault('MALFORMED', `The token's jti has more than ${ID_LENGTH_MAX} characters`, claim);
  }
  return value;
}

/** Seconds since 1970. */
function requiredTime(payload: Claims, claim: string): number {
  const value = required(payload, claim);
  if (typeof value === 'number' && value > 0 && value < Number.MAX_SAFE_INTEGER / 1000) {
    return value;
  }
  throw fault('MALFORMED', `The token's ${claim} must be a time: seconds since 1970`, claim);
}

function required(payload: Claims, claim: string): unknown {
  if (Object.hasOwn(payload, claim)) return payload[claim];
  throw fault('MISSING_CLAIM', `The token has no ${claim}`, claim);
}

async function assertSigned(
  { assertion, issuer, audience, nowSeconds }: Verification,
  { lacks }: IssuerKind,
  key: CryptoKey,
): Promise<void> {
  const claims: readonly string[] = ['iss', 'aud', 'exp', 'iat', 'nbf', 'jti'];
  const without: readonly string[] = lacks;
  try {
    await jwtVerify(assertion, key, {
      algorithms: ['RS256'],
      issuer: issuer.url,
      audience,
      requiredClaims: claims.filter((claim) => !without.includes(claim)),
      maxTokenAge: AGE_MAX,
      clockTolerance: TOLERANCE,
      currentDate: new Date(nowSeconds * 1000),
    });
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) {
      throw fault('BAD_SIGNATURE', 'The signature is not by the key that the token names');
    }
    // The checks above are the stricter ones: whatever jose finds beyond them is a form of its own.
    if (error instanceof errors.JOSEError) {
      throw fault('MALFORMED', 'The token does not hold as a JWT');
    }
    throw error;
  }
}

/**
 * A token without an id of its own is burned by the digest of what was signed, which nobody can
 * write in two ways.
 */
function burnOf(assertion: string, { jti }: Claims, { exp, iat }: Times): Verified['burn'] {
  const endsAt = Math.min(exp, iat + BURN_LIFETIME_MAX);
  const burnUntilMs = Math.ceil(endsAt + TOLERANCE + BURN_MARGIN) * 1000;
  const issuedMs = Math.floor(iat * 1000);
  if (typeof jti === 'string') return { issuedMs, jti, burnUntilMs };
  const signed = assertion.slice(0, assertion.lastIndexOf('.'));
  return { issuedMs, jti: `sha256:${hash('sha256', signed)}`, burnUntilMs };
}

function kindOf({ kind }: Issuer): IssuerKind {
  return issuerKinds[kind];
}

/** The sentence says what would do, and nothing of the token's. */
function fault(cause: AssertionFault, message: string, claim?: string): Refusal {
  return new Refusal('BAD_ASSERTION', message, { cause, ...(claim && { claim }) });
}
