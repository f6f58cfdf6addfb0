/**
 * A dialog whose response contains a secret. The form is replaced by the secret, which is kept only
 * in memory; the dialog closes only when the user confirms having stored it. If the response and
 * thus the secret was lost, it offers to revoke the result and start again.
 */
import type { ComponentChildren, VNode } from 'preact';
import { ChangeDialog, type ChangeDialogProps, closing } from '../../components/change-dialog.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SecretOnce } from '../../components/secret-once.tsx';
import { useSaved } from '../../data/mutation.ts';
import { texts as common } from '../../messages/en.ts';

export interface SecretDialogProps<Request, T> extends ChangeDialogProps<Request, T> {
  /** Called when the service has created it: lists must be reloaded. */
  readonly onMade: (response: T) => void;
  /** Name of the secret: `Key of Scraper`. */
  readonly label: (response: T) => string;
  /** Undefined if it cannot be shown again. */
  readonly secretOf: (response: T) => string | undefined;
  /** Instructions for the secret, shown next to it. */
  readonly note?: (response: T) => ComponentChildren;
  /** Revokes the result and starts again; shown instead of a lost secret. */
  readonly replace: (response: T) => ComponentChildren;
  readonly onStored: () => void;
}

export function SecretDialog<Request, T>(props: SecretDialogProps<Request, T>): VNode {
  const state = props.mutation.state.value;
  useSaved(props.mutation, props.onMade);
  if (state.kind !== 'done') return <ChangeDialog {...props} />;
  return (
    // Also opens if the form was closed before the response arrived.
    <Dialog title={props.title} isOpen>
      <Made {...props} response={state.response} onClose={closing(props)} />
    </Dialog>
  );
}

function Made<Request, T>(props: SecretDialogProps<Request, T> & { readonly response: T }): VNode {
  const { response, label, secretOf, note, replace, onStored, onClose } = props;
  const secret = secretOf(response);
  return (
    <>
      {secret !== undefined && note?.(response)}
      <SecretOnce
        label={label(response)}
        secret={secret}
        onStored={() => {
          onStored();
          onClose();
        }}
        replace={
          <>
            {replace(response)}
            <button type="button" class="quiet" onClick={onClose}>
              {common.close}
            </button>
          </>
        }
      />
    </>
  );
}
