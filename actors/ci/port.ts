/**
 * Keyless CI as the API sees it, and what it asks of others: a CI platform's signed identity token
 * is checked, its id burned, and what it shows is compared with what a person has approved. The
 * answers hold secrets (a pairing code, an access token); commits hold hashes and claims alone.
 */
import type { ObservedClaims } from '../../machines/ci/ci-verification.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import type { Committed, RequestKey } from '../platform/host/host-port.ts';
import type { ClaimDifference } from './match.ts';

/** Lifetime of an access token (LIMIT-09), ms. */
export const ACCESS_TOKEN_MS = 15 * 60_000;
/** Verifications of a project that wait for proof or review, at most. */
export const OPEN_VERIFICATIONS_MAX = 50;
/** Connections of a project that are not deleted, at most. */
export const CONNECTIONS_MAX = 1_000;

/** A workflow's identity, as an issuer's claim map reads it from a token that holds. */
export interface ShownIdentity {
  /** What a connection binds; null = the token does not have it. */
  readonly bound: ObservedClaims;
  /** Kept for review and audit. */
  readonly recorded: ObservedClaims;
  /** Ids of who owns the workflow: where these match, a refusal may tell what it expected. */
  readonly ownerClaims: readonly string[];
  /** Names that belong to those ids: another one under the same ids is a renaming. */
  readonly nameClaims: readonly string[];
  /** Why a run of this kind can never be trusted; empty = it can. */
  readonly refused: readonly ClaimDifference[];
  /** What a reviewer should think about, as sentences. */
  readonly warnings: readonly string[];
}

/** A token whose signature, issuer, audience, times and form hold. */
export interface CheckedAssertion {
  readonly issuerUrl: string;
  /** When the platform made it, by its clock, Unix ms. */
  readonly issuedMs: number;
  /** Single use: `(issuerUrl, jti)` is burned until `burnUntilMs`. */
  readonly jti: string;
  /** Unix ms. */
  readonly burnUntilMs: number;
  readonly claims: ShownIdentity;
}

/** Checks of CI platforms' tokens. */
export interface AssertionChecks {
  /** Names of the configured issuers. */
  names(): readonly string[];
  /** What `iss` must be in its tokens; undefined = none of that name is configured. */
  urlOf(name: string): string | undefined;
  /**
   * Bounds the assertion first: it may be of any length. Throws a `Refusal`: BAD_ASSERTION, or
   * NOT_READY when the issuer's keys cannot be had.
   */
  verify(
    assertion: string,
    expected: { readonly issuer: string; readonly audience: string },
  ): Promise<CheckedAssertion>;
}

/** Makes access tokens. */
export interface TokenSigner {
  sign(claims: {
    readonly token: string;
    readonly project: string;
    readonly connection: string;
    readonly tokenEpoch: number;
    readonly expiresMs: number;
  }): Promise<string>;
}

/** Makes and reads pairing codes. */
export interface PairingCodes {
  /** `id`: of the verification that the code is for. */
  mint(id: string): { readonly text: string; readonly hash: string };
  /** Hex SHA-256: what is stored and compared. */
  hash(text: string): string;
}

interface Change {
  readonly project: string;
  readonly by: Actor;
  readonly request: RequestKey;
}

export interface StartVerification extends Change {
  /** Id of an active service account. */
  readonly serviceAccount: string;
  readonly displayName: string;
  readonly capabilities: readonly string[];
  /** '' = the usual one. */
  readonly issuer: string;
}

export interface StartedVerification {
  /** Id: the setup id. */
  readonly verification: string;
  /** In the first answer alone. */
  readonly pairingCode?: string;
}

export interface SubmittedProof {
  readonly setupId: string;
  readonly pairingCode: string;
  readonly assertion: string;
  /** Where it came from: an IPv4 address, or an IPv6 network of 64 bits. */
  readonly network: string;
}

/** What a workflow has shown: its claims, and the digest that an approval must name. */
export interface ObservedProof {
  readonly bound: ObservedClaims;
  readonly recorded: ObservedClaims;
  readonly digest: string;
}

export interface ApproveVerification extends Change {
  readonly verification: string;
  /** '' = the verification's. */
  readonly displayName: string;
  readonly capabilities: readonly string[];
  /** Of what was reviewed. */
  readonly digest: string;
}

export interface RejectVerification extends Change {
  readonly verification: string;
  readonly reason: string;
}

export interface EditConnection extends Change {
  readonly connection: string;
  /** undefined = unchanged. */
  readonly displayName: string | undefined;
  readonly capabilities: readonly string[] | undefined;
}

export interface NamedConnection extends Change {
  readonly connection: string;
}

export interface ExchangeRequest {
  readonly project: string;
  /** Id of the connection, as the caller names it. */
  readonly connection: string;
  readonly assertion: string;
}

export interface Exchanged {
  /** A bearer for 15 minutes; shown once. */
  readonly accessToken: string;
  readonly expiresMs: number;
  /** Position in EVENTS of the commit that recorded it. */
  readonly sequence: number;
}

/**
 * Every method throws a `Refusal`, with those of the host; changes: NOT_FOUND, INVALID_FIELD,
 * INVALID_STATE, LIMIT_EXCEEDED, REQUEST_ID_REUSED.
 */
export interface KeylessCi {
  start(request: StartVerification): Promise<Committed<StartedVerification>>;
  /**
   * Proves an identity and grants nothing. Throws MALFORMED_CREDENTIAL for a setup id or a code
   * that is not ours, alike for both; TOO_MANY_REQUESTS (`retryAfterSeconds`) for a source of too
   * many of them; INVALID_STATE once it is over or the code was used; BAD_ASSERTION;
   * EXCHANGE_DENIED for a run of a kind that is never trusted; NOT_READY.
   */
  submitProof(proof: SubmittedProof): Promise<ObservedProof>;
  /** Id of the connection that it makes. */
  approve(request: ApproveVerification): Promise<Committed<{ readonly connection: string }>>;
  reject(request: RejectVerification): Promise<Committed<Record<string, never>>>;
  edit(request: EditConnection): Promise<Committed<Record<string, never>>>;
  /** Done before: nothing changes. */
  disable(
    request: NamedConnection & { readonly reason: string },
  ): Promise<Committed<Record<string, never>>>;
  enable(request: NamedConnection): Promise<Committed<Record<string, never>>>;
  delete(request: NamedConnection): Promise<Committed<Record<string, never>>>;
  /**
   * Throws BAD_ASSERTION (`cause`), EXCHANGE_DENIED (`cause`, `correlation`, `claims`), and
   * NOT_READY when the issuer's keys cannot be had.
   */
  exchange(request: ExchangeRequest): Promise<Exchanged>;
  /** What the issuer's tokens must be made for, to be of use in this project. */
  audienceOf(project: string): string;
  /** Resolves when no note of a refusal is being written. */
  settled(): Promise<void>;
  /** Notes the refusals that are still held back; to be called before the host stops. */
  close(): Promise<void>;
}

/** Why an exchange was denied: `cause` of the refusal, `code` of its note, label of its count. */
export type DenialCause =
  /** A run for a pull request, in any of its forms. */
  | 'PULL_REQUEST'
  /** An event, or a ref, that is not one of those that are accepted. */
  | 'CONTEXT_REFUSED'
  /** Claims differ; also told of trust names that do not exist. */
  | 'IDENTITY_MISMATCH'
  /** The ids are those approved, under another name. */
  | 'IDENTITY_RENAMED'
  /** The issuer's name stands for another issuer than when it was approved. */
  | 'ISSUER_CHANGED'
  | 'CONNECTION_DISABLED'
  | 'CONNECTION_DELETED'
  | 'ACCOUNT_DISABLED'
  /** Connection and service account have no permission in common any more. */
  | 'NO_PERMISSION_LEFT';

/** What became of an exchange: label of its count. */
export type ExchangeOutcome =
  | 'EXCHANGED'
  | 'UNKNOWN_TRUST'
  | 'BAD_ASSERTION'
  | 'REPLAYED'
  | 'NOT_READY'
  | DenialCause;
