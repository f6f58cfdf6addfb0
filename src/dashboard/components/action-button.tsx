/**
 * A button that changes something. Its effect stands beside it, before the click; who may not do it
 * sees it disabled, with the role it needs.
 */
import type { ComponentChildren, VNode } from 'preact';
import { useId } from 'preact/hooks';
import { mayDo, type Role } from '../data/projects.ts';
import { texts } from '../messages/en.ts';

/** What the button does, and why it may not be pressed. */
export interface ActionButtonProps {
  readonly children: ComponentChildren;
  readonly onPress: () => void;
  /** What happens then, in a sentence: `Reminders go on`. */
  readonly effect?: string | undefined;
  /** Least role that may; left out: everybody. */
  readonly needs?: Role;
  /** Why it cannot be done now, in a sentence; undefined: it can. */
  readonly blocked?: string | undefined;
  readonly isBusy?: boolean;
  readonly look?: 'main' | 'quiet' | 'danger';
}

/** A button that stays in the tab order while it is disabled, so that its reason can be read. */
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
        // It stays in the tab order, so that the reason can be read by everybody.
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
