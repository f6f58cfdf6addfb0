/**
 * Verifier of a CI platform's signed identity token, stricter than a JWT library alone: one
 * algorithm, exactly equal issuer and audience, every time claim present, a bounded age, and a form
 * that two parsers cannot read differently. Checks that need no key come first, so that a bad token
 * costs no signature check and no request for keys. jose checks the signature, and the claims
 * again.
 *
 *     size -> form -> header -> claims -> key by its id -> signature -> identity
 */
import { hash } from 'node:crypto';
import { type CryptoKey, errors, jwtVerify } from 'jose';
import type { AssertionVerifier, VerifiedAssertion } from '../../actors/ci/assertion.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { redactedUrl } from '../../streams/platform/redacted-url.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Issuer } from '../platform/settings/ci-issuers.ts';
import { readIdentity, unknownClaims } from './claim-map.ts';
import { type IssuerKind, issuerKinds } from './issuer-kinds.ts';
import type { IssuerKeys } from './jwks.ts';

/** The reason why a token is rejected: `metadata.cause` of a BAD_ASSERTION. */
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

export interface AssertionVerifierOptions {
  readonly issuers: readonly {
    readonly issuer: Issuer;
    readonly keys: Pick<IssuerKeys, 'find'>;
  }[];
  readonly clock: Clock;
  /** Called with each claim of a genuine token that is missing in its issuer's map. */
  readonly onUnknownClaim?: (issuer: string, claim: string) => void;
}

const ASSERTION_BYTES_MAX = 16 * 1024;
/** Seconds, by the token's own times. */
const AGE_MAX = 600;
const TOLERANCE = 30;
/**
 * Time for which an id stays burned after its token has expired, s, because clocks are corrected.
 */
const BURN_MARGIN = 60;
/**
 * A platform may issue tokens that live for days, but `AGE_MAX` rejects them long before an hour.
 */
const BURN_LIFETIME_MAX = 3_600;
const KID_LENGTH_MAX = 256;
/** Longest `jti`: platforms use UUIDs. */
const ID_LENGTH_MAX = 256;
const FORM = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)$/;

export function createAssertionVerifier(options: AssertionVerifierOptions): AssertionVerifier {
  const byName = new Map(options.issuers.map((one) => [one.issuer.name, one]));
  return {
    names: () => [...byName.keys()],
    urlOf: (name) => byName.get(name)?.issuer.url,
    verify: async (assertion, { issuer: name, audience }) => {
      const found = byName.get(name);
      if (!found) {
        throw new Refusal('NOT_READY', `No CI issuer ${name} is configured. See SVC_CI_ISSUERS`);
      }
      const nowSeconds = Math.floor(options.clock.now() / 1000);
      const verified = await verify({ ...found, assertion, audience, nowSeconds });
      const { claims } = kindOf(found.issuer);
      const identity = readIdentity(claims, verified.payload);
      for (const claim of unknownClaims(claims, verified.payload)) {
        options.onUnknownClaim?.(name, claim);
      }
      return { ...verified.burn, issuerUrl: found.issuer.url, claims: identity };
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
      'The token is signed with a key that its issuer does not list. If the issuer has just ' +
        'changed its keys, request a fresh token in a minute',
    );
  }
  await assertSigned(verification, kind, key);
  return { payload, burn: burnOf(assertion, payload, times) };
}

function parse(assertion: string): { header: Json; payload: Json } {
  if (Buffer.byteLength(assertion) > ASSERTION_BYTES_MAX) {
    throw fault('TOO_LARGE', `The token has more than ${ASSERTION_BYTES_MAX / 1024} KiB`);
  }
  const [, head = '', body = ''] = FORM.exec(assertion) ?? [];
  const header = decode(head);
  const payload = decode(body);
  if (header && payload) return { header, payload };
  throw fault(
    'MALFORMED',
    "The token is not a JWT in compact form. Send exactly what the platform's endpoint returned",
  );
}

type Json = Readonly<Record<string, unknown>>;

/** Keeps a byte order mark, which one reader skips and another treats as text. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(part: string): Json | undefined {
  try {
    return parseStrictObject(utf8.decode(Buffer.from(part, 'base64url')));
  } catch (error) {
    // Not UTF-8. The signature does not cover a decoder's replacement characters.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Returns the key's id. Other references to keys (`jwk`, `jku`, `x5u`) are ignored. */
function assertHeader({ alg, kid, typ, crit }: Json): string {
  if (alg !== 'RS256') {
    throw fault(
      'WRONG_ALGORITHM',
      'The token is not signed with RS256, the only accepted algorithm',
    );
  }
  if (typ !== undefined && (typeof typ !== 'string' || typ.toUpperCase() !== 'JWT')) {
    throw fault('MALFORMED', 'The type of the token (typ) is not JWT');
  }
  if (crit !== undefined) throw fault('MALFORMED', 'The token requires an extension (crit)');
  if (typeof kid === 'string' && kid !== '' && kid.length <= KID_LENGTH_MAX) return kid;
  throw fault('MALFORMED', 'The token does not name its signing key (kid)');
}

interface Times {
  readonly exp: number;
  readonly iat: number;
}

function assertClaims(
  payload: Json,
  { lacks }: IssuerKind,
  { issuer, audience, nowSeconds }: Verification,
): Times {
  const iss = requiredText(payload, 'iss');
  const aud = requiredAudience(payload);
  const exp = requiredTime(payload, 'exp');
  const iat = requiredTime(payload, 'iat');
  const nbf = lacks.includes('nbf') && !('nbf' in payload) ? iat : requiredTime(payload, 'nbf');
  if (!lacks.includes('jti') || 'jti' in payload) requiredText(payload, 'jti');
  if (iss !== issuer.url) {
    throw fault('WRONG_ISSUER', wrongIssuerText(iss, issuer));
  }
  if (aud !== audience) {
    throw fault(
      'WRONG_AUDIENCE',
      `The token is for the audience ${quoted(aud)}. Request it with the connection's audience, ` +
        'exactly (SVC_AUDIENCE)',
    );
  }
  assertTimes({ exp, iat, nbf }, nowSeconds);
  return { exp, iat };
}

/** Like RFC 7519, sections 4.1.4 and 4.1.5, with the tolerance in favour of the token. */
function assertTimes(
  { exp, iat, nbf }: { exp: number; iat: number; nbf: number },
  now: number,
): void {
  if (exp <= now - TOLERANCE) {
    throw fault('EXPIRED', `The token expired ${now - exp} s ago. Request one for each exchange`);
  }
  if (nbf > now + TOLERANCE || iat > now + TOLERANCE) {
    const wait = Math.ceil(Math.max(nbf, iat) - now);
    throw fault(
      'NOT_YET_VALID',
      `The token is not valid for another ${wait} s. Check the clocks of both sides`,
    );
  }
  if (iat < now - AGE_MAX - TOLERANCE) {
    const minutes = AGE_MAX / 60;
    throw fault('TOO_OLD', `The token is older than ${minutes} minutes. Request a fresh one`);
  }
}

function requiredText(payload: Json, claim: string): string {
  const value = required(payload, claim);
  if (typeof value !== 'string' || value === '' || value.length > ID_LENGTH_MAX * 4) {
    const form = Array.isArray(value) ? 'one text, not a list' : 'a text';
    throw fault('MALFORMED', `The token's ${claim} must be ${form}`, claim);
  }
  if (claim === 'jti' && value.length > ID_LENGTH_MAX) {
    throw fault('MALFORMED', `The token's jti has more than ${ID_LENGTH_MAX} characters`, claim);
  }
  return value;
}

/**
 * A list with one audience says the same as the text (RFC 7519, section 4.1.3). A token for several
 * audiences could be replayed by each of them.
 */
function requiredAudience(payload: Json): string {
  const { aud } = payload;
  if (!Array.isArray(aud) || aud.length !== 1) return requiredText(payload, 'aud');
  return requiredText({ aud: aud[0] }, 'aud');
}

/** Names the received issuer: a platform may give an organisation its own issuer. */
function wrongIssuerText(iss: string, { name, kind, url }: Issuer): string {
  const came = quoted(iss);
  const text = `The token's issuer is ${came}, not ${redactedUrl(url)}`;
  if (!iss.startsWith(`${url}/`) || came !== `"${iss}"` || iss.endsWith('/')) return text;
  return (
    `${text}. If your enterprise has an issuer of its own, ask the operator to add it to ` +
    `SVC_CI_ISSUERS (${name}-own=${kind}@${iss}), and verify the workflow with that issuer`
  );
}

/** Longest text of a token that an error shows. */
const QUOTED_LENGTH_MAX = 200;

/** Text of an unverified token, without a login, line breaks and control characters. */
function quoted(text: string): string {
  const displayed = redactedUrl(text.slice(0, QUOTED_LENGTH_MAX)).replace(
    /[^\x20-\x7e]|["\\]/g,
    '?',
  );
  return `"${displayed}${text.length > QUOTED_LENGTH_MAX ? '...' : ''}"`;
}

/** Seconds since 1970. */
function requiredTime(payload: Json, claim: string): number {
  const value = required(payload, claim);
  if (typeof value === 'number' && value > 0 && value < Number.MAX_SAFE_INTEGER / 1000) {
    return value;
  }
  throw fault('MALFORMED', `The token's ${claim} must be a time in seconds since 1970`, claim);
}

function required(payload: Json, claim: string): unknown {
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
      throw fault('BAD_SIGNATURE', 'The signature does not match the key that the token names');
    }
    // The checks above are stricter. jose can only find other malformed parts.
    if (error instanceof errors.JOSEError) {
      throw fault('MALFORMED', 'The token is not a valid JWT');
    }
    throw error;
  }
}

/** A token without an id is burned by the digest of its signed part, which has only one form. */
function burnOf(assertion: string, { jti }: Json, { exp, iat }: Times): Verified['burn'] {
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

/** @param message names the accepted value; of the token only its issuer and audience */
function fault(cause: AssertionFault, message: string, claim?: string): Refusal {
  return new Refusal('BAD_ASSERTION', message, { cause, ...(claim && { claim }) });
}

/** The deepest nesting that platforms issue is 3 (an array of objects in the payload). */
const DEPTH_MAX = 8;

/**
 * The object in `text`; undefined for other values, for too deep ones, and for a name that appears
 * twice in one object. A parser keeps the last of two equal names, but a careless checker sees the
 * first. Rejecting both leaves no room for disagreement (RFC 7519, section 4 allows it).
 */
function parseStrictObject(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!isShallow(text)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  if (hasNameTwice(text)) return undefined;
  return value as Readonly<Record<string, unknown>>;
}

/** Counts brackets outside strings, so that it is safe on any text before parsing. */
function isShallow(text: string): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case '"':
        i = endOfString(text, i);
        break;
      case '{':
      case '[':
        if (++depth > DEPTH_MAX) return false;
        break;
      case '}':
      case ']':
        depth--;
        break;
    }
  }
  return true;
}

/** For valid JSON, where a string followed by a colon is a name of the innermost object. */
function hasNameTwice(text: string): boolean {
  const open: Set<string>[] = [];
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case '"': {
        const end = endOfString(text, i);
        if (isFollowedByColon(text, end)) {
          const names = open.at(-1);
          // Escapes are resolved, so that "a" and "\u0061" are one name.
          const name = String(JSON.parse(text.slice(i, end + 1)));
          if (names?.has(name)) return true;
          names?.add(name);
        }
        i = end;
        break;
      }
      case '{':
      case '[':
        open.push(new Set());
        break;
      case '}':
      case ']':
        open.pop();
        break;
    }
  }
  return false;
}

function isFollowedByColon(text: string, end: number): boolean {
  let i = end + 1;
  while (' \t\n\r'.includes(text[i] ?? 'x')) i++;
  return text[i] === ':';
}

/**
 * Index of the quote that closes the string starting at `start`; the end of the text if there is
 * none.
 */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '"') return i;
  }
  return text.length;
}
