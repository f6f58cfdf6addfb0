/**
 * The secret store of one process: a write waits only for the disk. Its reads, and the forms of its
 * keys, are also those of a member's store (`shared-secrets.ts`).
 */

import { KEY_CHANGE } from './key-change.ts';
import {
  beginKeyChange,
  type ChangingStore,
  finishKeyChange,
  NOTHING_TO_CONTINUE,
  sealAgain,
} from './key-change-steps.ts';
import { keyIdOf, type Seal } from './seal.ts';
import {
  BODY,
  EXCERPT,
  lastUsedStore,
  openSecretFile,
  type SecretFile,
  type SecretStoreOptions,
} from './secret-file.ts';
import type {
  BodyStore,
  ExcerptStore,
  KeptExcerpt,
  KeyChangeOutcome,
  KeyChangeRequest,
  SecretStore,
} from './secret-store.ts';

/** The store of one process: a write waits only for the disk. */
export interface LocalSecretStore extends SecretStore {
  close(): void;
}

/** Throws `WrongMasterKey`, and what `openDatabase` throws. */
export function openSecretStore(options: SecretStoreOptions): LocalSecretStore {
  const { file, ring: seal } = openSecretFile(options, 'FULL');
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
    keyId: () => keyIdOf(seal.masterKey()),
    isKeyChanging: () => seal.change() !== undefined,
    changeKey: (request) => changeLocalKey({ ...options, file, ring: seal }, request),
    isShared: false,
    caughtUp: async () => {},
    sweep: async () => {},
    fault: () => undefined,
    close: () => file.close(),
  };
}

/** Name of the only member. */
const THIS_PROCESS = 'this process';

async function changeLocalKey(
  store: ChangingStore & Pick<SecretStoreOptions, 'keep'>,
  request: KeyChangeRequest,
): Promise<KeyChangeOutcome> {
  const { file, ring, keep = () => false } = store;
  const { next, onStep = () => {} } = request;
  if (next === undefined && ring.change() === undefined) return NOTHING_TO_CONTINUE;
  if (next !== undefined) {
    const record = beginKeyChange(store, next);
    file.put(KEY_CHANGE, record);
    ring.begin({ old: ring.masterKey(), next });
    onStep('recorded');
  }
  const counts = await sealAgain(store, () => {
    onStep('sealing');
    request.signal?.throwIfAborted();
  });
  onStep('sealed');
  if (!keep(ring.masterKey())) return { state: 'waiting', ...counts, waitsFor: [THIS_PROCESS] };
  onStep('kept');
  finishKeyChange(store);
  onStep('finished');
  return { state: 'changed', ...counts, waitsFor: [] };
}

/** Reads, the same for both adapters. */
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

/** Seals an excerpt under its attempt's id. */
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
