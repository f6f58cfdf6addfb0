/**
 * Texts that a browser keeps for some minutes, in a cookie or a form, so that the service stores
 * nothing for abandoned attempts. They are encrypted: only this service can read or make them.
 */
import { EncryptJWT, errors, jwtDecrypt } from 'jose';

export interface SealedTexts<Name extends string> {
  seal(texts: Readonly<Record<Name, string>>): Promise<string>;
  /** undefined if the texts were not sealed here, were changed, or are too old. */
  open(sealed: string): Promise<Readonly<Record<Name, string>> | undefined>;
}

export interface SealOptions<Name extends string> {
  /** 32 bytes, used for this purpose only. */
  readonly key: Uint8Array;
  readonly clock: { now(): number };
  /** Purpose; texts of another purpose do not open. */
  readonly audience: string;
  readonly seconds: number;
  readonly names: readonly Name[];
}

export function sealTexts<Name extends string>(options: SealOptions<Name>): SealedTexts<Name> {
  const { key, clock, audience, names } = options;
  return {
    seal(texts) {
      const seconds = Math.floor(clock.now() / 1000);
      return new EncryptJWT({ ...texts })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setAudience(audience)
        .setIssuedAt(seconds)
        .setExpirationTime(seconds + options.seconds)
        .encrypt(key);
    },
    async open(sealed) {
      try {
        const { payload } = await jwtDecrypt(sealed, key, {
          audience,
          currentDate: new Date(clock.now()),
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
          requiredClaims: ['iat', 'exp', ...names],
        });
        const texts = names.map((name) => [name, String(payload[name])] as const);
        return Object.fromEntries(texts) as Record<Name, string>;
      } catch (error) {
        if (error instanceof errors.JOSEError) return undefined;
        throw error;
      }
    },
  };
}
