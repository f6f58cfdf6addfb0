/**
 * Denials of an exchange, decided from plain data: the connection, its service account, and the
 * identity in the token. The order of the checks matters: a stranger learns only that their identity
 * is not the approved one; the state of the connection is shown to the approved workflow alone.
 */
import type { ObservedClaims } from '../../machines/ci/ci-verification.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { shownUrl } from '../../streams/platform/shown-url.ts';
import { type Grants, within } from '../identity/grants.ts';
import type { Instance } from '../platform/host/host-port.ts';
import type { ClaimDifference, VerifiedAssertion, WorkflowIdentity } from './assertion.ts';
import type { RefusedExchange } from './refusal-notes.ts';

/** Why an exchange was denied: `cause` of the refusal, `code` of its note, label of its count. */
export type DenialCause =
  /** A run for a pull request, in any of its forms. */
  | 'PULL_REQUEST'
  /** An event, or a ref, that is not accepted. */
  | 'CONTEXT_REFUSED'
  /** Claims differ, or the trust name does not exist. */
  | 'IDENTITY_MISMATCH'
  /** The approved ids, under another name. */
  | 'IDENTITY_RENAMED'
  /** The issuer's name is configured with another URL than at the approval. */
  | 'ISSUER_CHANGED'
  | 'CONNECTION_DISABLED'
  | 'CONNECTION_DELETED'
  | 'ACCOUNT_DISABLED'
  /** Connection and service account have no permission in common any more. */
  | 'NO_PERMISSION_LEFT';

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
      message: `A run for a pull request is never trusted, whatever is approved (${seen}): run the workflow on the approved branch`,
      claims: refused,
    };
  }
  return {
    cause: 'CONTEXT_REFUSED',
    message: `A run of this kind is never trusted (${seen}): run the workflow from a branch, by a push, by hand or on a schedule`,
    claims: refused,
  };
}

/** Pull requests, merge requests and merge queues, in the names of events, refs and sources. */
const PULL_REQUEST =
  /pull_?request|merge[_-]?request|merge_group|gh-readonly-queue|^(refs\/(heads\/)?)?pull\//i;

/** Denial because the issuer's name is configured with another URL than at the approval. */
export function issuerDenial(
  approved: { readonly issuer: string; readonly issuerUrl: string },
  { issuerUrl }: Pick<VerifiedAssertion, 'issuerUrl'>,
): Denial | undefined {
  if (approved.issuerUrl === issuerUrl) return undefined;
  return {
    cause: 'ISSUER_CHANGED',
    message: `The issuer ${approved.issuer} is ${shownUrl(issuerUrl)} now, and was ${shownUrl(approved.issuerUrl) || 'another one'} when the trust was set up: the operator can put SVC_CI_ISSUERS back, or give the other issuer a name of its own; to trust the present one start a new verification`,
    claims: [],
  };
}

/** For a trust name that does not exist, or that was deleted and never was the caller's. */
export const UNKNOWN_TRUST: Denial = {
  cause: 'IDENTITY_MISMATCH',
  message:
    'The identity of the workflow is not the one approved under this trust name: check SVC_TRUST, and that the run is of the approved workflow, branch, event and environment',
  claims: [],
};

/** Why the connection does not accept the identity; undefined when it does. */
export function connectionDenial(
  connection: Instance<'ciConnection'>,
  grants: Grants,
  verified: Pick<VerifiedAssertion, 'issuerUrl' | 'claims'>,
): Denial | undefined {
  const context = connection.context;
  // Before the claims: equal ids of another issuer prove nothing.
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
    return ofConnection('CONNECTION_DELETED', 'was deleted: start a new verification');
  }
  if (value !== 'enabled') {
    return ofConnection(
      'CONNECTION_DISABLED',
      'is disabled: an owner of the project can enable it',
    );
  }
  if (grants.state !== 'active') {
    const state = grants.state === 'gone' ? 'gone' : 'disabled';
    return ofConnection('ACCOUNT_DISABLED', `acts for a service account that is ${state}`);
  }
  if (within(capabilities, grants.capabilities).length > 0) return undefined;
  return ofConnection(
    'NO_PERMISSION_LEFT',
    'has no permission that its service account still has: an owner of the project can change either',
  );
}

function ofConnection(cause: DenialCause, predicate: string): Denial {
  return { cause, message: `The connection of this workflow ${predicate}`, claims: [] };
}

const RENAMED = {
  cause: 'IDENTITY_RENAMED',
  message:
    'The repository or its owner has another name than the approved one, under the same id: start a new verification, and use the trust name that it gives',
} as const;

function mismatch(claims: readonly ClaimDifference[]) {
  const names = claims.map(({ claim }) => claim).join(', ');
  return {
    cause: 'IDENTITY_MISMATCH',
    message: `The identity of the workflow is not the approved one (${names}): run the approved workflow on its branch, event and environment, or start a new verification for this one`,
  } as const;
}

/** A value from a token, short enough for a sentence. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text);
}

export type Comparison =
  | { readonly isSame: true }
  | {
      readonly isSame: false;
      /** In the order of the claims' names. Only the owner sees what was expected. */
      readonly differences: readonly ClaimDifference[];
      /** true: the approved ids, under other names. */
      readonly isRenamed: boolean;
    };

/**
 * Compares every approved claim exactly. A claim that is missing or not text is a difference, and so
 * is one that was approved as absent and is present. Claims that were not bound are ignored, since a
 * platform may add claims; `sub` is never read, because its form changes and organisations can
 * customise it.
 *
 * The caller counts as the owner, and sees what was expected, only when every one of `ownerClaims`
 * is present on both sides and equal; an empty list proves nothing.
 */
export function compareClaims(
  approved: ObservedClaims,
  shown: ObservedClaims,
  { ownerClaims, nameClaims }: Pick<WorkflowIdentity, 'ownerClaims' | 'nameClaims'>,
): Comparison {
  const names = Object.keys(approved).sort();
  const differing = names.filter((name) => !isSame(approved, shown, name));
  const isOwner =
    ownerClaims.length > 0 &&
    ownerClaims.every((name) => claimOf(approved, name) && isSame(approved, shown, name));
  // Without its owner's ids nothing is identified, even if nothing differs.
  if (differing.length === 0 && isOwner) return { isSame: true };
  const named = differing.length > 0 ? differing : ownerClaims;
  return {
    isSame: false,
    differences: named.map((claim) => ({
      claim,
      got: textOf(claimOf(shown, claim)),
      ...(isOwner && { expected: textOf(claimOf(approved, claim)) }),
    })),
    isRenamed: isOwner && differing.some((claim) => nameClaims.includes(claim)),
  };
}

/** true when both are the same text, or both are absent. */
function isSame(approved: ObservedClaims, shown: ObservedClaims, name: string): boolean {
  const [wanted, got] = [claimOf(approved, name), claimOf(shown, name)];
  return wanted === got && (wanted === null || typeof wanted === 'string');
}

/** `unknown`, because rows and tokens come from outside and may hold any value. */
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

/** What is noted of a BAD_ASSERTION or an EXCHANGE_DENIED. */
export function refusedExchange({ reason, metadata }: Refusal): RefusedExchange {
  const { cause = '', claims = '[]' } = metadata;
  if (reason === 'EXCHANGE_DENIED') {
    const listed: readonly { readonly claim: string }[] = JSON.parse(claims);
    return { code: cause, claims: listed.map(({ claim }) => claim) };
  }
  return { code: cause === '' ? reason : `${reason} ${cause}`, claims: [] };
}
