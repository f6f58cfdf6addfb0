/**
 * Ports of keyless CI: checking a CI platform's signed identity token, and burning its id. What the
 * claims mean for a connection is decided in `actors/ci`, from plain data.
 */
import type { ObservedClaims } from '../../machines/ci/ci-verification.ts';

/** A token whose signature, issuer, audience, times and form hold. */
export interface VerifiedAssertion {
  /** Name of the configured issuer, e.g. `github`. */
  readonly issuer: string;
  readonly issuerUrl: string;
  /** When the platform made it, by its clock, Unix ms. */
  readonly issuedMs: number;
  /** Single use: `(issuerUrl, jti)` is burned until `burnUntilMs`. */
  readonly jti: string;
  readonly burnUntilMs: number;
  /** By the issuer's claim map. */
  readonly claims: CiIdentity;
}

/** A workflow's identity as an issuer's claim map reads it from a token. */
export interface CiIdentity {
  /**
   * What a connection binds; null = the token does not have it, and it must stay away. An exchange
   * must show each claim that the connection bound; a claim that is here at the exchange but was
   * not bound is one that may appear.
   */
  readonly bound: ObservedClaims;
  /** Kept for review and audit. */
  readonly recorded: ObservedClaims;
  /** Claims that tell who owns the workflow: where these match, a refusal may tell what it expected. */
  readonly ownerClaims: readonly string[];
  /** Names that belong to those ids: where one alone differs, what it names was renamed. */
  readonly nameClaims: readonly string[];
  /** Why this context can never be trusted (a pull request, an event that is not accepted). */
  readonly refused: readonly RefusedClaim[];
  /** What a reviewer should think about, as sentences. */
  readonly warnings: readonly string[];
}

/** One claim that does not do. `expected` only where it may be told. */
export interface RefusedClaim {
  readonly claim: string;
  /** null = the token does not have it. */
  readonly got: string | null;
  readonly expected?: string | null;
  /** What would do, as a sentence that tells nothing about what was approved. */
  readonly why?: string;
}

export interface CiIssuers {
  /** Names of the configured issuers, e.g. `github`. */
  names(): readonly string[];
  /** What `iss` must be in its tokens; undefined = none of that name is configured. */
  urlOf(name: string): string | undefined;
  /**
   * Checks an assertion of the named issuer for exactly this audience. Throws a `Refusal`:
   * BAD_ASSERTION (with `metadata.cause`), NOT_READY when the issuer's keys cannot be had.
   */
  verify(
    assertion: string,
    expected: { issuer: string; audience: string },
  ): Promise<VerifiedAssertion>;
}
