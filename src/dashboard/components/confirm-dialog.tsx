/**
 * Asks for confirmation before a change: describes its effect and shows its outcome. It closes once
 * the service has saved the change, and then discards its draft.
 */
import type { VNode } from 'preact';
import { useSaved } from '../data/mutation.ts';
import { ChangeDialog, type ChangeDialogProps } from './change-dialog.tsx';
import { toast } from './toasts.tsx';

/** `onSaved` is called once for each saved change, after the dialog has closed. */
export interface ConfirmDialogProps<Request, T> extends ChangeDialogProps<Request, T> {
  readonly onSaved: (response: T) => void;
  /** Text of a toast about the saved change. */
  readonly done?: string | ((response: T) => string);
}

/** A dialog for destructive changes; its button has the look `danger` by default. */
export function ConfirmDialog<Request, T>(props: ConfirmDialogProps<Request, T>): VNode {
  const { mutation, draft, onClose, onSaved, done } = props;
  useSaved(mutation, (response) => {
    draft?.discard();
    onClose();
    if (done !== undefined) toast(typeof done === 'string' ? done : done(response));
    onSaved(response);
  });
  return <ChangeDialog look="danger" {...props} />;
}
