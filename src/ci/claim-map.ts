/**
 * How a kind of CI platform tells which workflow runs: its claims, as data. A claim is bound (each
 * exchange must show what was approved), recorded (kept for review and audit), or known and left
 * alone for a stated reason; whatever else a token has is new to us, and told, because a platform
 * that adds a claim may have changed what the others mean. `sub` is never read: its form is the
 * platform's to change, and its owner's to customise.
 */
import { Refusal } from '../../streams/platform/refusal.ts';
import type { CiIdentity, RefusedClaim } from './ports.ts';

export interface ClaimMap {
  /** Bound; a token without one is refused. */
  readonly required: readonly string[];
  /** How to get a required claim into a token that lacks it, where the platform leaves that to the job. */
  readonly onRequest?: Readonly<Record<string, string>>;
  /** Bound with its absence: approved without it, it must stay away. */
  readonly orAbsent: readonly string[];
  /** Bound where the observed token has it; approved without it, it may appear. */
  readonly ifPresent: readonly string[];
  /** Ids of who owns the workflow, all among `required`. */
  readonly owner: readonly string[];
  /** Names that belong to those ids, among `required`: another one under the same ids is a renaming. */
  readonly names: readonly string[];
  /** Kept for review and audit. */
  readonly recorded: readonly string[];
  /** Recorded ones that `review` may add to what is bound, with when. */
  readonly boundWhen?: Readonly<Record<string, string>>;
  /** Known and deliberately not bound, with the reason. A name that ends in `*` is a beginning. */
  readonly unbound: Readonly<Record<string, string>>;
  /** Claims whose value is true or false; bound as that word. All others are text. */
  readonly booleans?: readonly string[];
  /** Claims that the platform writes as null where it has nothing to tell: the same as absent. */
  readonly nullable?: readonly string[];
  /** What no token may say, whatever was approved. */
  readonly rules: readonly ClaimRule[];
  /** More to bind, and what a reviewer should think about. */
  readonly review: (read: ReadClaim) => Review;
}

/** Text of a claim; null = the token does not have it. */
export type ReadClaim = (claim: string) => string | null;

export interface ClaimRule {
  readonly claim: string;
  /** Is it fine? Asked with the claim's value where the token has it. */
  readonly accepts: (value: string, read: ReadClaim) => boolean;
  /** What would do, as a sentence. */
  readonly why: string;
}

export interface Review {
  readonly alsoBound?: readonly string[];
  /** Sentences. */
  readonly warnings: readonly string[];
}

/** Claims of every JWT, which are checked apart or never looked at. */
export const jwtClaims: Readonly<Record<string, string>> = {
  iss: 'checked: exactly the configured issuer',
  aud: "checked: exactly the connection's audience",
  exp: 'checked',
  iat: 'checked',
  nbf: 'checked',
  jti: 'checked: single use',
  sub: 'never read: its form is not fixed, it changed for new repositories in 2026 and can be customised',
};

/** Longest text of a recorded claim that is kept; the platform, not we, says how long one is. */
const RECORDED_LENGTH_MAX = 256;

/**
 * The identity that a verified token's payload states. Throws a `Refusal` BAD_ASSERTION (cause
 * MALFORMED, with `claim`) where a claim that matters has a value of another type.
 */
export function readIdentity(
  map: ClaimMap,
  payload: Readonly<Record<string, unknown>>,
): CiIdentity {
  const read: ReadClaim = (claim) => textOf(map, payload, claim);
  const { alsoBound = [], warnings } = map.review(read);
  const ifPresent = map.ifPresent.filter((claim) => read(claim) !== null);
  const bound = valuesOf([...map.required, ...map.orAbsent, ...ifPresent, ...alsoBound], read);
  const recorded = map.recorded.filter((claim) => !(claim in bound));
  return {
    bound,
    recorded: valuesOf(recorded, (claim) => recordedText(payload, claim)),
    ownerClaims: map.owner,
    nameClaims: map.names,
    refused: [...missing(map, read), ...brokenRules(map, read)],
    warnings,
  };
}

/** Names of claims in the payload that the map does not know. */
export function unknownClaims(
  map: ClaimMap,
  payload: Readonly<Record<string, unknown>>,
): readonly string[] {
  const known = knownOf(map);
  return Object.keys(payload).filter(
    (name) => !known.names.has(name) && !known.beginnings.some((start) => name.startsWith(start)),
  );
}

interface Known {
  readonly names: ReadonlySet<string>;
  readonly beginnings: readonly string[];
}

const knownByMap = new WeakMap<ClaimMap, Known>();

function knownOf(map: ClaimMap): Known {
  const found = knownByMap.get(map);
  if (found) return found;
  const { required, orAbsent, ifPresent, recorded, unbound } = map;
  const left = [...Object.keys(jwtClaims), ...Object.keys(unbound)];
  const known = {
    names: new Set([...required, ...orAbsent, ...ifPresent, ...recorded, ...left]),
    beginnings: left.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1)),
  };
  knownByMap.set(map, known);
  return known;
}

function missing(map: ClaimMap, read: ReadClaim): RefusedClaim[] {
  return map.required
    .filter((claim) => read(claim) === null)
    .map((claim) => {
      return { claim, got: null, why: map.onRequest?.[claim] ?? 'The token must have it' };
    });
}

function brokenRules(map: ClaimMap, read: ReadClaim): RefusedClaim[] {
  return map.rules.flatMap(({ claim, accepts, why }) => {
    const got = read(claim);
    return got === null || accepts(got, read) ? [] : [{ claim, got, why }];
  });
}

function valuesOf(claims: readonly string[], read: ReadClaim): Record<string, string | null> {
  return Object.fromEntries(claims.map((claim) => [claim, read(claim)]));
}

/** null = absent. A claim that is there as null is not: that would be no text. */
function textOf(
  map: ClaimMap,
  payload: Readonly<Record<string, unknown>>,
  claim: string,
): string | null {
  if (!Object.hasOwn(payload, claim)) return null;
  const value = payload[claim];
  if (value === null && map.nullable?.includes(claim)) return null;
  if (map.booleans?.includes(claim)) {
    if (typeof value === 'boolean') return String(value);
    throw wrongType(claim, 'true or false');
  }
  if (typeof value === 'string') return value;
  throw wrongType(claim, 'text');
}

/** Of any type, because nothing is decided by it. */
function recordedText(payload: Readonly<Record<string, unknown>>, claim: string): string | null {
  const value = Object.hasOwn(payload, claim) ? payload[claim] : undefined;
  if (value === undefined || value === null) return null;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= RECORDED_LENGTH_MAX ? text : `${text.slice(0, RECORDED_LENGTH_MAX - 1)}…`;
}

function wrongType(claim: string, type: string): Refusal {
  const metadata = { cause: 'MALFORMED', claim };
  return new Refusal('BAD_ASSERTION', `The token's claim ${claim} is not ${type}`, metadata);
}
