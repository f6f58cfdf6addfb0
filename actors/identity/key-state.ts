/**
 * State of a key at a given time. Lifetime and overlap end by the clock, even before the timer that
 * records the end has fired.
 */
import type { Instance } from '../platform/host/host-port.ts';

/** `rotating`: replaced, but valid until its overlap ends. */
export type KeyState = 'active' | 'rotating' | 'revoked' | 'expired';

/** Days before a key's end at which a warning is displayed. */
const WARN_DAYS = [1, 7, 14] as const;
const DAY_MS = 86_400_000;

/** @param nowMs Unix ms */
export function keyStateAt({ value, context }: Instance<'credential'>, nowMs: number): KeyState {
  const { expiresMs } = context;
  const state = value as KeyState;
  if (state !== 'active' && state !== 'rotating') return state;
  if (nowMs >= expiresMs) return 'expired';
  return nowMs >= keyEndMs({ context }) ? 'revoked' : state;
}

/** True if the key gives access at that time, Unix ms. */
export function isKeyLive(key: Instance<'credential'>, nowMs: number): boolean {
  const state = keyStateAt(key, nowMs);
  return state === 'active' || state === 'rotating';
}

/**
 * Time when a live key stops working, Unix ms: the end of its lifetime or, if earlier, of its
 * overlap.
 */
export function keyEndMs({ context }: Pick<Instance<'credential'>, 'context'>): number {
  const { expiresMs, overlapEndsMs } = context;
  return Math.min(expiresMs, overlapEndsMs ?? Number.POSITIVE_INFINITY);
}

/**
 * The smallest of 1, 7 and 14 days within which a key stops working, including a replaced one that
 * may still be in use; undefined if it stops later or has ended.
 */
export function expiresWithinDays(
  key: Instance<'credential'>,
  nowMs: number,
): 1 | 7 | 14 | undefined {
  if (!isKeyLive(key, nowMs)) return undefined;
  return WARN_DAYS.find((days) => keyEndMs(key) - nowMs <= days * DAY_MS);
}
