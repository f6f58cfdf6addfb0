/**
 * Signature of a release: an ssh signature of `SHA256SUMS`, which every machine with OpenSSH 8.2 can
 * verify. The private key stays with the publisher, in a file, an agent or a hardware key.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Purpose of the signature: one for another purpose by the same key is refused. */
export const SIGNATURE_NAMESPACE = 'svc-release';
/** Name of the signer in the list of allowed keys. */
export const SIGNER = 'release@svc';

/**
 * Signs `SHA256SUMS` in the folder, into `SHA256SUMS.sig`. Throws what ssh-keygen reports.
 *
 * @param key private key file, or a public key file whose private half an ssh agent holds
 */
export function signSums(folder: string, key: string): void {
  const words = ['-Y', 'sign', '-f', key, '-n', SIGNATURE_NAMESPACE, join(folder, 'SHA256SUMS')];
  execFileSync('ssh-keygen', words, { stdio: ['inherit', 'ignore', 'pipe'] });
}

/** The line for `release-signers` by which others verify signatures of a public key. */
export function signerLine(publicKeyFile: string): string {
  const [kind = '', key = ''] = readFileSync(publicKeyFile, 'utf8').trim().split(/\s+/);
  return `${SIGNER} namespaces="${SIGNATURE_NAMESPACE}" ${kind} ${key}\n`;
}
