/** Requests about identities: their common fields, and the checks of texts and capabilities. */
import { isIP } from 'node:net';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { invalidField } from '../../streams/platform/refusal.ts';
import type { RequestKey } from '../platform/host/host-port.ts';
import { isOneLine, NOT_ONE_LINE } from '../platform/plain-text.ts';
import { CAPABILITIES } from './grants.ts';

/** Fields of every change: the project, the actor, and the client's request. */
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

/** Maximum networks of one key. */
export const NETWORKS_MAX = 32;

/**
 * The addresses and networks that a key is bound to, in lower case and without duplicates; null =
 * none. Throws INVALID_FIELD.
 */
export function checkedNetworks(requested: readonly string[]): readonly string[] | null {
  if (requested.length === 0) return null;
  if (requested.length > NETWORKS_MAX) {
    const message = `networks has ${requested.length} entries; at most ${NETWORKS_MAX} are allowed`;
    throw invalidField('networks', message);
  }
  const networks = requested.map((network) => network.trim().toLowerCase());
  const invalid = networks.find((network) => !isNetwork(network));
  if (invalid === undefined) return [...new Set(networks)];
  const seen = JSON.stringify(invalid.slice(0, 100));
  const message = `networks contains ${seen}. Send addresses and ranges such as 192.0.2.7 or 10.0.0.0/8`;
  throw invalidField('networks', message);
}

/** True for an address, and for a range that is not everything. */
function isNetwork(text: string): boolean {
  const [address = '', bits, rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest !== undefined || address.includes('%')) return false;
  if (bits === undefined) return true;
  return /^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32);
}
