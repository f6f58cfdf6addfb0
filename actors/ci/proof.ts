/**
 * What makes an assertion count once: it is checked, then burned, and only then looked at. Burned
 * before anything is compared, so that a token that was refused cannot be tried elsewhere; after
 * its signature was checked, so that nobody can burn what is not theirs.
 */
import { createHash } from 'node:crypto';
import type { OnceStore } from '../../streams/platform/once-store.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { lastRestoredMs } from '../identity/restoration.ts';
import type { Host } from '../platform/host/host-port.ts';
import type { AssertionChecks, CheckedAssertion } from './port.ts';

export interface ProofDeps {
  readonly host: Pick<Host, 'view'>;
  readonly assertions: AssertionChecks;
  readonly onceStore: OnceStore;
}

/**
 * The identity that an assertion shows. Throws a `Refusal`: BAD_ASSERTION (`cause` REPLAYED when it
 * was used before, BEFORE_RESTORE when that is forgotten), NOT_READY; and what `takeOnce` rejects
 * with when that cannot be told.
 */
export async function proveIdentity(
  { host, assertions, onceStore }: ProofDeps,
  assertion: string,
  expected: { readonly issuer: string; readonly audience: string },
): Promise<CheckedAssertion> {
  const checked = await assertions.verify(assertion, expected);
  const restoredMs = lastRestoredMs(host);
  if (restoredMs !== undefined && checked.issuedMs < restoredMs) {
    throw new Refusal(
      'BAD_ASSERTION',
      'The identity token was made before a backup was restored here, so that nobody can tell ' +
        'whether it was used: try again with a fresh one from the CI platform',
      { cause: 'BEFORE_RESTORE' },
    );
  }
  if (await onceStore.takeOnce(burnKey(checked), checked.burnUntilMs)) return checked;
  throw new Refusal(
    'BAD_ASSERTION',
    'The identity token was used before: each try, a retry too, needs a fresh one from the CI platform',
    { cause: 'REPLAYED' },
  );
}

/** The issuer that is meant where none is named; '' when none is configured. */
export function usualIssuer(assertions: Pick<AssertionChecks, 'names'>): string {
  const names = assertions.names();
  return names.find((name) => name === 'github') ?? names[0] ?? '';
}

/** A digest, because ids are the issuer's and may be of any length and form. */
function burnKey({ issuerUrl, jti }: CheckedAssertion): string {
  return `ci/${createHash('sha256')
    .update(JSON.stringify([issuerUrl, jti]))
    .digest('hex')}`;
}
