/**
 * The end of a session, without losing what is on the page. A 401 opens a dialog; the person signs
 * in in a new tab, and every tab goes on: tabs hear of it from each other, and a tab that gets the
 * focus asks the service.
 */
import { signal } from '@preact/signals';

/** `ended`: the dialog is open, and reads wait for `resume`. */
export const sessionState = signal<'active' | 'ended'>('active');

/** What a session stands on. */
export interface SessionPorts {
  /** To the other tabs: somebody is signed in. */
  broadcast(): void;
  /** Another person is signed in now: nothing on the page is theirs. */
  reload(): void;
}

export interface Session {
  /** A call was refused for want of a session. Resolves when the same person is signed in again. */
  ended(): Promise<void>;
  /** A call was answered to somebody who is signed in. */
  answered(): void;
  /** The signed-in person is known: at the start, and when a session may have begun again. */
  identified(personName: string): void;
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
      // Once for each session: a tab in which somebody just signed in wakes the others.
      if (!isAnnounced) ports.broadcast();
      isAnnounced = true;
    },
    identified(personName) {
      if (known !== undefined && known !== personName) return ports.reload();
      known = personName;
      sessionState.value = 'active';
      const resumed = waiting;
      waiting = [];
      for (const go of resumed) go();
    },
  };
}

/** Opened by `watchSession`: before it, no other tab needs to know. */
let channel: BroadcastChannel | undefined;

/** The session of this tab. */
export const session = createSession({
  broadcast: () => channel?.postMessage('signed-in'),
  reload: () => location.reload(),
});

/**
 * Asks the service whether somebody is signed in again, when another tab says so and when this tab
 * gets the focus. `probe` asks once who is signed in and calls `identified`.
 */
export function watchSession(probe: () => Promise<void>): void {
  const ask = (): void => {
    if (sessionState.value === 'active' || document.visibilityState === 'hidden') return;
    // Still signed out, or out of reach: the dialog stays open.
    probe().catch(() => undefined);
  };
  channel = new BroadcastChannel('svc-session');
  channel.addEventListener('message', () => {
    if (sessionState.value === 'ended') probe().catch(() => undefined);
  });
  window.addEventListener('focus', ask);
  document.addEventListener('visibilitychange', ask);
}

/** Where to sign in, so that the new tab ends at the page that is open here. */
export function signInPath(path: string): string {
  return `/auth/sign-in?return=${encodeURIComponent(path)}`;
}
