/**
 * Handles the end of a session without losing the page. A 401 opens a dialog; the user signs in in
 * a new tab, and every tab continues. Tabs notify each other, and a tab that gains focus checks
 * with the service.
 */
import { signal } from '@preact/signals';

/** `ended`: the dialog is open, and reads wait for `resume`. */
export const sessionState = signal<'active' | 'ended'>('active');

/** Dependencies of a session. */
export interface SessionPorts {
  /** Tells the other tabs that a user is signed in. */
  broadcast(): void;
  /** Called if another user is signed in: nothing on the page belongs to them. */
  reload(): void;
}

export interface Session {
  /** A call was refused for lack of a session. Resolves when the same user is signed in again. */
  ended(): Promise<void>;
  /** A call of a signed-in user succeeded. */
  answered(): void;
  /**
   * The signed-in user is known: at the start, and whenever a session may have started again. False
   * if it is another one, and the page reloads.
   */
  identified(personName: string): boolean;
}

export function createSession(ports: SessionPorts): Session {
  let waiting: (() => void)[] = [];
  let isAnnounced = false;
  let known: string | undefined;
  return {
    ended() {
      sessionState.value = 'ended';
      isAnnounced = false;
      return new Promise((resolve) => waiting.push(resolve));
    },
    answered() {
      // Once per session: a tab in which the user has just signed in wakes the others.
      if (!isAnnounced) ports.broadcast();
      isAnnounced = true;
    },
    identified(personName) {
      if (known !== undefined && known !== personName) {
        ports.reload();
        return false;
      }
      known = personName;
      sessionState.value = 'active';
      const resumed = waiting;
      waiting = [];
      for (const go of resumed) go();
      return true;
    },
  };
}

/** Opened by `watchSession`; before that, no other tab needs to be notified. */
let channel: BroadcastChannel | undefined;

/** The session of this tab. */
export const session = createSession({
  broadcast: () => channel?.postMessage('signed-in'),
  reload: () => location.reload(),
});

/**
 * Checks whether a user is signed in again, when another tab says so and when this tab gains focus.
 * `probe` checks once who is signed in and calls `identified`.
 */
export function watchSession(probe: () => Promise<void>): void {
  const ask = (): void => {
    if (sessionState.value === 'active' || document.visibilityState === 'hidden') return;
    // Still signed out or unreachable: the dialog stays open.
    probe().catch(() => undefined);
  };
  channel = new BroadcastChannel('svc-session');
  channel.addEventListener('message', () => {
    if (sessionState.value === 'ended') probe().catch(() => undefined);
  });
  window.addEventListener('focus', ask);
  document.addEventListener('visibilitychange', ask);
}

/** Sign-in path for an action that needs a recent sign-in. Its tab leads back to this one. */
export const signInAgainPath = '/auth/sign-in?again=1&return=/auth/signed-in%3Fagain=1';

/** Sign-in path that returns the new tab to the page open here. */
export function signInPath(path: string): string {
  return `/auth/sign-in?return=${encodeURIComponent(path)}`;
}
