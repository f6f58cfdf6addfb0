/**
 * A button that changes something. Its effect is described next to it, before the click. Users who
 * may not use it see it disabled, with the required role.
 */
import type { ComponentChildren, VNode } from 'preact';
import { useId } from 'preact/hooks';
import { mayDo, type Role } from '../data/projects.ts';
import { texts } from '../messages/en.ts';

/** Effect of the button, and why it may be disabled. */
export interface ActionButtonProps {
  readonly children: ComponentChildren;
  readonly onPress: () => void;
  /** Effect of the action, in a sentence: `Reminders continue`. */
  readonly effect?: string | undefined;
  /** Minimum role; defaults to every role. */
  readonly needs?: Role;
  /** Why the action is not possible now, in a sentence; undefined if it is possible. */
  readonly blocked?: string | undefined;
  readonly isBusy?: boolean;
  readonly look?: 'main' | 'quiet' | 'danger';
}

/** A button that stays in the tab order while it is disabled, so that the reason can be read. */
export function ActionButton(props: ActionButtonProps): VNode {
  const { children, onPress, effect, needs = 'VIEWER', blocked, isBusy, look = 'main' } = props;
  const noteId = useId();
  const refusal = mayDo(needs) ? blocked : texts.needsRole(needs);
  const note = refusal ?? effect;
  const isDisabled = refusal !== undefined || isBusy === true;
  return (
    <span class="action">
      <button
        type="button"
        class={look}
        // The button stays in the tab order so that every user can read the reason.
        aria-disabled={isDisabled}
        aria-busy={isBusy}
        {...(note !== undefined && { 'aria-describedby': noteId })}
        onClick={() => {
          if (!isDisabled) onPress();
        }}
      >
        {children}
      </button>
      {note !== undefined && (
        <small id={noteId} class="effect">
          {note}
        </small>
      )}
    </span>
  );
}
