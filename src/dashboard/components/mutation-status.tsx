/** How a change went: being saved, refused with the reason, or not known, with [Send again]. */
import type { VNode } from 'preact';
import type { Mutation } from '../data/mutation.ts';
import { texts } from '../messages/en.ts';
import { ErrorBox } from './error-box.tsx';
import { NoticeBox } from './notice-box.tsx';

/** The change, and what to say when it is refused. */
export interface MutationStatusProps<Request, T> {
  readonly of: Mutation<Request, T>;
  /** What was not done, for the first line of a refusal. */
  readonly refusedTitle?: string;
}

/** Nothing while the change was not sent, and after it was saved: then the page itself shows it. */
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
  if (state.kind === 'refused') return <ErrorBox error={state.error} title={refusedTitle} />;
  if (state.kind !== 'unknown') return null;
  const [title, help] = unknownTexts(state.error);
  return (
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
