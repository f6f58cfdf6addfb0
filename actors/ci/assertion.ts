/**
 * A CI platform's signed identity token (an assertion), and the proof that it provides once. It is
 * verified, then burned, and only then compared. It is burned before the comparison, so that a
 * rejected token cannot be tried elsewhere, and after its signature was verified, so that one
 * cannot burn a token without holding it. Then the claims are compared, and the reasons to deny an
 * exchange are decided.
 */
import { createHash } from 'node:crypto';
import type { CiClaimDifference } from '../../machines/ci/ci-connection.ts';
import type { ObservedClaims } from '../../machines/ci/ci-verification.ts';
import type { OnceStore } from '../../streams/platform/once-store.ts';
import { redactedUrl } from '../../streams/platform/redacted-url.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { type Grants, within } from '../identity/grants.ts';
import { lastRestoredMs } from '../identity/restoration.ts';
import type { Host, Instance } from '../platform/host/host-port.ts';
import type { RefusedExchange } from './refusal-notes.ts';

/** A token with a valid signature, issuer, audience, form and times. */
export interface VerifiedAssertion {
  readonly issuerUrl: string;
  /** Time when the platform made it, by its clock, Unix ms. */
  readonly issuedMs: number;
  /** Single use: `(issuerUrl, jti)` is burned until `burnUntilMs`. */
  readonly jti: string;
  /** Unix ms. */
  readonly burnUntilMs: number;
  readonly claims: WorkflowIdentity;
}

/** A workflow's identity, read from a verified token by its issuer's claim map. */
export interface WorkflowIdentity {
  /**
   * Claims that a connection binds; null = the token does not have the claim, and it must stay
   * absent. A claim that was not bound may appear later.
   */
  readonly bound: ObservedClaims;
  /** Claims recorded for review and audit. */
  readonly recorded: ObservedClaims;
  /** The platform's number of the run; null = the token does not have it. */
  readonly run: string | null;
  /** Ids of the workflow's owner. If these match, a refusal may contain the expected values. */
  readonly ownerClaims: readonly string[];
  /** Names that belong to those ids. Another name under the same ids is a renaming. */
  readonly nameClaims: readonly string[];
  /** The reasons why a run of this kind can never be trusted; empty if it can. */
  readonly refused: readonly ClaimDifference[];
  /** Sentences for the reviewer. */
  readonly warnings: readonly string[];
}

/** One claim that is not accepted. */
export interface ClaimDifference {
  readonly claim: string;
  /** null = the token does not have it. */
  readonly got: string | null;
  /** Present only if the caller may see it. */
  readonly expected?: string | null;
  /** The accepted value, as a sentence that reveals no approved value. */
  readonly why?: string;
}

/** Verifies tokens of the configured issuers. */
export interface AssertionVerifier {
  /** Names of the configured issuers, e.g. `github`. */
  names(): readonly string[];
  /** Required `iss` of its tokens; undefined = no issuer with that name is configured. */
  urlOf(name: string): string | undefined;
  /**
   * Verifies an assertion of any length for exactly this audience. Throws a `Refusal`:
   * BAD_ASSERTION (with `metadata.cause`), or NOT_READY if the issuer's keys are unavailable.
   */
  verify(
    assertion: string,
    expected: { readonly issuer: string; readonly audience: string },
  ): Promise<VerifiedAssertion>;
}

/** The verifier of assertions, and the store in which their ids are burned. */
export interface ProofDeps {
  readonly host: Pick<Host, 'view'>;
  readonly assertions: AssertionVerifier;
  /** Store in which ids of assertions are burned. */
  readonly onceStore: OnceStore;
}

/**
 * Verifies an assertion and burns it. Throws a `Refusal`: BAD_ASSERTION (`cause` REPLAYED if it was
 * used before, BEFORE_RESTORE if its use may have been forgotten), NOT_READY; and the errors of
 * `takeOnce`.
 */
export async function proveIdentity(
  { host, assertions, onceStore }: ProofDeps,
  assertion: string,
  expected: { readonly issuer: string; readonly audience: string },
): Promise<VerifiedAssertion> {
  const verified = await assertions.verify(assertion, expected);
  const restoredMs = lastRestoredMs(host);
  if (restoredMs !== undefined && verified.issuedMs < restoredMs) {
    throw new Refusal(
      'BAD_ASSERTION',
      'The identity token was made before a backup was restored here, and may already have been ' +
        'used. Try again with a fresh token from the CI platform',
      { cause: 'BEFORE_RESTORE' },
    );
  }
  if (await onceStore.takeOnce(burnKey(verified), verified.burnUntilMs)) return verified;
  throw new Refusal(
    'BAD_ASSERTION',
    'The identity token was already used. Each attempt, including a retry, needs a fresh token from the CI platform',
    { cause: 'REPLAYED' },
  );
}

/** Issuer of a request that names none; '' if none is configured. */
export function defaultIssuer(assertions: Pick<AssertionVerifier, 'names'>): string {
  const names = assertions.names();
  return names.find((name) => name === 'github') ?? names[0] ?? '';
}

/** A digest, because the issuer chooses the length and form of the id. */
function burnKey({ issuerUrl, jti }: VerifiedAssertion): string {
  return `ci/${createHash('sha256')
    .update(JSON.stringify([issuerUrl, jti]))
    .digest('hex')}`;
}

// Denials of an exchange, decided from plain data: the connection, its service account, and the
// identity in the token. The order of the checks matters: a stranger learns only that their
// identity is not the approved one. Only the approved workflow sees the state of the connection.

/**
 * The reason why an exchange was denied: `cause` of the refusal, `code` of its note, label of its
 * count.
 */
export type DenialCause =
  /** A run for a pull request, in any of its forms. */
  | 'PULL_REQUEST'
  /** An event or a ref that is not accepted. */
  | 'CONTEXT_REFUSED'
  /** Claims differ, or the trust name does not exist. */
  | 'IDENTITY_MISMATCH'
  /** The approved ids under another name. */
  | 'IDENTITY_RENAMED'
  /** The issuer's name is configured with a URL other than at the approval. */
  | 'ISSUER_CHANGED'
  | 'CONNECTION_DISABLED'
  | 'CONNECTION_DELETED'
  | 'ACCOUNT_DISABLED'
  /** Connection and service account no longer have a permission in common. */
  | 'NO_PERMISSION_LEFT';

/** The reason why an exchange is denied. `claims` are the differences, for the job's log. */
export interface Denial {
  readonly cause: DenialCause;
  readonly message: string;
  readonly claims: readonly ClaimDifference[];
}

/** Denial of a run whose kind is never trusted, whatever is approved. */
export function contextDenial({ refused }: WorkflowIdentity): Denial | undefined {
  const [first] = refused;
  if (first === undefined) return undefined;
  const got = first.got === null ? 'missing' : quoted(first.got);
  const seen = `${first.claim} is ${got}${first.why === undefined ? '' : `; ${first.why}`}`;
  if (refused.some(({ got }) => got !== null && PULL_REQUEST.test(got))) {
    return {
      cause: 'PULL_REQUEST',
      message: `A run for a pull request is never trusted, whatever is approved (${seen}). Run the workflow on the approved branch`,
      claims: refused,
    };
  }
  return {
    cause: 'CONTEXT_REFUSED',
    message: `A run of this kind is never trusted (${seen}). Run the workflow from a branch, by a push, by hand or on a schedule`,
    claims: refused,
  };
}

/** Pull requests, merge requests and merge queues, in the names of events, refs and sources. */
const PULL_REQUEST =
  /pull_?request|merge[_-]?request|merge_group|gh-readonly-queue|^(refs\/(heads\/)?)?pull\//i;

/** Denial because the issuer's name is configured with a URL other than at the approval. */
export function issuerDenial(
  approved: { readonly issuer: string; readonly issuerUrl: string },
  { issuerUrl }: Pick<VerifiedAssertion, 'issuerUrl'>,
): Denial | undefined {
  if (approved.issuerUrl === issuerUrl) return undefined;
  return {
    cause: 'ISSUER_CHANGED',
    message: `The issuer ${approved.issuer} is now ${redactedUrl(issuerUrl)}, and was ${redactedUrl(approved.issuerUrl) || 'another one'} when the trust was set up. The operator can restore SVC_CI_ISSUERS, or give the other issuer a name of its own. To trust the current one, start a new verification`,
    claims: [],
  };
}

/** For a trust name that does not exist, or that was deleted and never belonged to the caller. */
export const UNKNOWN_TRUST: Denial = {
  cause: 'IDENTITY_MISMATCH',
  message:
    'The identity of the workflow is not the one approved under this trust name. Check SVC_TRUST, and that the run has the approved workflow, branch, event and environment',
  claims: [],
};

/** The reason why the connection does not accept the identity; undefined if it does. */
export function connectionDenial(
  connection: Instance<'ciConnection'>,
  grants: Grants,
  verified: Pick<VerifiedAssertion, 'issuerUrl' | 'claims'>,
): Denial | undefined {
  const context = connection.context;
  // Before the claims, because equal ids of another issuer prove nothing.
  const otherIssuer = issuerDenial(context, verified);
  if (otherIssuer) return connection.final ? UNKNOWN_TRUST : otherIssuer;
  const { claims: identity } = verified;
  const compared = compareClaims(context.bound, identity.bound, identity);
  if (!compared.isSame) {
    if (connection.final) return UNKNOWN_TRUST;
    const { differences: claims, isRenamed } = compared;
    return { ...(isRenamed ? RENAMED : mismatch(claims)), claims };
  }
  return stateDenial(connection, grants, context.capabilities);
}

function stateDenial(
  { value }: Instance<'ciConnection'>,
  grants: Grants,
  capabilities: readonly string[],
): Denial | undefined {
  if (value === 'deleted') {
    return ofConnection('CONNECTION_DELETED', 'was deleted. Start a new verification');
  }
  if (value !== 'enabled') {
    return ofConnection(
      'CONNECTION_DISABLED',
      'is disabled. An owner of the project can enable it',
    );
  }
  if (grants.state !== 'active') {
    const state = grants.state === 'gone' ? 'gone' : 'disabled';
    return ofConnection('ACCOUNT_DISABLED', `acts for a service account that is ${state}`);
  }
  if (within(capabilities, grants.capabilities).length > 0) return undefined;
  return ofConnection(
    'NO_PERMISSION_LEFT',
    'has no permission that its service account still has. An owner of the project can change either',
  );
}

function ofConnection(cause: DenialCause, predicate: string): Denial {
  return { cause, message: `The connection of this workflow ${predicate}`, claims: [] };
}

const RENAMED = {
  cause: 'IDENTITY_RENAMED',
  message:
    'The repository or its owner has another name than the approved one, under the same id. Start a new verification, and use its trust name',
} as const;

function mismatch(claims: readonly ClaimDifference[]) {
  const names = claims.map(({ claim }) => claim).join(', ');
  return {
    cause: 'IDENTITY_MISMATCH',
    message: `The identity of the workflow is not the approved one (${names}). Run the approved workflow on its branch, event and environment, or start a new verification for this one`,
  } as const;
}

/** A value from a token, short enough for a sentence. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text);
}

/** Result of comparing the claims of a token with the approved ones. */
export type Comparison =
  | { readonly isSame: true }
  | {
      readonly isSame: false;
      /** Sorted by claim name. Only the owner sees the expected values. */
      readonly differences: readonly ClaimDifference[];
      /** true for the approved ids under other names. */
      readonly isRenamed: boolean;
    };

/**
 * Compares every approved claim exactly. A claim that is missing or not text is a difference, and
 * so is one that was approved as absent and is present. Claims that were not bound are ignored,
 * because a platform may add claims; `sub` is never read, because its form changes and
 * organisations can customise it.
 *
 * The caller counts as the owner, and sees the expected values, only if every one of `ownerClaims`
 * is present on both sides and equal; an empty list proves nothing.
 */
export function compareClaims(
  approved: ObservedClaims,
  presented: ObservedClaims,
  { ownerClaims, nameClaims }: Pick<WorkflowIdentity, 'ownerClaims' | 'nameClaims'>,
): Comparison {
  const names = Object.keys(approved).sort();
  const differing = names.filter((name) => !isSame(approved, presented, name));
  const isOwner =
    ownerClaims.length > 0 &&
    ownerClaims.every((name) => claimOf(approved, name) && isSame(approved, presented, name));
  // Without the owner's ids nothing is identified, even if nothing differs.
  if (differing.length === 0 && isOwner) return { isSame: true };
  const named = differing.length > 0 ? differing : ownerClaims;
  return {
    isSame: false,
    differences: named.map((claim) => ({
      claim,
      got: textOf(claimOf(presented, claim)),
      ...(isOwner && { expected: textOf(claimOf(approved, claim)) }),
    })),
    isRenamed: isOwner && differing.some((claim) => nameClaims.includes(claim)),
  };
}

/** true if both are the same text, or both are absent. */
function isSame(approved: ObservedClaims, presented: ObservedClaims, name: string): boolean {
  const [wanted, got] = [claimOf(approved, name), claimOf(presented, name)];
  return wanted === got && (wanted === null || typeof wanted === 'string');
}

/** `unknown`, because rows and tokens are external and may contain any value. */
function claimOf(claims: ObservedClaims, name: string): unknown {
  return Object.hasOwn(claims, name) ? (claims[name] ?? null) : null;
}

function textOf(value: unknown): string | null {
  return value === null || typeof value === 'string' ? value : `(a ${typeof value})`;
}

/**
 * EXCHANGE_DENIED with `cause`, `claims` (JSON), and `correlation`: the id of the note that counts
 * it, if there is one.
 */
export function deniedExchange({ cause, message, claims }: Denial, correlation?: string): Refusal {
  return new Refusal('EXCHANGE_DENIED', message, {
    cause,
    claims: JSON.stringify(claims),
    ...(correlation !== undefined && { correlation }),
  });
}

/** The part of a BAD_ASSERTION or an EXCHANGE_DENIED that is recorded. */
export function refusedExchange({ reason, metadata }: Refusal): RefusedExchange {
  const { cause = '', claims = '[]' } = metadata;
  if (reason === 'EXCHANGE_DENIED') {
    return { code: cause, differences: differencesIn(JSON.parse(claims)) };
  }
  return { code: cause === '' ? reason : `${reason} ${cause}`, differences: [] };
}

/** Without the values, which are only in the log of the job. */
export function differencesIn(claims: readonly ClaimDifference[]): CiClaimDifference[] {
  return claims.map(({ claim, got }) => ({
    claim,
    difference: got === null ? 'MISSING' : 'DIFFERENT',
  }));
}
