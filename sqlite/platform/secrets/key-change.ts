/**
 * Change of the master key under a store in use. While it runs, a record in the store holds each of
 * the two keys sealed under the other, so that a process that has either key opens everything; it
 * may end at any step, and the next start continues.
 *
 *     record -> new values under the new key -> old values sealed again -> key file -> canary,
 *     no record: from here the old key opens nothing
 */
import {
  createSeal,
  keyIdOf,
  type Seal,
  SealBroken,
  type SealOptions,
  WrongMasterKey,
} from './seal.ts';

/** Place of the record in a store. */
export const KEY_CHANGE = { id: 'master-key', purpose: 'key-change' } as const;

/** The two keys of a change. */
export interface KeyPair {
  readonly old: Uint8Array;
  readonly next: Uint8Array;
}

/** The keys of a store: one, or two during a change. */
export interface KeyRing extends Seal {
  /** Key under which new values are sealed. */
  readonly masterKey: () => Uint8Array;
  /** The change that is running. */
  readonly change: () => KeyPair | undefined;
  /** True if the value opens under the current key alone. */
  readonly isCurrent: (id: string, purpose: string, sealed: Uint8Array) => boolean;
  /** From now on values are sealed under `next` and opened under both. */
  begin(change: KeyPair): void;
  /** Forgets the old key. */
  finish(): void;
  /** Returns the next key to the state before `begin`, if the record was not stored. */
  revert(): void;
}

/** @param pair the running change, if the store has a record of one */
export function createKeyRing(options: SealOptions, pair?: KeyPair): KeyRing {
  const { random } = options;
  const sealOf = (masterKey: Uint8Array): Seal => createSeal({ masterKey, random });
  let masterKey = pair?.next ?? options.masterKey;
  let change = pair;
  let current = sealOf(masterKey);
  let previous = pair && sealOf(pair.old);
  return {
    masterKey: () => masterKey,
    change: () => change,
    close: (id, purpose, value) => current.close(id, purpose, value),
    open(id, purpose, sealed) {
      if (previous === undefined) return current.open(id, purpose, sealed);
      return opened(current, id, purpose, sealed) ?? previous.open(id, purpose, sealed);
    },
    isCurrent: (id, purpose, sealed) => opened(current, id, purpose, sealed) !== undefined,
    begin(begun) {
      change = begun;
      masterKey = begun.next;
      previous = sealOf(begun.old);
      current = sealOf(begun.next);
    },
    finish() {
      change = undefined;
      previous = undefined;
    },
    revert() {
      if (change === undefined) return;
      masterKey = change.old;
      current = sealOf(masterKey);
      change = undefined;
      previous = undefined;
    },
  };
}

function opened(
  seal: Seal,
  id: string,
  purpose: string,
  sealed: Uint8Array,
): Uint8Array | undefined {
  try {
    return seal.open(id, purpose, sealed);
  } catch (error) {
    if (error instanceof SealBroken) return undefined;
    throw error;
  }
}

/** The record of a change: each key sealed under the other, and the ids of both. */
export function keyChangeRecord({ old, next }: KeyPair, random: SealOptions['random']): Uint8Array {
  const [oldId, nextId] = [keyIdOf(old), keyIdOf(next)];
  const text = (sealed: Uint8Array): string => Buffer.from(sealed).toString('base64');
  const record: StoredChange = {
    oldId,
    nextId,
    next: text(createSeal({ masterKey: old, random }).close(nextId, KEY_CHANGE.purpose, next)),
    old: text(createSeal({ masterKey: next, random }).close(oldId, KEY_CHANGE.purpose, old)),
  };
  return new TextEncoder().encode(JSON.stringify(record));
}

interface StoredChange {
  readonly oldId: string;
  readonly nextId: string;
  /** The next key, sealed under the old one. */
  readonly next: string;
  /** The old key, sealed under the next one. */
  readonly old: string;
}

/**
 * Both keys of a record, from either of them. Throws `WrongMasterKey` if the given key is neither,
 * and `SealBroken` if the record was changed.
 */
export function openKeyChange(record: Uint8Array, options: SealOptions, where: string): KeyPair {
  const { oldId, nextId, next, old } = JSON.parse(new TextDecoder().decode(record)) as StoredChange;
  const { masterKey } = options;
  const own = keyIdOf(masterKey);
  const seal = createSeal(options);
  const bytes = (text: string): Uint8Array => Buffer.from(text, 'base64');
  if (own === oldId) {
    return { old: masterKey, next: seal.open(nextId, KEY_CHANGE.purpose, bytes(next)) };
  }
  if (own === nextId) {
    return { old: seal.open(oldId, KEY_CHANGE.purpose, bytes(old)), next: masterKey };
  }
  throw new WrongMasterKey(
    `The master key of ${where} is being changed from ${oldId} to ${nextId}, and the given one is ` +
      `${own}: use one of the two`,
  );
}
