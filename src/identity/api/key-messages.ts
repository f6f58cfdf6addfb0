/** Keys as the API shows them: everything but the secret, which nobody has any more. */

import { grantsOf, within } from '../../../actors/identity/grants.ts';
import {
  expiresWithinDays,
  isKeyLive,
  type KeyState,
  keyStateAt,
} from '../../../actors/identity/key-state.ts';
import { type KeyOwner, ownerName } from '../../../actors/identity/names.ts';
import type { Host, Instance } from '../../../actors/platform/host/host-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Key_ExpiryWarning, Key_State } from '../../gen/svc/iam/v1/automation_pb.ts';

/** What is looked at beside the key's own row. */
export interface KeyView {
  readonly host: Pick<Host, 'view'>;
  /** Unix ms; undefined = never. */
  readonly lastUsed: { of(credential: string): number | undefined };
  readonly clock: Clock;
}

const STATES: Readonly<Record<KeyState, Key_State>> = {
  active: Key_State.ACTIVE,
  rotating: Key_State.ROTATING,
  revoked: Key_State.REVOKED,
  expired: Key_State.EXPIRED,
};

const WARNINGS = {
  1: Key_ExpiryWarning.WITHIN_1_DAY,
  7: Key_ExpiryWarning.WITHIN_7_DAYS,
  14: Key_ExpiryWarning.WITHIN_14_DAYS,
} as const;

export function isShownLive(
  { clock }: Pick<KeyView, 'clock'>,
  key: Instance<'credential'>,
): boolean {
  return isKeyLive(key, clock.now());
}

export function keyMessage(
  { host, lastUsed, clock }: KeyView,
  owner: KeyOwner,
  key: Instance<'credential'>,
) {
  const nowMs = clock.now();
  const about = key.context;
  const state = keyStateAt(key, nowMs);
  const isLive = state === 'active' || state === 'rotating';
  const granted = grantsOf(host.view(owner.project), owner).capabilities;
  const days = expiresWithinDays(key, nowMs);
  const usedMs = lastUsed.of(key.instance);
  return {
    name: `${ownerName(owner)}/keys/${key.instance}`,
    displayName: about.displayName,
    state: STATES[state],
    capabilities: [...about.capabilities],
    effectiveCapabilities: isLive ? within(about.capabilities, granted) : [],
    last4: about.lastFour,
    createdBy: about.createdBy,
    createdUnix: seconds(about.createdMs),
    expiresUnix: seconds(about.expiresMs),
    expiryWarning: days === undefined ? Key_ExpiryWarning.NONE : WARNINGS[days],
    ...(usedMs !== undefined && { lastUsedUnix: seconds(usedMs) }),
    successor: about.successor === null ? '' : `${ownerName(owner)}/keys/${about.successor}`,
    ...(state === 'rotating' &&
      about.overlapEndsMs !== null && { overlapEndsUnix: seconds(about.overlapEndsMs) }),
    revokedReason: state === 'revoked' ? (about.revokedReason ?? 'ROTATED') : '',
  };
}

function seconds(ms: number): bigint {
  return BigInt(Math.floor(ms / 1000));
}
