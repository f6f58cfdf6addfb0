/**
 * A dialog with a form whose answer holds a secret. The form gives way to the secret, which is in
 * memory alone and closes only by saying that it is stored. Where the answer was lost and the secret
 * with it, it offers to end what was made and to begin again.
 */
import type { ComponentChildren, VNode } from 'preact';
import { ChangeDialog, type ChangeDialogProps, closing } from '../../components/change-dialog.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SecretOnce } from '../../components/secret-once.tsx';
import { useSaved } from '../../data/mutation.ts';
import { texts as common } from '../../messages/en.ts';

export interface SecretDialogProps<Request, T> extends ChangeDialogProps<Request, T> {
  /** The service has made it: lists are to be loaded again. */
  readonly onMade: (response: T) => void;
  /** What the secret is: `Key of Scraper`. */
  readonly label: (response: T) => string;
  /** undefined: it cannot be shown again. */
  readonly secretOf: (response: T) => string | undefined;
  /** Beside the secret: what to do with it. */
  readonly note?: (response: T) => ComponentChildren;
  /** Ends what was made and begins again; shown in place of a lost secret. */
  readonly replace: (response: T) => ComponentChildren;
  readonly onStored: () => void;
}

export function SecretDialog<Request, T>(props: SecretDialogProps<Request, T>): VNode {
  const state = props.mutation.state.value;
  useSaved(props.mutation, props.onMade);
  if (state.kind !== 'done') return <ChangeDialog {...props} />;
  return (
    // Open also where the form was closed before the answer came.
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
