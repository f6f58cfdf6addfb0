/** Requests about identities: their common fields, and the checks of texts and capabilities. */
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { invalidField } from '../../streams/platform/refusal.ts';
import type { RequestKey } from '../platform/host/host-port.ts';
import { isOneLine, NOT_ONE_LINE } from '../platform/plain-text.ts';
import { CAPABILITIES } from './grants.ts';

/** Fields of every change: the place, the actor, and the client's request. */
export interface IdentityChange {
  readonly project: string;
  readonly by: Actor;
  /** Absent for a change by the service itself. */
  readonly request?: RequestKey;
}

const DISPLAY_NAME_LENGTH_MAX = 200;
const REASON_LENGTH_MAX = 500;

/** Throws INVALID_FIELD if the name is empty, too long, or not one line of plain text. */
export function checkDisplayName(name: string): void {
  if (name.trim() === '') throw invalidField('displayName', 'displayName is empty. Choose a name');
  if (!isOneLine(name)) throw invalidField('displayName', `displayName ${NOT_ONE_LINE}`);
  if (name.length <= DISPLAY_NAME_LENGTH_MAX) return;
  const message = `displayName has ${name.length} characters; at most ${DISPLAY_NAME_LENGTH_MAX} are allowed`;
  throw invalidField('displayName', message);
}

/** Throws INVALID_FIELD if the reason is too long, or not one line. */
export function checkReason(reason: string): void {
  if (!isOneLine(reason)) throw invalidField('reason', `reason ${NOT_ONE_LINE}`);
  if (reason.length <= REASON_LENGTH_MAX) return;
  const message = `reason has ${reason.length} characters; at most ${REASON_LENGTH_MAX} are allowed`;
  throw invalidField('reason', message);
}

/**
 * The requested capabilities without duplicates, in the order of `CAPABILITIES`. Throws
 * INVALID_FIELD.
 */
export function knownCapabilities(requested: readonly string[]): readonly string[] {
  const known: readonly string[] = CAPABILITIES;
  const unknown = requested.find((capability) => !known.includes(capability));
  if (unknown !== undefined) {
    const seen = JSON.stringify(unknown.slice(0, 100));
    const message = `capabilities contains ${seen}; only ${known.join(' and ')} can be granted`;
    throw invalidField('capabilities', message);
  }
  return known.filter((capability) => requested.includes(capability));
}

/** Like `knownCapabilities`, but rejects an empty list too. */
export function someCapabilities(requested: readonly string[]): readonly string[] {
  if (requested.length > 0) return knownCapabilities(requested);
  throw invalidField('capabilities', `capabilities is empty. Send ${CAPABILITIES.join(' or ')}`);
}
