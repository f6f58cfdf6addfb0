/**
 * One confirmed action on a thing: revoke, pause, delete and the like. The page declares its method
 * and texts; sending, the field for a reason, the outcome and the toast are the same for all.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { useForm } from '../data/form.ts';
import type { Role } from '../data/projects.ts';
import type { RpcError } from '../data/rpc-error.ts';
import type { MutationName, RequestOf, ResponseOf, ServiceName } from '../data/rpc-types.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { TextField } from './fields.tsx';

/** Whether a dialog is open, and how it closes. */
export interface DialogFrame {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export interface ActDialogProps<S extends ServiceName, N extends MutationName<S>>
  extends DialogFrame {
  readonly method: readonly [service: S, method: N];
  readonly title: string;
  /** Label of the button: the verb of the title. */
  readonly action: string;
  readonly needs: Role;
  /** Default: `danger`. */
  readonly look?: 'main' | 'danger';
  /** Effect of the action. */
  readonly children: ComponentChildren;
  /** The field for a reason, if the method takes one. `of` names the thing, for the draft. */
  readonly reason?: {
    readonly of: string;
    readonly label: string;
    readonly help: string;
    readonly maxLength: number;
  };
  /** @param reason as typed, without surrounding blanks; '' without a field */
  readonly request: (reason: string) => Omit<RequestOf<S, N>, 'requestId'>;
  /** Text of the toast. */
  readonly done: string;
  readonly onSaved: (response: ResponseOf<S, N>) => void;
  /** Called once for each rejection. */
  readonly onRefused?: (error: RpcError) => void;
}

export function ActDialog<S extends ServiceName, N extends MutationName<S>>(
  props: ActDialogProps<S, N>,
): VNode {
  const { method, reason, request, onRefused, children, ...dialog } = props;
  const { mutation, draft, fields, type } = useForm(...method, {
    key: `${method[1]} ${reason?.of}`,
    initial: { reason: '' },
  });
  const state = mutation.state.value;
  useEffect(() => {
    if (state.kind === 'refused') onRefused?.(state.error);
    // Once per rejection.
  }, [state]);
  return (
    <ConfirmDialog
      {...dialog}
      mutation={mutation}
      draft={draft}
      request={() => request(draft.value.peek().reason.trim())}
    >
      {children}
      {reason && (
        <TextField
          label={reason.label}
          help={reason.help}
          maxLength={reason.maxLength}
          value={fields.reason}
          onInput={(text) => type({ reason: text })}
        />
      )}
    </ConfirmDialog>
  );
}

/** The dialogs of a page by name, of which one may be open. */
export interface Dialogs<Name extends string> {
  readonly open: (name: Name) => () => void;
  readonly frame: (name: Name) => DialogFrame;
}

export function useDialogs<Name extends string>(): Dialogs<Name> {
  const displayed = useSignal<Name | undefined>(undefined);
  const show = (name: Name | undefined) => () => {
    displayed.value = name;
  };
  return {
    open: show,
    frame: (name) => ({ isOpen: displayed.value === name, onClose: show(undefined) }),
  };
}

/** The subject of a dialog, which is open while the subject is set. */
export function useChosen<T>(): {
  readonly value: T | undefined;
  readonly choose: (thing: T) => void;
  readonly frame: DialogFrame;
} {
  const chosen = useSignal<T | undefined>(undefined);
  return {
    value: chosen.value,
    choose: (thing) => {
      chosen.value = thing;
    },
    frame: {
      isOpen: chosen.value !== undefined,
      onClose: () => {
        chosen.value = undefined;
      },
    },
  };
}
