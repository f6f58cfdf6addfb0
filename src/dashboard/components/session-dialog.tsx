/** Shown when the session has ended: the page stays, and the user signs in in a new tab. */
import type { VNode } from 'preact';
import { probe } from '../data/call.ts';
import { sessionState, signInPath } from '../data/session.ts';
import { texts } from '../messages/en.ts';
import { Dialog } from './dialog.tsx';

export function SessionDialog(): VNode {
  const path = `${location.pathname}${location.search}`;
  return (
    <Dialog
      title={texts.session.title}
      isOpen={sessionState.value === 'ended'}
      actions={
        <>
          <a class="button" href={signInPath(path)} target="_blank" rel="noopener">
            {texts.session.signIn}
          </a>
          <button type="button" class="quiet" onClick={() => void probe().catch(() => undefined)}>
            {texts.session.check}
          </button>
        </>
      }
    >
      <p>{texts.session.help}</p>
    </Dialog>
  );
}
