/**
 * Wrapper of everything that a page loads: shows the value, or why there is none and what to do
 * next. A value older than expected is marked with its time and never looks live.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { nowMs, serverClock } from '../data/clock.ts';
import { displayedOf, type Loader } from '../data/loaded.ts';
import { format } from '../data/preferences.ts';
import { mayDo } from '../data/projects.ts';
import type { RpcError } from '../data/rpc-error.ts';
import { texts } from '../messages/en.ts';
import { formatTime } from '../messages/format.ts';
import { match } from '../router/location.ts';
import { ErrorBox } from './error-box.tsx';
import { NoticeBox } from './notice-box.tsx';
import { ageText } from './time.tsx';

/** The loaded value, and how to display it. */
export interface DataViewProps<T> {
  readonly of: Loader<T>;
  readonly children: (value: T) => ComponentChildren;
  /** True if there is nothing to show; then `empty` is shown, with the next step. */
  readonly isEmpty?: (value: T) => boolean;
  readonly empty?: ComponentChildren;
  /** Missing parts of the value, one sentence each; empty if it is complete. */
  readonly missing?: (value: T) => readonly string[];
  /** Height of the placeholder, in lines. */
  readonly lines?: number;
}

/**
 * Shows exactly one of: a placeholder, a refusal, a failure with its next attempt, the empty text,
 * or the value.
 */
export function DataView<T>(props: DataViewProps<T>): VNode {
  const { of: loader, children, isEmpty, empty, missing, lines = 3 } = props;
  const displayed = displayedOf(loader.state.value);
  switch (displayed.kind) {
    case 'loading':
      return <Loading lines={lines} />;
    case 'denied':
      return <Denied error={displayed.error} />;
    case 'failed':
      return <Failed error={displayed.error} retryMs={displayed.retryMs} reload={loader.reload} />;
    case 'value': {
      const { value, stale } = displayed;
      const gone = missing?.(value) ?? [];
      return (
        <div class={stale ? 'data stale' : 'data'} aria-busy={loader.state.value.isLoading}>
          {stale && <Stale {...stale} reload={loader.reload} />}
          {gone.length > 0 && (
            <NoticeBox tone="warning" title={texts.view.partial} announce="status">
              {gone.map((sentence) => (
                <p key={sentence}>{sentence}</p>
              ))}
            </NoticeBox>
          )}
          {isEmpty?.(value) === true ? <div class="empty">{empty}</div> : children(value)}
        </div>
      );
    }
  }
}

const SHOW_LOADING_MS = 200;

/**
 * Shows nothing for 200 ms, because most responses arrive within that time, and a placeholder
 * afterwards.
 */
export function Loading({ lines }: { readonly lines: number }): VNode {
  const isDisplayed = useSignal(false);
  useEffect(
    () =>
      serverClock.wakeAfter(SHOW_LOADING_MS, () => {
        isDisplayed.value = true;
      }),
    [isDisplayed],
  );
  return (
    <div class="loading" role="status">
      {isDisplayed.value && <span class="visually-hidden">{texts.loading}</span>}
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} class={isDisplayed.value ? 'bone shown' : 'bone'} />
      ))}
    </div>
  );
}

function Denied({ error }: { readonly error: RpcError }): VNode {
  // The service says which role is too low; the table of pages says which one suffices.
  const { role } = error.metadata;
  if (role === undefined) return <ErrorBox error={error} title={texts.view.deniedAny} />;
  const needed = match.value?.route.role;
  const title =
    needed === undefined || mayDo(needed) ? texts.view.deniedAs(role) : texts.view.denied(needed);
  return (
    <NoticeBox tone="warning" title={title}>
      {texts.view.deniedHelp}
    </NoticeBox>
  );
}

interface FailedProps {
  readonly error: RpcError;
  readonly retryMs: number | undefined;
  readonly reload: () => void;
}

function Failed({ error, retryMs, reload }: FailedProps): VNode {
  // Retrying does not help if the resource does not exist.
  if (error.reason === 'NOT_FOUND') return <ErrorBox error={error} />;
  return (
    <div class="failed">
      <ErrorBox error={error} title={texts.view.failed} actions={<Retry reload={reload} />} />
      {retryMs !== undefined && (
        <p class="weak">
          {texts.view.retryAt(ageText(Math.max(retryMs, nowMs.value), nowMs.value))}
        </p>
      )}
    </div>
  );
}

interface StaleProps {
  readonly sinceMs: number;
  readonly error: RpcError;
  readonly reload: () => void;
}

function Stale({ sinceMs, error, reload }: StaleProps): VNode {
  const time = formatTime(sinceMs, nowMs.peek(), format.value);
  // The banner explains it once for the page and keeps retrying.
  if (error.isDisconnected) return <p class="stale-since">{texts.view.stale(time)}</p>;
  return (
    <ErrorBox error={error} title={texts.view.stale(time)} actions={<Retry reload={reload} />} />
  );
}

function Retry({ reload }: { readonly reload: () => void }): VNode {
  return (
    <button type="button" class="quiet" onClick={reload}>
      {texts.retry}
    </button>
  );
}
