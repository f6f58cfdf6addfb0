/**
 * How a key stands at a moment. A lifetime and an overlap end when they end, by the clock, and not
 * when the timer has run that writes it down.
 */
import type { CredentialContext } from '../../machines/credential.ts';
import type { Instance } from '../host-port.ts';

export type KeyState = 'active' | 'rotating' | 'revoked' | 'expired';

/** Whole days before the end at which a key's end is warned of. */
const WARN_DAYS = [1, 7, 14] as const;
const DAY_MS = 86_400_000;

/** @param nowMs Unix ms */
export function keyStateAt({ value, context }: Instance, nowMs: number): KeyState {
  const { expiresMs, overlapEndsMs } = context as unknown as CredentialContext;
  const state = value as KeyState;
  if (state !== 'active' && state !== 'rotating') return state;
  if (nowMs >= expiresMs) return 'expired';
  return overlapEndsMs !== null && nowMs >= overlapEndsMs ? 'revoked' : state;
}

export function isKeyLive(key: Instance, nowMs: number): boolean {
  const state = keyStateAt(key, nowMs);
  return state === 'active' || state === 'rotating';
}

/**
 * The least of 1, 7 and 14 days within which a key's lifetime ends; undefined: none of them, or the
 * key has been replaced or has ended, so that there is nothing to do.
 */
export function expiresWithinDays(key: Instance, nowMs: number): 1 | 7 | 14 | undefined {
  if (keyStateAt(key, nowMs) !== 'active') return undefined;
  const { expiresMs } = key.context as unknown as CredentialContext;
  return WARN_DAYS.find((days) => expiresMs - nowMs <= days * DAY_MS);
}
