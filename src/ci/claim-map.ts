/**
 * Claim map: how the tokens of one kind of CI platform identify a workflow, as data. A claim is
 * bound (each exchange must have the approved value), recorded (for review and audit), or left
 * unbound for a stated reason. Any other claim is new to this version and is reported, because a
 * platform that adds a claim may have changed the meaning of others. `sub` is never read: the
 * platform can change its form, and its owner can customise it.
 */
import type { ClaimDifference, WorkflowIdentity } from '../../actors/ci/assertion.ts';
import { Refusal } from '../../streams/platform/refusal.ts';

export interface ClaimMap {
  /** Bound; a token that lacks one of them is rejected. */
  readonly required: readonly string[];
  /** The reason why a token lacks a required claim, and what to do, where the platform has one. */
  readonly whyAbsent?: Readonly<Record<string, string>>;
  /** Bound even if absent: if the approved token lacks it, it must stay absent. */
  readonly orAbsent: readonly string[];
  /** Bound if the observed token has it; otherwise it may appear later. */
  readonly ifPresent: readonly string[];
  /** Ids of the workflow's owner, all among `required`. */
  readonly owner: readonly string[];
  /**
   * Names that belong to those ids, among `required`. Another name under the same ids is a
   * renaming.
   */
  readonly names: readonly string[];
  /** The platform's number of the run, among `recorded`. Its author cannot choose it. */
  readonly run: string;
  /** For review and audit. */
  readonly recorded: readonly string[];
  /** Recorded claims that `review` may bind too, with the condition. */
  readonly boundWhen?: Readonly<Record<string, string>>;
  /** Deliberately not bound, with the reason. A name that ends in `*` is a prefix. */
  readonly unbound: Readonly<Record<string, string>>;
  /** Claims whose value is true or false; bound as that word. All others are text. */
  readonly booleans?: readonly string[];
  /** Claims that the platform writes as null instead of omitting them. */
  readonly nullable?: readonly string[];
  /** Rules that apply to every approval. */
  readonly rules: readonly ClaimRule[];
  /** Further claims to bind, and warnings for the reviewer. */
  readonly review: (read: ReadClaim) => Review;
}

/** Text of a claim; null = the token does not have it. */
export type ReadClaim = (claim: string) => string | null;

export interface ClaimRule {
  readonly claim: string;
  /** Called with the claim's value if the token has it. */
  readonly accepts: (value: string, read: ReadClaim) => boolean;
  /** The accepted value, as a sentence. */
  readonly why: string;
}

export interface Review {
  readonly alsoBound?: readonly string[];
  /** Sentences. */
  readonly warnings: readonly string[];
}

/** Claims of every JWT, which are verified elsewhere or never read. */
export const jwtClaims: Readonly<Record<string, string>> = {
  iss: 'checked: must equal the configured issuer exactly',
  aud: "checked: must equal the connection's audience exactly, as a text or as a list of that one",
  exp: 'checked',
  iat: 'checked',
  nbf: 'checked',
  jti: 'checked: single use',
  sub: 'never read: its form is not fixed; it changed for new repositories in 2026 and can be customised',
};

/** Longest recorded text. The platform sets no limit. */
const RECORDED_LENGTH_MAX = 256;

/**
 * The identity in a verified token's payload. Throws a `Refusal` BAD_ASSERTION (cause MALFORMED, with
 * `claim`) for a claim of a wrong type.
 */
export function readIdentity(
  map: ClaimMap,
  payload: Readonly<Record<string, unknown>>,
): WorkflowIdentity {
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
    run: recordedText(payload, map.run),
    refused: [...missing(map, read), ...brokenRules(map, read)],
    warnings,
  };
}

/** A claim as observed. */
interface ClaimUse {
  readonly bound: boolean;
  /** true if the token had it. */
  readonly present: boolean;
}

/**
 * The reason why a claim is bound or only recorded, in a sentence or two.
 *
 * @param map of the issuer's kind; undefined = its issuer is no longer configured
 */
export function reasonOf(map: ClaimMap | undefined, claim: string, use: ClaimUse): string {
  const rules = map?.rules.filter((rule) => rule.claim === claim).map(({ why }) => `${why}.`) ?? [];
  const when = map?.boundWhen?.[claim];
  const conditions = when === undefined ? [] : [`It is bound ${when}.`];
  return [ownReason(map, claim, use), ...conditions, ...new Set(rules)].join(' ');
}

function ownReason(map: ClaimMap | undefined, claim: string, { bound, present }: ClaimUse): string {
  if (!bound)
    return 'It may differ from job to job, so it is recorded for review and audit, but not compared.';
  if (!present) return 'The approved token does not have it, and it must stay absent.';
  if (map?.owner.includes(claim)) {
    return 'This id stays the same after a rename. Every exchange must have it.';
  }
  if (map?.names.includes(claim)) {
    return 'It is a name under the ids of the owner. A renaming requires a new approval.';
  }
  return 'It identifies the workflow. Every exchange must have the same value.';
}

/** Names of claims in the payload that are not in the map. */
export function unknownClaims(
  map: ClaimMap,
  payload: Readonly<Record<string, unknown>>,
): readonly string[] {
  const known = knownOf(map);
  return Object.keys(payload).filter(
    (name) => !known.names.has(name) && !known.prefixes.some((prefix) => name.startsWith(prefix)),
  );
}

interface Known {
  readonly names: ReadonlySet<string>;
  readonly prefixes: readonly string[];
}

const knownByMap = new WeakMap<ClaimMap, Known>();

function knownOf(map: ClaimMap): Known {
  const found = knownByMap.get(map);
  if (found) return found;
  const { required, orAbsent, ifPresent, recorded, unbound } = map;
  const left = [...Object.keys(jwtClaims), ...Object.keys(unbound)];
  const known = {
    names: new Set([...required, ...orAbsent, ...ifPresent, ...recorded, ...left]),
    prefixes: left.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1)),
  };
  knownByMap.set(map, known);
  return known;
}

function missing(map: ClaimMap, read: ReadClaim): ClaimDifference[] {
  return map.required
    .filter((claim) => read(claim) === null)
    .map((claim) => {
      return { claim, got: null, why: map.whyAbsent?.[claim] ?? 'The token must have this claim' };
    });
}

function brokenRules(map: ClaimMap, read: ReadClaim): ClaimDifference[] {
  return map.rules.flatMap(({ claim, accepts, why }) => {
    const got = read(claim);
    return got === null || accepts(got, read) ? [] : [{ claim, got, why }];
  });
}

function valuesOf(claims: readonly string[], read: ReadClaim): Record<string, string | null> {
  return Object.fromEntries(claims.map((claim) => [claim, read(claim)]));
}

/**
 * null = absent. A claim whose value is null counts as present, unless the map defines otherwise.
 */
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
    throw wrongType(claim, 'true or false', value);
  }
  if (typeof value === 'string') return value;
  throw wrongType(claim, 'text', value);
}

/** Accepts any type, because no decision depends on it. */
function recordedText(payload: Readonly<Record<string, unknown>>, claim: string): string | null {
  const value = Object.hasOwn(payload, claim) ? payload[claim] : undefined;
  if (value === undefined || value === null) return null;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= RECORDED_LENGTH_MAX ? text : `${text.slice(0, RECORDED_LENGTH_MAX - 1)}…`;
}

function wrongType(claim: string, type: string, value: unknown): Refusal {
  const metadata = { cause: 'MALFORMED', claim };
  const found = value === null ? `null instead of ${type}` : `not ${type}`;
  return new Refusal('BAD_ASSERTION', `The token's claim ${claim} is ${found}`, metadata);
}

/**
 * True if `path` begins with the name `parent` and a slash. Code hosts ignore the case of ASCII
 * letters in the names of owners and repositories, and tokens repeat what a workflow's author typed.
 */
export function isBelow(path: string, parent: string | null): boolean {
  return parent !== null && foldName(path).startsWith(`${foldName(parent)}/`);
}

/** ASCII only: other letters that fold to an ASCII one belong to other names. */
export function foldName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
