/**
 * The port of sealed values: data that is never in a commit. Webhook secrets, URLs that carry one,
 * rendered bodies and responses of deliveries, encrypted under a key outside the database; and the
 * lossy "last used" of credentials. Two adapters pass one suite: the file alone (`local-secrets.ts`),
 * for one process, and the file of a member, which follows a stream (`shared-secrets.ts`).
 */

/**
 * Reads are local. A write is on disk when it resolves, and visible to reads here; if members share
 * the secrets, it is then in the stream, and reaches each of them.
 */
export interface SecretStore {
  /** Seals `value` under (id, purpose), replacing the existing value. */
  put(id: string, purpose: string, value: Uint8Array): Promise<void>;
  /** The value; undefined if absent. Throws `SealBroken` if it cannot be opened. */
  get(id: string, purpose: string): Uint8Array | undefined;
  /**
   * Replaces the value by the result of `change`; undefined = unchanged. `change` is called again
   * if another member was faster, so that of several first values the same one is in force
   * everywhere.
   *
   * @returns the value in force
   */
  update(id: string, purpose: string, change: Change): Promise<Uint8Array | undefined>;
  /**
   * When it resolves, no file has the value any more; up to 10 s later if another process is
   * reading the file at that moment, and on other members. Harmless if there is none.
   */
  delete(id: string, purpose: string): Promise<void>;
  /** Ids of the sealed values with this purpose. */
  ids(purpose: string): string[];
  readonly bodies: BodyStore;
  readonly excerpts: ExcerptStore;
  readonly lastUsed: LastUsedStore;
  /**
   * Resolves once reads have everything that any member had written before the call: a commit may
   * arrive before the value that it names. Rejects with `StreamUnavailable`.
   */
  caughtUp(): Promise<void>;
  /** Removes traces of deletions from the stream: once an hour, by one member. */
  sweep(): Promise<void>;
  /** Id of the master key under which new values are sealed, once the key file has it too. */
  keyId(): string;
  /** True while both keys of a change open the values. */
  isKeyChanging(): boolean;
  /**
   * Replaces the master key, or continues a change that was interrupted. Reads and writes continue.
   * Rejects with `KeyChangeRefused`.
   */
  changeKey(request: KeyChangeRequest): Promise<KeyChangeOutcome>;
  /** true: members share the store. */
  readonly isShared: boolean;
  /** Why reads may lack values that others wrote; undefined: they do not. */
  fault(): string | undefined;
  close(): void | Promise<void>;
}

/** Finished steps of a change of the master key, in order; `sealing` repeats. */
export type KeyChangeStep = 'recorded' | 'sealing' | 'sealed' | 'kept' | 'finished';

export interface KeyChangeRequest {
  /** 32 bytes; absent: continue an interrupted change. */
  readonly next?: Uint8Array;
  /**
   * Key that each running member has taken over and put into its key file, by the member's name;
   * null: it runs a program that cannot. Not called for a store of one process.
   */
  readonly members: () => readonly { readonly name: string; readonly keyId: string | null }[];
  /** Ends the change between two steps; a later one continues it. */
  readonly signal?: AbortSignal;
  /** Called after each step is on disk. */
  readonly onStep?: (step: KeyChangeStep) => void;
}

export interface KeyChangeOutcome {
  /**
   * `waiting`: everything is sealed under the next key, and the old one still opens it, until the
   * key file has the next one. `none`: there was nothing to continue.
   */
  readonly state: 'changed' | 'waiting' | 'none';
  /** Number of values that were sealed again. */
  readonly sealed: number;
  /** Number of values that neither key opens: damaged before the change. */
  readonly unreadable: number;
  /** Members whose key file does not have the next key yet. */
  readonly waitsFor: readonly string[];
}

/** The change of the master key cannot begin now. */
export class KeyChangeRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KeyChangeRefused';
  }
}

export type Change = (current: Uint8Array | undefined) => Uint8Array | undefined;

/** Rendered webhook bodies, by delivery id: rendered once, sent unchanged on every attempt. */
export interface BodyStore {
  /**
   * Stores several in one disk write. A delivery that already has a body keeps it.
   *
   * @returns ids of the deliveries whose given body was not stored
   */
  putMissing(bodies: readonly KeptBody[]): Promise<readonly string[]>;
  get(deliveryId: string): Uint8Array | undefined;
  /** Deliveries that have a body. */
  ids(): string[];
  /** At most one disk write; no file has the bodies 10 s later, or after a start. */
  delete(deliveryIds: readonly string[]): Promise<void>;
}

export interface KeptBody {
  readonly deliveryId: string;
  readonly body: Uint8Array;
}

/** Responses of endpoints to the attempts of deliveries, redacted; see `AttemptOutcome`. */
export interface ExcerptStore {
  /** Stores several in one disk write; an attempt keeps its first one. */
  put(excerpts: readonly KeptExcerpt[]): Promise<void>;
  /** By attempt id; empty if none are stored. */
  of(deliveryId: string): ReadonlyMap<string, string>;
  /** Deletes those of all attempts of these deliveries, like `BodyStore.delete`. */
  delete(deliveryIds: readonly string[]): Promise<void>;
}

export interface KeptExcerpt {
  readonly deliveryId: string;
  readonly attemptId: string;
  readonly excerpt: string;
}

/** Time of the last use of credentials on this member, Unix ms; may lack the last minutes. */
export interface LastUsedStore {
  /** Keeps the later of the stored and the given time. */
  record(uses: readonly { readonly credential: string; readonly atMs: number }[]): void;
  get(credential: string): number | undefined;
}
