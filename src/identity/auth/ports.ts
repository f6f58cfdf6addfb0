/** Ports of authentication: what the authenticator and the exchange of CI identities are given. */

/** What an access token of a CI workflow says, once its signature and times are checked. */
export interface AccessTokenClaims {
  /** `jti` of the token. */
  readonly token: string;
  readonly project: string;
  /** Id of the connection, and its epoch when the token was made. */
  readonly connection: string;
  readonly tokenEpoch: number;
  /** Unix ms. */
  readonly expiresMs: number;
}

/** Access tokens: EdDSA JWTs, made and checked under this service's own keys. */
export interface AccessTokens {
  /** Form alone: is this text an access token, and not a key? */
  looksLike(text: string): boolean;
  sign(claims: AccessTokenClaims): Promise<string>;
  /** Throws a `Refusal`: MALFORMED_CREDENTIAL, CREDENTIAL_EXPIRED. */
  verify(text: string): Promise<AccessTokenClaims>;
  /** Public keys, RFC 7517; `/.well-known/jwks.json`. */
  jwks(): { readonly keys: readonly object[] };
}
