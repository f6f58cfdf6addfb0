/**
 * A dialog for one change: a description, the button that sends it, and its outcome. Cancelling
 * closes the dialog; a change already in progress continues.
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
 * Texts of the dialog and the change that its button sends. `request` is called when the button is
 * pressed.
 */
export interface ChangeDialogProps<Request, T> {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** Effect of the change, and its fields. */
  readonly children: ComponentChildren;
  /** Label of the button: the verb of the title. */
  readonly action: string;
  readonly needs?: Role | undefined;
  readonly look?: 'main' | 'danger' | undefined;
  /** Why the current fields cannot be sent, in a sentence; undefined if they can. */
  readonly blocked?: string | undefined;
  readonly mutation: Mutation<Request, T>;
  readonly request: () => Request;
  /** Draft of the fields. Cancel discards it; closing the dialog in any other way keeps it. */
  readonly draft?: TypedDraft;
}

/**
 * The dialog. It stays open after the change so that the caller decides what follows;
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

/** Closes the dialog and resets the change so that it can be used again. */
export function closing(props: {
  readonly mutation: Pick<Mutation<never, unknown>, 'reset'>;
  readonly onClose: () => void;
}): () => void {
  return () => {
    props.mutation.reset();
    props.onClose();
  };
}
