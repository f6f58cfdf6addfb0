/**
 * A CI platform's signed identity token (an assertion) and the proof that it makes, once. It is
 * verified, then burned, and only then compared. It is burned before the comparison, so that a
 * refused token cannot be tried elsewhere, and after its signature was verified, so that nobody can
 * burn a token that they do not hold.
 */
import { createHash } from 'node:crypto';
import type { ObservedClaims } from '../../machines/ci/ci-verification.ts';
import type { OnceStore } from '../../streams/platform/once-store.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { lastRestoredMs } from '../identity/restoration.ts';
import type { Host } from '../platform/host/host-port.ts';

/** A token with a valid signature, issuer, audience, form and times. */
export interface VerifiedAssertion {
  readonly issuerUrl: string;
  /** When the platform made it, by its clock, Unix ms. */
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
  /** Claims kept for review and audit. */
  readonly recorded: ObservedClaims;
  /** Ids of the workflow's owner. Where these match, a refusal may show what was expected. */
  readonly ownerClaims: readonly string[];
  /** Names that belong to those ids: another name under the same ids is a renaming. */
  readonly nameClaims: readonly string[];
  /** Why a run of this kind can never be trusted; empty = it can. */
  readonly refused: readonly ClaimDifference[];
  /** Sentences for the reviewer. */
  readonly warnings: readonly string[];
}

/** One claim that is not acceptable. */
export interface ClaimDifference {
  readonly claim: string;
  /** null = the token does not have it. */
  readonly got: string | null;
  /** Present only where the caller may see it. */
  readonly expected?: string | null;
  /** The acceptable value, as a sentence that reveals nothing of what was approved. */
  readonly why?: string;
}

/** Verifies tokens of the configured issuers. */
export interface AssertionVerifier {
  /** Names of the configured issuers, e.g. `github`. */
  names(): readonly string[];
  /** Required `iss` of its tokens; undefined = no issuer of that name is configured. */
  urlOf(name: string): string | undefined;
  /**
   * Verifies an assertion of any length for exactly this audience. Throws a `Refusal`:
   * BAD_ASSERTION (with `metadata.cause`), or NOT_READY when the issuer's keys are unavailable.
   */
  verify(
    assertion: string,
    expected: { readonly issuer: string; readonly audience: string },
  ): Promise<VerifiedAssertion>;
}

export interface ProofDeps {
  readonly host: Pick<Host, 'view'>;
  readonly assertions: AssertionVerifier;
  /** Where ids of assertions are burned. */
  readonly onceStore: OnceStore;
}

/**
 * Verifies an assertion and burns it. Throws a `Refusal`: BAD_ASSERTION (`cause` REPLAYED when it was
 * used before, BEFORE_RESTORE when its use may have been forgotten), NOT_READY; and what `takeOnce`
 * rejects with.
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
      'The identity token was made before a backup was restored here, and may have been used ' +
        'already: try again with a fresh token from the CI platform',
      { cause: 'BEFORE_RESTORE' },
    );
  }
  if (await onceStore.takeOnce(burnKey(verified), verified.burnUntilMs)) return verified;
  throw new Refusal(
    'BAD_ASSERTION',
    'The identity token was used before: each attempt, also a retry, needs a fresh token from the CI platform',
    { cause: 'REPLAYED' },
  );
}

/** Issuer of a request that names none; '' when none is configured. */
export function defaultIssuer(assertions: Pick<AssertionVerifier, 'names'>): string {
  const names = assertions.names();
  return names.find((name) => name === 'github') ?? names[0] ?? '';
}

/** A digest, because the issuer chooses the id's length and form. */
function burnKey({ issuerUrl, jti }: VerifiedAssertion): string {
  return `ci/${createHash('sha256')
    .update(JSON.stringify([issuerUrl, jti]))
    .digest('hex')}`;
}
