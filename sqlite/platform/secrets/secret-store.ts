/**
 * `secrets.db`: what is never in a commit. Sealed values (webhook secrets, URLs that carry one) and
 * rendered bodies and answers of deliveries, encrypted under a key that lies outside the database; and
 * the lossy "last used" of credentials, which is off the commit path. Deleting a row ends the secret,
 * which an append-only log cannot do.
 *
 * The port of what is sealed has two adapters that pass one suite: the file alone, here, for one
 * process, and the file of a member, which follows a stream (`shared-secrets.ts`).
 */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { SqliteDatabase } from '../database.ts';
import {
  BODY,
  CANARY,
  createSeal,
  EXCERPT,
  type Seal,
  SealBroken,
  type SealOptions,
  SecretFile,
  WrongMasterKey,
} from './secret-file.ts';
import type { Later } from './wal-truncator.ts';

export interface SecretStoreOptions extends SealOptions {
  /** File path; made when missing. */
  readonly path: string;
  /** For emptying the log once for many deletions; absent: with each. */
  readonly later?: Later;
}

/**
 * Reads are local. A write is on disk when it resolves, and reads here have it; where members share
 * what is sealed it is in the stream then, and reaches each of them.
 */
export interface SecretStore {
  /** Seals `value` under (id, purpose), replacing what was there. */
  put(id: string, purpose: string, value: Uint8Array): Promise<void>;
  /** The value; undefined when there is none. Throws `SealBroken` when it does not open. */
  get(id: string, purpose: string): Uint8Array | undefined;
  /**
   * Replaces the value by what `change` makes of it; undefined = it stays. `change` is called again
   * when another member was faster, so that of several first values one is in force everywhere.
   *
   * @returns the value in force
   */
  update(id: string, purpose: string, change: Change): Promise<Uint8Array | undefined>;
  /**
   * When it resolves no file has the value any more; up to 10 s later where somebody else reads the
   * file just then, and on other members. Harmless when there is none.
   */
  delete(id: string, purpose: string): Promise<void>;
  /** Of what is sealed for the purpose. */
  ids(purpose: string): string[];
  readonly bodies: BodyStore;
  readonly excerpts: ExcerptStore;
  readonly lastUsed: LastUsedStore;
  /**
   * Resolves when reads have everything that any member had written before the call: a commit may
   * arrive before the value that it names. Rejects with `StreamUnavailable`.
   */
  caughtUp(): Promise<void>;
  /** Removes traces of deletions from the stream: once an hour, by one member. */
  sweep(): Promise<void>;
  /** True where members share it. */
  readonly isShared: boolean;
  /** Why reads may lack what others wrote; undefined: they do not. */
  fault(): string | undefined;
  close(): void | Promise<void>;
}

export type Change = (current: Uint8Array | undefined) => Uint8Array | undefined;

/** Rendered webhook bodies, by delivery id: rendered once, sent unchanged on every attempt. */
export interface BodyStore {
  /**
   * Keeps several in one disk write. A delivery that has a body keeps the one it has.
   *
   * @returns ids of the deliveries whose given body was not kept
   */
  putMissing(bodies: readonly KeptBody[]): Promise<readonly string[]>;
  get(deliveryId: string): Uint8Array | undefined;
  /** Deliveries that have a body. */
  ids(): string[];
  /** One disk write, none where there is nothing; no file has them 10 s later, or after a start. */
  delete(deliveryIds: readonly string[]): Promise<void>;
}

export interface KeptBody {
  readonly deliveryId: string;
  readonly body: Uint8Array;
}

/** What endpoints answered to the attempts of deliveries, redacted; see `AttemptOutcome`. */
export interface ExcerptStore {
  /** Keeps several in one disk write; an attempt has one, the first. */
  put(excerpts: readonly KeptExcerpt[]): Promise<void>;
  /** By attempt id; empty where nothing is kept. */
  of(deliveryId: string): ReadonlyMap<string, string>;
  /** Of all attempts of these deliveries, as `BodyStore.delete`. */
  delete(deliveryIds: readonly string[]): Promise<void>;
}

export interface KeptExcerpt {
  readonly deliveryId: string;
  readonly attemptId: string;
  readonly excerpt: string;
}

/** When credentials were last used, Unix ms, on this member; may lack the last minutes. */
export interface LastUsedStore {
  /** Keeps the later of what is there and what is given. */
  record(uses: readonly { readonly credential: string; readonly atMs: number }[]): void;
  get(credential: string): number | undefined;
}

/** The store of one process: no write waits for anything but the disk. */
export interface LocalSecretStore extends SecretStore {
  close(): void;
}

/** Throws `WrongMasterKey`, and what `openDatabase` throws. */
export function openSecretStore(options: SecretStoreOptions): LocalSecretStore {
  const seal = createSeal(options);
  const file = openSecretFile(options, 'FULL');
  const reads = sealedReads(file, seal);
  return {
    ...reads,
    put: async (id, purpose, value) => file.put({ id, purpose }, seal.close(id, purpose, value)),
    update: async (id, purpose, change) => {
      const current = reads.get(id, purpose);
      const changed = change(current);
      if (changed === undefined) return current;
      file.put({ id, purpose }, seal.close(id, purpose, changed));
      return changed;
    },
    delete: async (id, purpose) => {
      if (file.remove([{ id, purpose }]) > 0) file.emptyLog('now');
    },
    bodies: localBodies(file, seal, reads.bodies),
    excerpts: localExcerpts(file, seal, reads.excerpts),
    lastUsed: lastUsedStore(file.database),
    isShared: false,
    caughtUp: async () => {},
    sweep: async () => {},
    fault: () => undefined,
    close: () => file.close(),
  };
}

/**
 * The file, with a canary under the key. Throws `WrongMasterKey` where it has one under another, and
 * what `openDatabase` throws.
 */
export function openSecretFile(
  options: SecretStoreOptions,
  synchronous: 'FULL' | 'NORMAL',
): SecretFile {
  const seal = createSeal(options);
  const file = new SecretFile({ ...options, synchronous });
  try {
    if (!hasCanary(() => file.get(CANARY), seal, options.path)) file.put(CANARY, canary(seal));
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}

/** What proves that a key is the one under which the rest is sealed. */
export function canary(seal: Seal): Uint8Array {
  return seal.close(CANARY.id, CANARY.purpose, new TextEncoder().encode('ok'));
}

/**
 * Compares an existing store with the key, and changes nothing; a missing one is not made.
 * Throws `WrongMasterKey`, and what SQLite throws.
 */
export function assertSealedUnder(options: Omit<SecretStoreOptions, 'later'>): void {
  if (!existsSync(options.path)) return;
  const database = new Database(options.path, { fileMustExist: true });
  try {
    const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sealed'");
    if (table.get() === undefined) return;
    const get = database.prepare<[string, string], Buffer>(
      'SELECT value FROM sealed WHERE id = ? AND purpose = ?',
    );
    const value = () => get.pluck().get(CANARY.id, CANARY.purpose);
    hasCanary(value, createSeal(options), options.path);
  } finally {
    database.close();
  }
}

/** Throws `WrongMasterKey` where there is one that the key does not open. */
function hasCanary(get: () => Uint8Array | undefined, seal: Seal, path: string): boolean {
  try {
    const sealed = get();
    if (sealed !== undefined) seal.open(CANARY.id, CANARY.purpose, sealed);
    return sealed !== undefined;
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    throw new WrongMasterKey(
      `${path} was sealed under another master key than the one given: give the key it was made ` +
        'with, or move the file away to start without the secrets in it',
    );
  }
}

/** Reading, the same for both adapters. */
export function sealedReads(file: SecretFile, seal: Seal) {
  const open = (id: string, purpose: string, sealed: Uint8Array | undefined) =>
    sealed && seal.open(id, purpose, sealed);
  const excerptOf = (deliveryId: string, attemptId: string): string => {
    const sealed = file.get({ purpose: EXCERPT, id: attemptId, of: deliveryId });
    return Buffer.from(open(attemptId, EXCERPT, sealed) ?? []).toString('utf8');
  };
  return {
    get: (id: string, purpose: string) => open(id, purpose, file.get({ id, purpose })),
    ids: (purpose: string) => file.ids(purpose),
    bodies: {
      get: (deliveryId: string) =>
        open(deliveryId, BODY, file.get({ purpose: BODY, id: deliveryId })),
      ids: () => file.ids(BODY),
    },
    excerpts: {
      of: (deliveryId: string): ReadonlyMap<string, string> =>
        new Map(file.attemptsOf(deliveryId).map((id) => [id, excerptOf(deliveryId, id)])),
    },
  };
}

/** What an excerpt is sealed as: an attempt's id identifies it. */
export function sealExcerpt(seal: Seal, { attemptId, excerpt }: KeptExcerpt): Uint8Array {
  return seal.close(attemptId, EXCERPT, Buffer.from(excerpt, 'utf8'));
}

/** The keys of all excerpts of the deliveries. */
export function excerptKeys(file: SecretFile, deliveryIds: readonly string[]) {
  return deliveryIds.flatMap((of) =>
    file.attemptsOf(of).map((id) => ({ purpose: EXCERPT, id, of })),
  );
}

function localBodies(
  file: SecretFile,
  seal: Seal,
  reads: Pick<BodyStore, 'get' | 'ids'>,
): BodyStore {
  return {
    ...reads,
    putMissing: async (bodies) => {
      const others: string[] = [];
      file.transaction(() => {
        for (const { deliveryId: id, body } of bodies) {
          const isKept = file.putMissing({ purpose: BODY, id }, seal.close(id, BODY, body));
          if (!isKept) others.push(id);
        }
      });
      return others;
    },
    delete: async (deliveryIds) => {
      const keys = deliveryIds.map((id) => ({ purpose: BODY, id }));
      if (file.remove(keys) > 0) file.emptyLog('soon');
    },
  };
}

function localExcerpts(
  file: SecretFile,
  seal: Seal,
  reads: Pick<ExcerptStore, 'of'>,
): ExcerptStore {
  return {
    ...reads,
    put: async (excerpts) =>
      file.transaction(() => {
        for (const kept of excerpts) {
          const key = { purpose: EXCERPT, id: kept.attemptId, of: kept.deliveryId };
          file.putMissing(key, sealExcerpt(seal, kept));
        }
      }),
    delete: async (deliveryIds) => {
      if (file.remove(excerptKeys(file, deliveryIds)) > 0) file.emptyLog('soon');
    },
  };
}

export function lastUsedStore(database: SqliteDatabase): LastUsedStore {
  const put = database.prepare<[string, number]>(
    'INSERT INTO last_used (credential, at_ms) VALUES (?, ?) ' +
      'ON CONFLICT DO UPDATE SET at_ms = max(at_ms, excluded.at_ms)',
  );
  const get = database.prepare<[string], { at_ms: number }>(
    'SELECT at_ms FROM last_used WHERE credential = ?',
  );
  return {
    record: database.transaction((uses) => {
      for (const { credential, atMs } of uses) put.run(credential, atMs);
    }),
    get: (credential) => get.get(credential)?.at_ms,
  };
}
