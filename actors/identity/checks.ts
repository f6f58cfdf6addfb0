/** Requests about identities: their common fields, and the checks of texts and capabilities. */
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { invalidField } from '../../streams/platform/refusal.ts';
import type { RequestKey } from '../platform/host/host-port.ts';
import { isOneLine, NOT_ONE_LINE } from '../platform/plain-text.ts';
import { CAPABILITIES } from './grants.ts';

/** Fields of every change: where, by whom, and which of the client's requests. */
export interface IdentityChange {
  readonly project: string;
  readonly by: Actor;
  /** Absent for a change by the service itself. */
  readonly request?: RequestKey;
}

const DISPLAY_NAME_LENGTH_MAX = 200;
const REASON_LENGTH_MAX = 500;

/** Throws INVALID_FIELD for a name that is empty, too long, or not one line of plain text. */
export function checkDisplayName(name: string): void {
  if (name.trim() === '') throw invalidField('displayName', 'displayName is empty: choose a name');
  if (!isOneLine(name)) throw invalidField('displayName', `displayName ${NOT_ONE_LINE}`);
  if (name.length <= DISPLAY_NAME_LENGTH_MAX) return;
  const message = `displayName has ${name.length} characters; ${DISPLAY_NAME_LENGTH_MAX} at most`;
  throw invalidField('displayName', message);
}

/** Throws INVALID_FIELD for a reason that is too long, or not one line. */
export function checkReason(reason: string): void {
  if (!isOneLine(reason)) throw invalidField('reason', `reason ${NOT_ONE_LINE}`);
  if (reason.length <= REASON_LENGTH_MAX) return;
  const message = `reason has ${reason.length} characters; ${REASON_LENGTH_MAX} at most`;
  throw invalidField('reason', message);
}

/** The requested ones without duplicates, in the order of `CAPABILITIES`. Throws INVALID_FIELD. */
export function knownCapabilities(requested: readonly string[]): readonly string[] {
  const known: readonly string[] = CAPABILITIES;
  const unknown = requested.find((capability) => !known.includes(capability));
  if (unknown !== undefined) {
    const seen = JSON.stringify(unknown.slice(0, 100));
    const message = `capabilities has ${seen}: only ${known.join(' and ')} can be granted`;
    throw invalidField('capabilities', message);
  }
  return known.filter((capability) => requested.includes(capability));
}

/** Like `knownCapabilities`; also refuses an empty list. */
export function someCapabilities(requested: readonly string[]): readonly string[] {
  if (requested.length > 0) return knownCapabilities(requested);
  throw invalidField('capabilities', `capabilities is empty: name ${CAPABILITIES.join(' or ')}`);
}
