/**
 * Asks before a change: says what happens then, and shows how the change went. It closes when the
 * service has saved it; its draft is over with it then.
 */
import type { VNode } from 'preact';
import { useSaved } from '../data/mutation.ts';
import { ChangeDialog, type ChangeDialogProps } from './change-dialog.tsx';

/**
 * `onSaved` is called once for each change that the service has saved, after the dialog has closed.
 */
export interface ConfirmDialogProps<Request, T> extends ChangeDialogProps<Request, T> {
  readonly onSaved: (response: T) => void;
}

/**
 * A dialog for changes that end something; its button has the look `danger` unless another is
 * given.
 */
export function ConfirmDialog<Request, T>(props: ConfirmDialogProps<Request, T>): VNode {
  const { mutation, draft, onClose, onSaved } = props;
  useSaved(mutation, (response) => {
    draft?.discard();
    onClose();
    onSaved(response);
  });
  return <ChangeDialog look="danger" {...props} />;
}
