/** Loads the certificate and key of the API from their files, at start and again on SIGHUP. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { ConfigError } from '../settings/config.ts';

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface TlsMaterial {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Both files, checked to belong together. Throws `ConfigError` with the file and what is wrong. */
export function loadTls({ certFile, keyFile }: TlsFiles): TlsMaterial {
  const cert = read('SVC_TLS_CERT_FILE', certFile);
  const key = read('SVC_TLS_KEY_FILE', keyFile);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new ConfigError([
      `SVC_TLS_CERT_FILE ${certFile} and SVC_TLS_KEY_FILE ${keyFile} do not make a certificate ` +
        `with its key (${messageOf(error)}): give a PEM chain and its PEM key without a passphrase`,
    ]);
  }
  return { cert, key };
}

function read(name: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new ConfigError([`${name} cannot be read: ${messageOf(error)}`]);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
