/**
 * How a key stands at a moment. A lifetime and an overlap end when they end, by the clock, and not
 * when the timer has run that writes it down.
 */
import type { Instance } from '../platform/host/host-port.ts';

export type KeyState = 'active' | 'rotating' | 'revoked' | 'expired';

/** Whole days before the end at which a key's end is warned of. */
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

export function isKeyLive(key: Instance<'credential'>, nowMs: number): boolean {
  const state = keyStateAt(key, nowMs);
  return state === 'active' || state === 'rotating';
}

/** When a live key stops working, Unix ms: with its lifetime, or before that with its overlap. */
export function keyEndMs({ context }: Pick<Instance<'credential'>, 'context'>): number {
  const { expiresMs, overlapEndsMs } = context;
  return Math.min(expiresMs, overlapEndsMs ?? Number.POSITIVE_INFINITY);
}

/**
 * The least of 1, 7 and 14 days within which a key stops working, also a replaced one that somebody
 * may still use; undefined: none of them, or it has ended.
 */
export function expiresWithinDays(
  key: Instance<'credential'>,
  nowMs: number,
): 1 | 7 | 14 | undefined {
  if (!isKeyLive(key, nowMs)) return undefined;
  return WARN_DAYS.find((days) => keyEndMs(key) - nowMs <= days * DAY_MS);
}
