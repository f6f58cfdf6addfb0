/** The frame of every page: skip link, header, navigation, and the page in `main`. */
import type { ComponentChildren, VNode } from 'preact';
import { ConnectionBanner } from '../components/connection-banner.tsx';
import { SessionDialog } from '../components/session-dialog.tsx';
import { ShortcutList } from '../components/shortcut-list.tsx';
import { Toasts } from '../components/toasts.tsx';
import { Header } from './header.tsx';
import { Navigation } from './navigation.tsx';
import { texts } from './texts.ts';

/**
 * Id of the element that the skip link targets and that receives the focus when the page changes.
 */
export const MAIN_ID = 'main';

export function Layout({ children }: { readonly children: ComponentChildren }): VNode {
  return (
    <>
      <a class="skip" href={`#${MAIN_ID}`}>
        {texts.skipToContent}
      </a>
      <ConnectionBanner />
      <Header />
      <div class="frame">
        <Navigation />
        <main id={MAIN_ID} tabIndex={-1}>
          {children}
        </main>
      </div>
      <SessionDialog />
      <ShortcutList />
      <Toasts />
    </>
  );
}
