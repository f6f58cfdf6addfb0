/**
 * Asks for confirmation before a change: describes its effect and shows its outcome. It closes once
 * the service has saved the change, and then discards its draft.
 */
import type { VNode } from 'preact';
import { useSaved } from '../data/mutation.ts';
import { ChangeDialog, type ChangeDialogProps } from './change-dialog.tsx';

/** `onSaved` is called once for each saved change, after the dialog has closed. */
export interface ConfirmDialogProps<Request, T> extends ChangeDialogProps<Request, T> {
  readonly onSaved: (response: T) => void;
}

/** A dialog for destructive changes; its button has the look `danger` by default. */
export function ConfirmDialog<Request, T>(props: ConfirmDialogProps<Request, T>): VNode {
  const { mutation, draft, onClose, onSaved } = props;
  useSaved(mutation, (response) => {
    draft?.discard();
    onClose();
    onSaved(response);
  });
  return <ChangeDialog look="danger" {...props} />;
}
