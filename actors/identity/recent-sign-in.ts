/**
 * Recent sign-ins. A session lasts for days, and its cookie may have been stolen since.
 * Invitations, owners, keys, CI trusts and sessions of command lines outlast it, so whoever makes
 * one must recently have proved to be the person: with a link, with a mail, or at the identity
 * provider, which reports the time.
 */
import type { SessionContext } from '../../machines/identity/session.ts';
import { Refusal } from '../../streams/platform/refusal.ts';

/** Maximum age of a recent sign-in, ms, unless a setting says otherwise. */
export const RECENT_MS = 15 * 60_000;

/**
 * True if the person proved to be themselves at most `recentMs` ago; 0 = always. The session of a
 * command line counts as recent, because a recent sign-in in a browser confirmed it.
 */
export function isRecentSignIn(
  session: Pick<SessionContext, 'method' | 'createdMs' | 'authenticatedMs'>,
  nowMs: number,
  recentMs: number,
): boolean {
  const { method, createdMs, authenticatedMs = createdMs } = session;
  if (recentMs === 0 || method === 'cli') return true;
  return authenticatedMs !== null && nowMs - authenticatedMs <= recentMs;
}

/** The refusal of an action that needs a recent sign-in. */
export function signInTooOld(): Refusal {
  return new Refusal(
    'SIGN_IN_TOO_OLD',
    'This needs a recent sign-in, and yours is too old. Sign in again, then repeat it',
  );
}
