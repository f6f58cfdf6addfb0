/** Port of authentication for HTTP routes and RPC methods; `src/identity/auth` implements it. */
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { CredentialPrincipal, Principal } from './principal.ts';

/** Headers of a request that identify its sender, as received; undefined = absent. */
export interface PresentedCredentials {
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
  readonly origin: string | undefined;
  readonly host?: string | undefined;
  /** Address of the client; behind a trusted proxy, the address that it forwards. */
  readonly address: string;
}

export interface Authenticator {
  /**
   * Accepts keys only, and answers without waiting, for the write path. It knows no address, so it
   * refuses keys that are bound to networks. Throws `Refusal`.
   */
  authenticateKey(authorization: string | undefined): CredentialPrincipal;
  /**
   * Accepts a key or an access token of a CI workflow. Rejects with a `Refusal`.
   * @param address see `PresentedCredentials`
   */
  authenticate(authorization: string | undefined, address: string): Promise<CredentialPrincipal>;
  /**
   * Accepts the credential of the Authorization header if there is one, otherwise the session of
   * the cookie, which counts only with the Origin of this service. Rejects with a `Refusal`.
   */
  identify(presented: PresentedCredentials): Promise<Principal>;
  /** Counts a refused use of a project's own key, for its owners. Other callers are ignored. */
  recordRefused(principal: Principal, refusal: Refusal): void;
  /** The same caller with their current access. Throws a `Refusal` if they have none left. */
  revalidate<P extends Principal>(principal: P): P;
  /**
   * For responses that stay open: calls `onLost` once, within a second, when the principal loses
   * access or `use` rejects what is left of it. Returns a function that ends the watch.
   * @param use checks what the response needs; throws a `Refusal`
   */
  watch(
    principal: Principal,
    onLost: (why: Refusal) => void,
    use?: (now: Principal) => void,
  ): () => void;
}

/** Runs a check of the caller's access. A refusal is counted for the owners of the caller's key. */
export function checkAccess(
  authenticator: Pick<Authenticator, 'recordRefused'>,
  caller: Principal,
  check: () => void,
): void {
  try {
    check();
  } catch (error) {
    if (error instanceof Refusal) authenticator.recordRefused(caller, error);
    throw error;
  }
}
