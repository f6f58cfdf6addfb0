/**
 * Outcome of a change: in progress, rejected with its reason, or unknown, with a Send again button.
 */
import type { VNode } from 'preact';
import type { Mutation } from '../data/mutation.ts';
import { signInAgainPath } from '../data/session.ts';
import { texts } from '../messages/en.ts';
import { ErrorBox } from './error-box.tsx';
import { NoticeBox } from './notice-box.tsx';

/** The change, and the title of its rejection. */
export interface MutationStatusProps<Request, T> {
  readonly of: Mutation<Request, T>;
  /** What failed: the first line of a rejection. */
  readonly refusedTitle?: string;
}

/**
 * Renders nothing before the change is sent and after it is saved, because the page itself shows
 * the result.
 */
export function MutationStatus<Request, T>(props: MutationStatusProps<Request, T>): VNode | null {
  const { of: mutation, refusedTitle = texts.mutation.refused } = props;
  const state = mutation.state.value;
  if (state.kind === 'sending') {
    return (
      <p class="weak" role="status">
        {texts.mutation.sending}
      </p>
    );
  }
  if (state.kind === 'refused') {
    const { error } = state;
    return (
      <div class="outcome" ref={scrollTo}>
        {error.isSignInTooOld ? (
          <ErrorBox error={error} actions={<SignInAgain />} />
        ) : (
          <ErrorBox error={error} title={refusedTitle} />
        )}
      </div>
    );
  }
  if (state.kind !== 'unknown') return null;
  const [title, help] = unknownTexts(state.error);
  return (
    <div class="outcome" ref={scrollTo}>
      <NoticeBox
        tone="unknown"
        title={title}
        announce="alert"
        actions={
          <button type="button" onClick={() => void mutation.sendAgain()}>
            {texts.mutation.sendAgain}
          </button>
        }
      >
        {help}
      </NoticeBox>
    </div>
  );
}

/** Scrolls to an element as it appears: below a long form it would not be visible. */
function scrollTo(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'nearest' });
}

/** The page stays open in this tab, with what the user has typed. */
function SignInAgain(): VNode {
  return (
    <a class="button" href={signInAgainPath} target="_blank" rel="noopener">
      {texts.session.signIn}
    </a>
  );
}

function unknownTexts(error: {
  readonly isSignedOut: boolean;
  readonly reason: string;
}): readonly [string, string] {
  const { mutation } = texts;
  if (error.isSignedOut) return [mutation.signIn, mutation.signInHelp];
  if (error.reason === 'IN_PROGRESS') return [mutation.inProgress, mutation.inProgressHelp];
  return [mutation.unknown, mutation.unknownHelp];
}
