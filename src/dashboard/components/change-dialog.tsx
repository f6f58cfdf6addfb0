/**
 * A dialog around one change: what it is about, the button that sends it, and how it went. Without the
 * change it closes; one that is under way goes on.
 */
import type { ComponentChildren, VNode } from 'preact';
import { isUnsettled, type Mutation } from '../data/mutation.ts';
import type { Role } from '../data/projects.ts';
import { texts } from '../messages/en.ts';
import { ActionButton } from './action-button.tsx';
import { Dialog } from './dialog.tsx';
import { MutationStatus } from './mutation-status.tsx';
import { RestoredNote, type TypedDraft } from './restored-note.tsx';

/**
 * The texts of the dialog, and the change that its button sends. `request` is asked when the button
 * is pressed.
 */
export interface ChangeDialogProps<Request, T> {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** What happens then; fields that go with it. */
  readonly children: ComponentChildren;
  /** Text of the button: the verb of the title. */
  readonly action: string;
  readonly needs?: Role | undefined;
  readonly look?: 'main' | 'danger' | undefined;
  /** Why it cannot be sent as the fields are, in a sentence; undefined: it can. */
  readonly blocked?: string | undefined;
  readonly mutation: Mutation<Request, T>;
  readonly request: () => Request;
  /** What is typed in its fields: Cancel discards it; a dialog that is closed otherwise keeps it. */
  readonly draft?: TypedDraft;
}

/**
 * The dialog. It stays open after the change, so that its caller decides what follows:
 * `ConfirmDialog` closes it.
 */
export function ChangeDialog<Request, T>(props: ChangeDialogProps<Request, T>): VNode {
  const { title, isOpen, children, action, needs, look, blocked, mutation, request, draft } = props;
  const close = closing(props);
  return (
    <Dialog
      title={title}
      isOpen={isOpen}
      onClose={close}
      actions={
        <>
          <button
            type="button"
            class="quiet"
            onClick={() => {
              draft?.discard();
              close();
            }}
          >
            {texts.cancel}
          </button>
          <ActionButton
            {...(needs && { needs })}
            {...(look && { look })}
            blocked={blocked}
            isBusy={isUnsettled(mutation.state.value)}
            onPress={() => void mutation.send(request())}
          >
            {action}
          </ActionButton>
        </>
      }
    >
      {children}
      {draft && <RestoredNote draft={draft} />}
      <MutationStatus of={mutation} />
    </Dialog>
  );
}

/** Closes it, and makes the change ready for another. */
export function closing(props: {
  readonly mutation: Pick<Mutation<never, unknown>, 'reset'>;
  readonly onClose: () => void;
}): () => void {
  return () => {
    props.mutation.reset();
    props.onClose();
  };
}
