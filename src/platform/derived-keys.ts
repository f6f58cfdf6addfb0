/**
 * Keys for single purposes, derived from the master key. Their bytes are replaced in place when it
 * changes, so that the parts that hold one use the new key from the next use on.
 */
import type { SecretStore } from '../../sqlite/platform/secrets/secret-store.ts';
import { deriveKey } from './master-key.ts';

export interface DerivedKeys {
  /** 32 bytes for this purpose alone, the same on every node. */
  derive(purpose: string): Uint8Array;
  /** Derives all keys again. */
  replace(masterKey: Uint8Array): void;
}

export function createDerivedKeys(masterKey: Uint8Array): DerivedKeys {
  let from = masterKey;
  const keys = new Map<string, Uint8Array>();
  return {
    derive(purpose) {
      const key = keys.get(purpose) ?? deriveKey(from, purpose);
      keys.set(purpose, key);
      return key;
    },
    replace(next) {
      from = next;
      for (const [purpose, key] of keys) key.set(deriveKey(next, purpose));
    },
  };
}

/** Purpose of a key whose codes must work for ever: those of links in mails already sent. */
export const UNSUBSCRIBE_PURPOSE = 'unsubscribe links';

const EARLIER = 'earlier-keys';
/** Keys of so many changes of the master key; the oldest are forgotten. */
const EARLIER_MAX = 8;
const KEY_BYTES = 32;

/** Keys of a purpose under earlier master keys, newest first. */
export function earlierKeys(secrets: Pick<SecretStore, 'get'>, purpose: string): Uint8Array[] {
  const stored = secrets.get(purpose, EARLIER) ?? new Uint8Array();
  const keys: Uint8Array[] = [];
  for (let at = 0; at + KEY_BYTES <= stored.length; at += KEY_BYTES) {
    keys.push(stored.slice(at, at + KEY_BYTES));
  }
  return keys;
}

/** Stores a key of a purpose before the master key changes. A second call changes nothing. */
export async function keepEarlierKey(
  secrets: Pick<SecretStore, 'update'>,
  purpose: string,
  key: Uint8Array,
): Promise<void> {
  await secrets.update(purpose, EARLIER, (stored = new Uint8Array()) => {
    if (Buffer.from(key).equals(stored.subarray(0, KEY_BYTES))) return undefined;
    return Buffer.concat([key, stored]).subarray(0, EARLIER_MAX * KEY_BYTES);
  });
}
