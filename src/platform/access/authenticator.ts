/** The port by which HTTP routes and RPC methods learn who calls; `src/identity/auth` implements it. */
import type { Refusal } from '../../../streams/platform/refusal.ts';
import type { CredentialPrincipal, Principal } from './principal.ts';

/** What a request shows of who sends it: headers as they came, undefined = not there. */
export interface ShownIdentity {
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
  readonly origin: string | undefined;
}

export interface Authenticator {
  /** A key alone, without waiting: for the write path. Throws `Refusal`. */
  authenticateKey(authorization: string | undefined): CredentialPrincipal;
  /** A key, or an access token of a CI workflow. Rejects with a `Refusal`. */
  authenticate(authorization: string | undefined): Promise<CredentialPrincipal>;
  /**
   * A credential where the request has an Authorization header, else the session of its cookie,
   * which counts only with the Origin of this service. Rejects with a `Refusal`.
   */
  identify(shown: ShownIdentity): Promise<Principal>;
  /** The same caller as they stand now. Throws a `Refusal` when they stand for nothing any more. */
  again<P extends Principal>(principal: P): P;
  /**
   * Calls `onLost` once, within a second, when the principal stops being what it was, or `use`
   * refuses what it has become: for answers that stay open. Returns its undo.
   * @param use asks what the answer needs; throws a `Refusal`
   */
  watch(
    principal: Principal,
    onLost: (why: Refusal) => void,
    use?: (now: Principal) => void,
  ): () => void;
}
