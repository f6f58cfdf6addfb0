/**
 * Sealing under the master key. A sealed value is AES-256-GCM: version byte, 12-byte nonce, 16-byte
 * tag, ciphertext. Purpose and id are authenticated with it, so that a value moved to another row or
 * subject cannot be opened.
 */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync } from 'node:crypto';
import type { Random } from '../../../streams/platform/random.ts';

export const MASTER_KEY_BYTES = 32;

/** The master key is not the one under which a value was sealed. */
export class WrongMasterKey extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WrongMasterKey';
  }
}

/** A sealed value cannot be opened although the key is right: it was changed, or moved. */
export class SealBroken extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SealBroken';
  }
}

export interface Seal {
  close(id: string, purpose: string, value: Uint8Array): Uint8Array;
  /** Throws `SealBroken`. */
  open(id: string, purpose: string, sealed: Uint8Array): Uint8Array;
}

export interface SealOptions {
  /** 32 bytes. */
  readonly masterKey: Uint8Array;
  /** Source of nonces: must be the system's generator outside tests. */
  readonly random: Random;
}

const KEY_ID_BYTES = 8;

/** Public name of the key, for a manifest, a refusal, a member's record: 16 hex digits. */
export function keyIdOf(masterKey: Uint8Array): string {
  const id = hkdfSync('sha256', masterKey, '', 'svc key id', KEY_ID_BYTES);
  return Buffer.from(id).toString('hex');
}

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/**
 * Random nonces under one key are safe for 2^32 values (NIST SP 800-38D, 8.3); at a thousand
 * deliveries an hour across all members, that is five centuries. Throws `WrongMasterKey` for a key
 * of another length.
 */
export function createSeal({ masterKey, random }: SealOptions): Seal {
  if (masterKey.length !== MASTER_KEY_BYTES) {
    throw new WrongMasterKey(
      `The master key has ${masterKey.length} bytes: it must have ${MASTER_KEY_BYTES}`,
    );
  }
  // Prepared once, because preparing a key takes longer than sealing a value.
  const key = createSecretKey(masterKey);
  return {
    close: (id, purpose, value) => {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      cipher.setAAD(boundTo(id, purpose));
      const body = Buffer.concat([cipher.update(value), cipher.final()]);
      return Buffer.concat([Uint8Array.of(VERSION), nonce, cipher.getAuthTag(), body]);
    },
    open: (id, purpose, sealed) => {
      const what = `The sealed ${purpose} of ${id}`;
      if (sealed[0] !== VERSION || sealed.length < HEAD_BYTES) {
        throw new SealBroken(`${what} has a form that this program does not know`);
      }
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
      const cipher = createDecipheriv('aes-256-gcm', key, nonce, {
        authTagLength: TAG_BYTES,
      });
      cipher.setAAD(boundTo(id, purpose));
      cipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEAD_BYTES));
      try {
        return Buffer.concat([cipher.update(sealed.subarray(HEAD_BYTES)), cipher.final()]);
      } catch (error) {
        throw new SealBroken(`${what} cannot be opened: it was changed, or moved`, {
          cause: error,
        });
      }
    },
  };
}

/** JSON keeps the two apart whatever they contain. */
function boundTo(id: string, purpose: string): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(['svc-sealed', VERSION, purpose, id]));
}
