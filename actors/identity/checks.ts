/** What is checked of a request about identities whatever the head is: texts and capabilities. */
import { Refusal } from '../../streams/platform/refusal.ts';
import { isOneLine, NOT_ONE_LINE } from '../platform/one-line.ts';
import { CAPABILITIES } from './grants.ts';

const DISPLAY_NAME_LENGTH_MAX = 200;
const REASON_LENGTH_MAX = 500;

export function invalid(field: string, message: string): Refusal {
  return new Refusal('INVALID_FIELD', message, { field });
}

/** Throws INVALID_FIELD for a name that is empty, too long, or not one line of plain text. */
export function checkDisplayName(name: string): void {
  if (name.trim() === '') throw invalid('displayName', 'displayName is empty: give it a name');
  if (!isOneLine(name)) throw invalid('displayName', `displayName ${NOT_ONE_LINE}`);
  if (name.length <= DISPLAY_NAME_LENGTH_MAX) return;
  const message = `displayName has ${name.length} characters; ${DISPLAY_NAME_LENGTH_MAX} at most`;
  throw invalid('displayName', message);
}

/** A reason for people to read; throws INVALID_FIELD for one that is too long, or not one line. */
export function checkReason(reason: string): void {
  if (!isOneLine(reason)) throw invalid('reason', `reason ${NOT_ONE_LINE}`);
  if (reason.length <= REASON_LENGTH_MAX) return;
  const message = `reason has ${reason.length} characters; ${REASON_LENGTH_MAX} at most`;
  throw invalid('reason', message);
}

/** Each of the list once, in the order of `CAPABILITIES`. Throws INVALID_FIELD for unknown ones. */
export function knownCapabilities(asked: readonly string[]): readonly string[] {
  const known: readonly string[] = CAPABILITIES;
  const unknown = asked.find((capability) => !known.includes(capability));
  if (unknown !== undefined) {
    const seen = JSON.stringify(unknown.slice(0, 100));
    const message = `capabilities has ${seen}: only ${known.join(' and ')} can be granted`;
    throw invalid('capabilities', message);
  }
  return known.filter((capability) => asked.includes(capability));
}

/** The same of a list that must name at least one. */
export function someCapabilities(asked: readonly string[]): readonly string[] {
  if (asked.length > 0) return knownCapabilities(asked);
  throw invalid('capabilities', `capabilities is empty: name ${CAPABILITIES.join(' or ')}`);
}
