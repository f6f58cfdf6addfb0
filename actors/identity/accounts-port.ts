/**
 * Service accounts, as the API sees them. A change is durable when its promise resolves. Every
 * method throws a `Refusal`: NOT_FOUND, INVALID_STATE, INVALID_FIELD, LIMIT_EXCEEDED,
 * REQUEST_ID_REUSED, and what `Host.submit` throws.
 */
import type { Actor } from '../../streams/platform/commit/commit.ts';
import type { Committed, RequestKey } from '../platform/host/host-port.ts';

/** Of every change: where, who, and the client's request. */
export interface IdentityChange {
  readonly project: string;
  readonly by: Actor;
  /** Absent: a change of the service's own, which needs no answer repeated. */
  readonly request?: RequestKey;
}

export interface CreateAccount extends IdentityChange {
  /** Chosen by the service; absent = a new one. */
  readonly account?: string;
  readonly displayName: string;
  /** Id of a permission template; '' = none, and `capabilities` says it. */
  readonly template: string;
  readonly capabilities: readonly string[];
}

export interface UpdateAccount extends IdentityChange {
  readonly account: string;
  /** undefined = unchanged. */
  readonly displayName: string | undefined;
  readonly capabilities: readonly string[] | undefined;
}

export interface NamedAccount extends IdentityChange {
  readonly account: string;
}

/** Live service accounts in a project at most. */
export const ACCOUNTS_MAX = 1_000;

/** Id of the account. */
export interface ChangedAccount {
  readonly account: string;
}

export interface Accounts {
  create(request: CreateAccount): Promise<Committed<ChangedAccount>>;
  update(request: UpdateAccount): Promise<Committed<ChangedAccount>>;
  /**
   * Stops its keys and tokens at once; the tokens for good. Done before: nothing changes but the
   * reason, which stays the first.
   */
  disable(request: NamedAccount & { readonly reason: string }): Promise<Committed<ChangedAccount>>;
  enable(request: NamedAccount): Promise<Committed<ChangedAccount>>;
  /** For good, with its keys and CI connections; an exact resend finishes what a crash left. */
  delete(request: NamedAccount): Promise<Committed<ChangedAccount>>;
}
