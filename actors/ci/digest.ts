/**
 * The digest of what was observed: an approval names it, so that what was reviewed is what is
 * approved, and a run that shows anything else in between is noticed.
 */
import { createHash } from 'node:crypto';
import type { ObservedClaims } from '../../machines/ci/ci-verification.ts';

/** Hex SHA-256 of both sets of claims in canonical JSON: names sorted, no white space. */
export function digestOf(observed: { bound: ObservedClaims; recorded: ObservedClaims }): string {
  const text = JSON.stringify([sorted(observed.bound), sorted(observed.recorded)]);
  return createHash('sha256').update(text).digest('hex');
}

/** Pairs in the byte order of their names, which JSON cannot put into another one. */
function sorted(claims: ObservedClaims): [string, string | null][] {
  return Object.entries(claims).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
