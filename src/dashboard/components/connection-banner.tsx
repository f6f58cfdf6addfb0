/**
 * Shown while the service is unreachable: since when, and that the data on the page is from then.
 */
import { useComputed } from '@preact/signals';
import type { VNode } from 'preact';
import { serverClock } from '../data/clock.ts';
import { disconnectedSinceMs } from '../data/connection.ts';
import { format } from '../data/preferences.ts';
import { texts } from '../messages/en.ts';
import { formatTime } from '../messages/format.ts';
import { NoticeBox } from './notice-box.tsx';

/** One banner for the whole layout, above every page. */
export function ConnectionBanner(): VNode {
  const since = useComputed(() => {
    const ms = disconnectedSinceMs.value;
    return ms === undefined ? undefined : formatTime(ms, serverClock.now(), format.value);
  });
  // The region is always present, because a screen reader announces only changes inside one.
  return (
    <div class="banner" role="status">
      {since.value !== undefined && (
        <NoticeBox tone="warning" title={texts.connection.lost(since.value)} />
      )}
    </div>
  );
}

/** Replaces a page whose code is no longer available. */
export function UpdatedNotice(): VNode {
  return (
    <NoticeBox
      tone="info"
      title={texts.connection.updated}
      announce="alert"
      actions={
        <button type="button" onClick={() => location.reload()}>
          {texts.reload}
        </button>
      }
    >
      {texts.connection.updatedHelp}
    </NoticeBox>
  );
}
